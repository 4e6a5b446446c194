#!/bin/sh
# Installs or removes the module and its manual page.
#
# Usage: scripts/install.sh install|uninstall
#
# They go where the engine in use looks for them. PREFIX, where set, takes the place of the engine's
# own prefix; DESTDIR goes in front of either.
set -eu
# shellcheck source=scripts/progress.sh
. "$(dirname "$0")/progress.sh"
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

# With sudo, the builder is somebody else, and cargo would leave root's files among theirs.
if [ "$1" = install ] && [ -z "${SUDO_USER-}" ]; then
    make -s build man
fi
env=$("$root/scripts/env.sh") || exit 1
eval "$env"
man=$(dirname "$(dirname "$VMOD")")/man/vmod_dynamic.3

case $ENGINE in
varnish) package=varnishapi ;;
*) package=vinylapi ;;
esac
own=$(pkg-config --variable=prefix "$package")
prefix=${PREFIX:-$own}
case $ENGINE_VMODDIR in
"$own"/*) vmoddir=$prefix${ENGINE_VMODDIR#"$own"} ;;
*) vmoddir=$ENGINE_VMODDIR ;;
esac
vmoddir=${DESTDIR-}$vmoddir
mandir=${DESTDIR-}$prefix/share/man/man3

case $1 in
install)
    for file in "$VMOD" "$man"; do
        [ -f "$file" ] || fail "there is no $file: run 'make build man' first, as yourself"
    done
    mkdir -p "$vmoddir" "$mandir" || fail "$vmoddir or $mandir cannot be made: run 'make build man' as yourself, then 'make install' as one who may"
    # To the side first: a server may have the old file mapped.
    install -m 755 "$VMOD" "$vmoddir/.libvmod_dynamic.so.new"
    mv -f "$vmoddir/.libvmod_dynamic.so.new" "$vmoddir/libvmod_dynamic.so"
    install -m 644 "$man" "$mandir/vmod_dynamic.3"
    say "$vmoddir/libvmod_dynamic.so"
    say "$mandir/vmod_dynamic.3"
    ;;
uninstall)
    rm -f "$vmoddir/libvmod_dynamic.so" "$mandir/vmod_dynamic.3"
    say "removed from $vmoddir and $mandir"
    ;;
*) fail "usage: $0 install|uninstall" ;;
esac
