#!/bin/sh
# Builds Vinyl Cache from Debian's source packages.
#
# Usage: scripts/engine.sh PREFIX
#
# PREFIX appears in one step, when all of it is there: an interrupted build
# leaves PREFIX.build, which the next run removes. No root is needed. Two runs
# at once wait for each other; the second finds the work done.
#
# The packages come from the machine's own Debian mirror (asked of apt, never
# named here), through a sources file and lists folder of our own, so that the
# machine's apt configuration and state are left alone.
set -eu
# shellcheck source=scripts/progress.sh
. "$(dirname "$0")/progress.sh"
# shellcheck source=scripts/compile.sh
. "$(dirname "$0")/compile.sh"

[ $# -eq 1 ] || fail "usage: $0 PREFIX"
prefix=$1
suite=forky
work=$prefix.build
log=$prefix.log

check_prefix "$prefix"
lock_prefix "$prefix"
if engine_works "$prefix"; then
    say "Vinyl Cache is in $prefix"
    exit 0
fi

rm -rf "$work"
mkdir -p "$work/lists/partial" "$work/src" "$work/root"
: >"$log"

# Our own apt: no lists, caches or hooks of the machine, and only the indexes that are needed.
cat >"$work/apt.conf" <<CONF
#clear APT::Update;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::DEP-11-icons-small;
#clear Acquire::IndexTargets::deb::DEP-11-icons;
#clear Acquire::IndexTargets::deb::DEP-11-icons-hidpi;
#clear Acquire::IndexTargets::deb::CNF;
Dir::State::lists "$work/lists";
Dir::Cache::archives "$work";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Sandbox::User "";
CONF
apt_own() {
    apt-get -q -c "$work/apt.conf" -o Dir::Etc::sourcelist="$work/sources.list" \
        -o Dir::Etc::sourceparts=/dev/null "$@"
}

# The mirrors that the machine takes Debian itself from, with the key that it trusts for them.
mirrors() {
    # shellcheck disable=SC2016 # apt's own variables
    apt-get "$@" indextargets --format '$(SITE) $(SIGNED_BY)' \
        'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 'Component: main' 2>>"$log" | sort -u
}

say "building Vinyl Cache, once, in $prefix (two to four minutes; log: $log)"
mirrors >"$work/mirrors"
if ! [ -s "$work/mirrors" ]; then
    # apt tells only of indexes that were fetched: fetch them, to the side.
    say "reading the package index of this machine's mirrors"
    mkdir -p "$work/own/partial"
    run apt-get -q -c "$work/apt.conf" -o Dir::State::lists="$work/own" update || :
    mirrors -o Dir::State::lists="$work/own" >"$work/mirrors"
fi
[ -s "$work/mirrors" ] || fail "apt names no Debian mirror: Vinyl Cache is built from Debian's source packages; check the apt sources of this machine, or install Varnish Cache 7.7 or newer or Vinyl Cache 9.0 or newer with its development files"

say "reading the package index of Debian $suite"
found=
while read -r site keyring; do
    if [ -z "$keyring" ]; then
        keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    fi
    option=
    [ ! -r "$keyring" ] || option="[signed-by=$keyring] "
    printf 'deb %s%s %s main\ndeb-src %s%s %s main\n' \
        "$option" "$site" "$suite" "$option" "$site" "$suite" >"$work/sources.list"
    rm -rf "$work/lists"
    mkdir -p "$work/lists/partial"
    if run apt_own --error-on=any update; then
        found=$site
        break
    fi
done <"$work/mirrors"
[ -n "$found" ] || fail "the package index of Debian $suite cannot be had from this machine's mirrors"

say "fetching the sources of vinyl-cache and vtest2"
cd "$work/src"
run apt_own source --download-only vinyl-cache || fail "the source package vinyl-cache of Debian $suite cannot be fetched"
run apt_own download vtest2-source || fail "the package vtest2-source of Debian $suite cannot be fetched"
# apt has checked both against the signed index.
run dpkg-source --no-check -x vinyl-cache_*.dsc vinyl-cache || fail "the source package vinyl-cache cannot be unpacked"
run dpkg-deb -x vtest2-source_*.deb vtest2 || fail "the package vtest2-source cannot be unpacked"
vtest=$(find "$work/src/vtest2" -path '*/src/vtc_main.c' | head -n 1)
[ -n "$vtest" ] || fail "vtest2-source of Debian $suite holds no src/vtc_main.c"
mkdir -p vinyl-cache/bin/vinyltest/vtest2
cp -R "${vtest%/src/vtc_main.c}/." vinyl-cache/bin/vinyltest/vtest2/

compile_engine "$work/src/vinyl-cache" "$prefix" "$work"
rm -rf "$work"
rm -f "$log"
say "Vinyl Cache is installed in $prefix"
