#!/bin/sh
# Fetches the name servers that the tests ask besides their own: Knot DNS and Unbound, from Debian's
# packages.
#
# Usage: scripts/nameservers.sh PREFIX
#
# The packages, with those of their libraries that the machine lacks, are unpacked into PREFIX, whose
# bin folder then has knotd, knotc and unbound. Nothing is installed: no service is started or enabled,
# no user is made, and no root is needed. PREFIX appears in one step, when all of it is there; where it
# is there already, nothing is done or said.
set -eu
# shellcheck source=scripts/progress.sh
. "$(dirname "$0")/progress.sh"

[ $# -eq 1 ] || fail "usage: $0 PREFIX"
prefix=$1
work=$prefix.build
log=$prefix.log
packages='knot unbound'
programs='knotd knotc unbound'

case $prefix in
/*) ;;
*) fail "'$prefix' is not an absolute path" ;;
esac

# Whether the programs of a folder run.
works() {
    for program in $programs; do
        "$1/$program" -V >/dev/null 2>&1 || return 1
    done
}

! works "$prefix/bin" || exit 0
[ -z "${NO_INSTALL-}" ] || fail "missing here: $packages (names of Debian's packages); NO_INSTALL is set: unset it to have them fetched into $prefix"
if ! command -v apt-get >/dev/null; then
    PATH=$PATH:/usr/local/sbin:/usr/sbin
    for program in $programs; do
        command -v "$program" >/dev/null ||
            fail "$program is missing and there is no apt-get to fetch it with: install $packages, then run this again"
    done
    exit 0
fi

mkdir -p "$(dirname "$prefix")" || fail "'$(dirname "$prefix")' cannot be made; set VMOD_DYNAMIC_CACHE to another folder"
exec 9>"$prefix.lock"
flock 9
! works "$prefix/bin" || exit 0
rm -rf "$work"
mkdir -p "$work/lists/partial" "$work/debs" "$work/root/bin"
: >"$log"

# Fetches the packages and what they need that is not there. A simulation names them.
fetch() {
    # shellcheck disable=SC2086 # a list
    wanted=$(apt-get "$@" -q -s --no-install-recommends install $packages 2>>"$log" |
        awk '/^Inst / { print $2 }') || return 1
    # Those that are installed already are unpacked as well: as installed they may be kept from
    # reading a test's files.
    # shellcheck disable=SC2086 # lists
    (cd "$work/debs" && run apt-get "$@" -q download $packages $wanted)
}

say "fetching Knot DNS and Unbound for the tests, once, into $prefix"
if ! fetch; then
    # The machine has no package index, or an old one: another one, to the side.
    say "reading the package index of this machine's mirrors"
    set -- -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User= -o Acquire::Languages=none
    run apt-get "$@" -q update || fail "the package index of this machine's mirrors cannot be had: is the network there?"
    fetch "$@" || fail "the packages $packages cannot be fetched: see above why"
fi
for package in "$work"/debs/*.deb; do
    run dpkg-deb -x "$package" "$work/root" || fail "$package cannot be unpacked"
done

# Programs that find the libraries beside them.
libraries=$(find "$work/root" -name '*.so*' -exec dirname {} + | sort -u |
    sed "s|^$work/root|$prefix|" | tr '\n' ':')
for program in $programs; do
    [ -x "$work/root/usr/sbin/$program" ] || fail "the packages $packages hold no usr/sbin/$program"
    printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' \
        "${libraries%:}" "$prefix/usr/sbin/$program" >"$work/root/bin/$program"
    chmod +x "$work/root/bin/$program"
done
rm -rf "$prefix"
mv "$work/root" "$prefix"
rm -rf "$work"
for program in $programs; do
    "$prefix/bin/$program" -V >>"$log" 2>&1 || fail "$prefix/bin/$program does not start"
done
rm -f "$log"
