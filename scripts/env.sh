#!/bin/sh
# Prints the shell exports with which the module is built and tried by hand:
#
#     eval "$(make -s env)"
#
# PATH, PKG_CONFIG_PATH   the engine's programs and development files
# ENGINE                  varnish or vinyl
# ENGINE_VERSION          its version
# ENGINE_SERVER           its server (varnishd or vinyld)
# ENGINE_ADM              its command-line client (varnishadm or vinyladm)
# ENGINE_VMODTOOL         its vmodtool.py
# ENGINE_VMODDIR          the folder that it loads modules from
# VTEST                   its runner of VTC files (varnishtest or vinyltest)
# VMOD                    the module of `make build`
#
# The engine is the first of these that has headers, server and VTC runner, all of one version:
# Varnish Cache 7.7 or newer of pkg-config, Vinyl Cache 9.0 or newer of pkg-config, and the Vinyl
# Cache that `scripts/setup.sh` built. Without any, it prints no export and ends with status 3.
#
# With ENGINE set: `varnish` or `vinyl`, the first of these of that kind; another word, the engine of
# that name in the cache folder, such as the varnish-8.0.0 of `make engine`.
set -eu
# shellcheck source=scripts/progress.sh
. "$(dirname "$0")/progress.sh"
root=$(cd "$(dirname "$0")/.." && pwd)

quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
export_line() { printf 'export %s=%s\n' "$1" "$(quoted "$2")"; }

# Prints the first of the given folders' PROGRAM, or that of PATH.
program() {
    name=$1
    shift
    for folder in "$@"; do
        if [ -x "$folder/$name" ]; then
            printf '%s\n' "$folder/$name"
            return
        fi
    done
    command -v "$name"
}

# Takes the engine of pkg-config package $1 (at least version $2) with the programs $3d, $3adm and $3test.
engine() {
    package=$1 least=$2 stem=$3
    pkg-config --atleast-version="$least" "$package" 2>/dev/null || return 1
    version=$(pkg-config --modversion "$package")
    prefix=$(pkg-config --variable=exec_prefix "$package")
    server=$(program "${stem}d" "$prefix/sbin" "$prefix/bin") || return 1
    adm=$(program "${stem}adm" "$prefix/bin") || return 1
    vtest=$(program "${stem}test" "$prefix/bin") || return 1
    # A server of another version than the headers would refuse the module.
    "$server" -V 2>&1 | grep -qF -e "-$version " || return 1
    vmodtool=$(pkg-config --variable=vmodtool "$package")
    vmoddir=$(pkg-config --variable=vmoddir "$package")
    [ -r "$vmodtool" ] || return 1
}

varnish() { engine varnishapi 7.7 varnish; }
vinyl() { engine vinylapi 9.0 vinyl; }

# Puts the development files of the cached engine $1 in front, in the place of another cached one's.
prefer() {
    # Debian's files are in a folder that pkg-config knows by itself.
    kept=$(printf '%s' "${PKG_CONFIG_PATH-}" | tr ':' '\n' |
        awk -v cache="$cache/" 'NF && index($0, cache) != 1' | paste -s -d : -)
    PKG_CONFIG_PATH=$cache/$1/lib/pkgconfig${kept:+:$kept}
    export PKG_CONFIG_PATH
}
cached_vinyl() {
    prefer vinyl
    vinyl
}

# Finds the engine that is asked for.
find_engine() {
    case $1 in
    '') varnish || vinyl || cached_vinyl ;;
    varnish) varnish ;;
    vinyl) vinyl || cached_vinyl ;;
    *[!A-Za-z0-9._+~-]* | .*) return 1 ;;
    *)
        prefer "$1"
        if [ -e "$cache/$1/lib/pkgconfig/varnishapi.pc" ]; then
            varnish
        else
            [ -e "$cache/$1/lib/pkgconfig/vinylapi.pc" ] && vinyl
        fi
        ;;
    esac
}

command -v pkg-config >/dev/null || {
    printf 'error: pkg-config is missing: run scripts/setup.sh\n' >&2
    exit 3
}
cache=$(cache_folder 2>/dev/null || echo /nonexistent)
wanted=${ENGINE-}
find_engine "$wanted" || {
    case $wanted in
    '') printf 'error: no Varnish Cache 7.7 or newer and no Vinyl Cache 9.0 or newer: run scripts/setup.sh\n' ;;
    varnish | vinyl) printf 'error: there is no supported engine of the kind %s (ENGINE): see "make engine"\n' "$wanted" ;;
    *) printf 'error: there is no engine %s (ENGINE) in %s: see "make engine"\n' "$wanted" "$cache" ;;
    esac >&2
    exit 3
}

path=$PATH
# The Rust toolchain where its installer puts it, for shells that were open before.
if ! command -v cargo >/dev/null && [ -x "${CARGO_HOME:-${HOME-}/.cargo}/bin/cargo" ]; then
    path=${CARGO_HOME:-$HOME/.cargo}/bin:$path
fi
# Puts folder $1 in front of the path, once.
front() {
    rest=$(printf '%s' "$path" | tr ':' '\n' | awk -v folder="$1" '$0 != folder' | paste -s -d : -)
    path=$1${rest:+:$rest}
}
for name in "$adm" "$vtest" "$server"; do
    if [ "$(PATH=$path command -v "$(basename "$name")")" != "$name" ]; then
        front "$(dirname "$name")"
    fi
done
# The name servers that tests ask, where scripts/nameservers.sh put them.
if [ -d "$cache/nameservers/bin" ]; then
    front "$cache/nameservers/bin"
fi

target=${CARGO_TARGET_DIR:-$root/target}
case $target in
/*) ;;
*) target=$PWD/$target ;;
esac

export_line PATH "$path"
[ -z "${PKG_CONFIG_PATH-}" ] || export_line PKG_CONFIG_PATH "$PKG_CONFIG_PATH"
export_line ENGINE "$stem"
export_line ENGINE_VERSION "$version"
export_line ENGINE_SERVER "$server"
export_line ENGINE_ADM "$adm"
export_line ENGINE_VMODTOOL "$vmodtool"
export_line ENGINE_VMODDIR "$vmoddir"
export_line VTEST "$vtest"
export_line VMOD "$target/release/libvmod_dynamic.so"
