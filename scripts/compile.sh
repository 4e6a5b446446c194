# Sourced by the scripts that build an engine: what is the same for each source.
#
# $log is the file that commands write to (scripts/progress.sh, which comes first).
# shellcheck shell=sh
# shellcheck disable=SC2154 # $log

# Ends with an error where an engine cannot be built in the folder $1.
check_prefix() {
    case $1 in
    /*) ;;
    *) fail "'$1' is not an absolute path" ;;
    esac
    case $1 in
    *[!A-Za-z0-9/._+@~-]*) fail "an engine cannot be built in '$1': its build accepts no space or quote in a path; set VMOD_DYNAMIC_CACHE to another folder" ;;
    esac
    mkdir -p "$(dirname "$1")" || fail "'$(dirname "$1")' cannot be made; set VMOD_DYNAMIC_CACHE to another folder"
}

# Waits for another build of the folder $1 to end. The lock goes with this process.
lock_prefix() {
    exec 9>"$1.lock"
    if ! flock -n 9; then
        say "waiting for another build of $1"
        flock 9
    fi
}

# Whether the folder $1 has an engine that starts.
engine_works() {
    for server in varnishd vinyld; do
        ! "$1/sbin/$server" -V >/dev/null 2>&1 || return 0
    done
    return 1
}

# Builds the sources in folder $1 for the prefix $2, which appears in one step; $3 is a folder to work in.
compile_engine() {
    cd "$1" || fail "there is no $1"
    say "configuring"
    run autoreconf -fi || fail "autoreconf failed"
    run ./configure --prefix="$2" --disable-static \
        VCC_GCC=gcc VCC_CFLAGS=-O2 VCC_WARN=-w || fail "the engine cannot be configured"
    say "compiling"
    run make -s -j"$(nproc)" || fail "the engine does not compile"
    run make -s install DESTDIR="$3/root" || fail "the engine cannot be installed"
    cd /
    root=$3/root$2
    for kind in varnish vinyl; do
        [ ! -x "$root/sbin/${kind}d" ] || break
    done
    for program in "sbin/${kind}d" "bin/${kind}adm" "bin/${kind}test"; do
        [ -x "$root/$program" ] || fail "the engine was built without $program"
    done
    rm -rf "$2"
    mv "$root" "$2"
    "$2/sbin/${kind}d" -V >>"$log" 2>&1 || fail "the built $2/sbin/${kind}d does not start"
}
