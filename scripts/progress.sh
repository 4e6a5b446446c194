# Sourced by the other scripts: what they say, and how they run long commands.
#
# $log, where set, is the file that commands write to; its end is shown when one fails.
# shellcheck shell=sh

say() { printf '==> %s\n' "$*"; }

# One clear error, the end of the log where there is one, and out.
fail() {
    if [ -n "${log-}" ] && [ -s "$log" ]; then
        printf '\nthe last lines of %s:\n' "$log" >&2
        tail -n 20 "$log" >&2
    fi
    printf '\nerror: %s\n' "$*" >&2
    exit 1
}

# Runs a command into the log. A sign of life is printed every 15 seconds.
run() {
    "$@" >>"$log" 2>&1 </dev/null &
    running=$!
    # A background job of a script ignores ^C, so it has to be told.
    trap 'kill "$running" 2>/dev/null; exit 130' INT
    trap 'kill "$running" 2>/dev/null; exit 143' TERM HUP
    seconds=0
    while kill -0 "$running" 2>/dev/null; do
        sleep 1
        seconds=$((seconds + 1))
        [ $((seconds % 15)) -ne 0 ] || printf '    ... %d s\n' "$seconds"
    done
    status=0
    wait "$running" || status=$?
    trap - INT TERM HUP
    return "$status"
}

# The folder that outlives the checkout: $VMOD_DYNAMIC_CACHE, or one in the user's cache.
cache_folder() {
    printf '%s\n' "${VMOD_DYNAMIC_CACHE:-${XDG_CACHE_HOME:-${HOME:?neither HOME nor VMOD_DYNAMIC_CACHE is set}/.cache}/vmod-dynamic}"
}
