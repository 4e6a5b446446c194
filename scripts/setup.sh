#!/bin/sh
# Brings what the build needs to a bare Debian 12 that has Rust and make. Nothing is done twice:
# where all is there, it says nothing and takes a moment.
#
# Usage: scripts/setup.sh [build|check|engine]
#
# build   what the module, its manual page and a running engine need (the default)
# check   what `make check` needs as well
# engine  what the build of an engine needs, and no engine
#
# With NO_INSTALL=1 nothing is installed, fetched or built: what is missing is named instead.
#
# Debian packages are installed with apt, as root or through sudo, and only those that are missing.
# An engine is looked for first (scripts/env.sh) and else built, as this user, into the folder
# ${VMOD_DYNAMIC_CACHE:-${XDG_CACHE_HOME:-~/.cache}/vmod-dynamic} (scripts/engine.sh).
set -eu
scripts=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/progress.sh
. "$scripts/progress.sh"
goal=${1:-build}
case $goal in
build | check | engine) ;;
*) fail "usage: $0 [build|check|engine]" ;;
esac

# --- Rust

rust_least=$(sed -n 's/^rust-version *= *"\(.*\)"$/\1/p' "$scripts/../Cargo.toml" | head -n 1)
if ! command -v cargo >/dev/null && [ -x "${CARGO_HOME:-${HOME-}/.cargo}/bin/cargo" ]; then
    PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
fi
command -v cargo >/dev/null ||
    fail "Rust is missing: install Rust $rust_least or newer (cargo and rustc in PATH)"
rust=$(rustc --version 2>/dev/null | awk '{ print $2 }')
[ -n "$rust" ] || fail "'rustc --version' fails: install Rust $rust_least or newer (cargo and rustc in PATH)"
printf '%s %s\n' "$rust_least" "$rust" | awk '{
    split($1, least, "[.-]"); split($2, have, "[.-]")
    exit !(have[1] + 0 > least[1] + 0 || have[1] + 0 == least[1] + 0 && have[2] + 0 >= least[2] + 0)
}' || fail "Rust $rust is too old: install Rust $rust_least or newer"

if [ "$goal" = check ]; then
    for component in fmt clippy; do
        if ! cargo "$component" --version >/dev/null 2>&1; then
            name=$([ "$component" = clippy ] && echo clippy || echo rustfmt)
            [ -z "${NO_INSTALL-}" ] || fail "missing here: $name of Rust $rust (cargo $component); NO_INSTALL is set"
            say "adding $name to the Rust toolchain"
            { command -v rustup >/dev/null && rustup component add "$name"; } ||
                fail "cargo $component is missing: install $name of Rust $rust"
        fi
    done
fi

# --- Debian packages

# Prints those of the given packages that are missing. A word is PACKAGE, or PACKAGE:COMMAND where
# the command is proof enough, or PACKAGE:PATTERN where any package of that pattern serves.
missing() {
    if command -v dpkg-query >/dev/null; then
        # shellcheck disable=SC2016 # dpkg's own variables
        installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
    else
        installed=
    fi
    for word in "$@"; do
        package=${word%%:*}
        proof=${word#"$package"}
        proof=${proof#:}
        case $proof in
        '') ;;
        *'['*) ! printf '%s\n' "$installed" | grep -qx -e "$proof" || continue ;;
        *) ! command -v "$proof" >/dev/null || continue ;;
        esac
        if [ -n "$installed" ]; then
            ! printf '%s\n' "$installed" | grep -qxF -e "$package" || continue
        elif [ "$proof" = '' ]; then
            # Not Debian: headers and libraries are the owner's; the compiler will tell.
            continue
        fi
        printf '%s ' "$package"
    done
}

# Runs a command as root.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

# Installs the given packages.
install_packages() {
    [ -z "${NO_INSTALL-}" ] || fail "missing here: $* (names of Debian's packages); NO_INSTALL is set: install them, then run this again"
    command -v apt-get >/dev/null ||
        fail "missing here: $* (names of Debian's packages); there is no apt-get to install them with, so install what your system has for them, then run this again"
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null ||
            fail "missing here: $*; this is neither root nor is there sudo: have root run 'apt-get install $*', then run this again"
        # Asks for the password now, where it can be seen.
        as_root true || fail "missing here: $*; sudo is refused: have root run 'apt-get install $*', then run this again"
    fi
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    say "reading the package index"
    run as_root apt-get -q -o DPkg::Lock::Timeout=300 update || fail "apt-get update failed: is the network there?"
    say "installing $*"
    # shellcheck disable=SC2086 # a list
    run as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
        -o DPkg::Lock::Timeout=300 install "$@" ||
        fail "apt-get cannot install $*: see above why (no network? a package source that does not answer?)"
    rm -f "$log"
    log=
}

# Installs those of the given packages that are missing.
need() {
    lacking=$(missing "$@")
    # shellcheck disable=SC2086 # a list
    [ -z "$lacking" ] || install_packages $lacking
}

# What the build of any engine needs.
need_for_engine() {
    need autoconf automake libtool make:make gcc:gcc libc6-dev pkg-config:pkg-config python3:python3 \
        libpcre2-dev libedit-dev libncurses-dev libjemalloc-dev libssl-dev \
        python3-docutils:rst2man python3-sphinx:sphinx-build xz-utils:xz util-linux:flock "$@"
}
if [ "$goal" = engine ]; then
    need_for_engine
    exit 0
fi

case $goal in
build) set -- ;;
check) set -- shellcheck:shellcheck git:git openssl:openssl ;;
esac
need ca-certificates gcc:gcc libc6-dev clang:clang 'libclang-dev:libclang-[0-9.]*-dev' pkg-config:pkg-config \
    python3:python3 python3-docutils:rst2man "$@"

# --- the engine

if ! "$scripts/env.sh" >/dev/null 2>&1; then
    case ${ENGINE-} in
    '' | vinyl) ;;
    *)
        why=$("$scripts/env.sh" 2>&1 >/dev/null) || :
        fail "${why#error: }"
        ;;
    esac
    [ -z "${NO_INSTALL-}" ] ||
        fail "missing here: Varnish Cache 7.7 or newer or Vinyl Cache 9.0 or newer, with its development files (on Debian 13: varnish and libvarnishapi-dev); NO_INSTALL is set"
    say "no Varnish Cache 7.7 or newer and no Vinyl Cache 9.0 or newer is installed"
    command -v apt-get >/dev/null ||
        fail "install one of them with its development files: without apt-get, Vinyl Cache cannot be built from Debian's source packages"
    need_for_engine dpkg-dev:dpkg-source patch:patch debian-archive-keyring
    "$scripts/engine.sh" "$(cache_folder)/vinyl"
    why=$("$scripts/env.sh" 2>&1 >/dev/null) || fail "the Vinyl Cache just built is not usable (${why#error: }); remove $(cache_folder) and run this again"
fi

# --- what tests ask

[ "$goal" != check ] || "$scripts/nameservers.sh" "$(cache_folder)/nameservers"
