#!/bin/sh
# Builds Varnish Cache or Vinyl Cache from a release of its sources into the cache folder.
#
# Usage: scripts/engine_source.sh SOURCE
#
# SOURCE is a tarball, or a folder, which is left as it is. The engine's name in the cache folder, which
# ENGINE of `make` takes, is that of the release: varnish-8.0.0. It appears in one step, when all of it
# is there; where it is there already, nothing is built.
set -eu
scripts=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/progress.sh
. "$scripts/progress.sh"
# shellcheck source=scripts/compile.sh
. "$scripts/compile.sh"

[ -n "${1-}" ] || fail "usage: make engine SOURCE=<a tarball or a folder with the sources of an engine>"
cache=$(cache_folder)
check_prefix "$cache/engine"
unpacked=$(mktemp -d "$cache/source.XXXXXX")
trap 'rm -rf "$unpacked"' EXIT
log=$unpacked/log
if [ -d "$1" ]; then
    mkdir "$unpacked/tree"
    cp -R "$1/." "$unpacked/tree/" 2>>"$log" || fail "'$1' cannot be read"
elif [ -f "$1" ]; then
    tar -x -f "$1" -C "$unpacked" 2>>"$log" || fail "'$1' cannot be unpacked"
else
    fail "there is no '$1'"
fi
sources=$(find "$unpacked" -mindepth 2 -maxdepth 2 -name configure.ac | head -n 1)
[ -n "$sources" ] || fail "'$1' holds no sources of an engine: no configure.ac at its top"
sources=$(dirname "$sources")
# AC_INIT([Varnish], [8.0.0], ...
release=$(sed -n 's/^AC_INIT(\[\([A-Za-z]*\)[^]]*\], *\[\([0-9][0-9a-z.]*\)\].*/\1-\2/p' "$sources/configure.ac" |
    head -n 1 | tr '[:upper:]' '[:lower:]')
case $release in
varnish-* | vinyl*-*) ;;
*) fail "'$1' is neither Varnish Cache nor Vinyl Cache: AC_INIT of its configure.ac says '$release'" ;;
esac

prefix=$cache/$release
lock_prefix "$prefix"
if engine_works "$prefix"; then
    say "$release is in $prefix (remove it to have it built anew)"
    exit 0
fi
if ! find "$sources/bin" -name vtc_main.c | grep -q .; then
    fail "'$1' lacks its test runner, a submodule: 'git submodule update --init' there, or a release tarball"
fi
say "building $release, once, in $prefix (some minutes)"
compile_engine "$sources" "$prefix" "$unpacked"
say "$release is in $prefix: make check ENGINE=$release"
