#!/bin/sh
# Runs every check and closes with `N passed, N failed`.
#
# Usage: [ENGINES=all] scripts/check.sh
#
# ENGINES names engines of the cache folder, such as "varnish-8.0.0 varnish-9.0.2", or all that are
# there: the VTC suite runs on each of them as well, and each is counted apart.
#
# Each test counts as one, and so does each other check. With CI=true the work tree has to be clean at
# the end; else it has to be as it was at the start.
set -eu
scripts=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/progress.sh
. "$scripts/progress.sh"
root=$(cd "$scripts/.." && pwd)
cd "$root"

passed=0
failed=0
start=$(date +%s)
notes=$(mktemp -d)
trap 'rm -rf "$notes"' EXIT

heading() { printf '\n=== %s\n' "$*"; }

# Counts one check: check NAME COMMAND...
check() {
    name=$1
    shift
    heading "$name"
    if "$@" </dev/null; then
        passed=$((passed + 1))
    else
        printf 'FAILED: %s\n' "$name"
        failed=$((failed + 1))
    fi
}

# Counts the tests of one run of cargo: tests NAME MINIMUM ARGUMENTS-OF-CARGO-TEST...
# A test program that does not come to its end, and a run with fewer tests than MINIMUM, have failed.
tests() {
    name=$1 minimum=$2
    shift 2
    heading "$name"
    {
        status=0
        cargo test "$@" </dev/null 2>&1 || status=$?
        printf '%s\n' "$status" >"$notes/status"
    } | tee "$notes/log" | { grep --line-buffered -Ev '^test .* \.\.\. ok$|^running [0-9]+ tests?$|^$' || :; }
    # shellcheck disable=SC2046 # five numbers
    set -- $(awk '
        /^     Running .*\(.*\)$/ || /^   Doc-tests / { programs++ }
        /^test result: / { ended++; passed += $4; failed += $6; skipped += $8 }
        END { print programs + 0, ended + 0, passed + 0, failed + 0, skipped + 0 }' "$notes/log")
    bad=$(($4 + $5))
    [ "$5" -eq 0 ] || printf 'FAILED: %d tests were skipped\n' "$5"
    if [ "$1" -ne "$2" ]; then
        printf 'FAILED: of %d test programs, %d came to their end\n' "$1" "$2"
        bad=$((bad + $1 - $2))
    fi
    if [ "$3" -lt "$minimum" ] && [ "$bad" -eq 0 ]; then
        printf 'FAILED: %d tests passed where at least %d are expected\n' "$3" "$minimum"
        bad=$((bad + 1))
    fi
    if [ "$(cat "$notes/status")" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
    fi
    [ "$bad" -eq 0 ] || printf 'FAILED: %s\n' "$name"
    passed=$((passed + $3))
    failed=$((failed + bad))
}

# What a check may not change: the state of each file, and the content of those that git does not have as they are.
tree() {
    git status --porcelain --untracked-files=all
    git diff | cksum
    git ls-files --others --exclude-standard | sort | while read -r file; do cksum "$file"; done
}
clean_tree() {
    if [ "$in_git" != true ]; then
        echo "git does not know this folder: $(git rev-parse --is-inside-work-tree 2>&1 || :)"
        [ "${CI-}" != true ]
        return
    fi
    tree >"$notes/after"
    if ! cmp -s "$notes/before" "$notes/after"; then
        diff "$notes/before" "$notes/after" || :
        return 1
    fi
    if [ "${CI-}" = true ] && [ -n "$(git status --porcelain)" ]; then
        git status --short
        return 1
    fi
}
format() {
    cargo fmt --all --check -- -l && return
    echo "these are not as 'make fmt' leaves them"
    return 1
}
shell_scripts() { shellcheck -x scripts/*.sh .ci/run; }
build() {
    # With a test among the targets, cargo takes the dependencies as the tests have them: compiled already.
    cargo build --locked --workspace --lib --bins --test vtc || return 1
    [ -f "$VTC_MODULE" ] && [ -x "$VTC_TESTDNS" ]
}
# With the module that the tests use; it prints much, so only its end where all is well.
demo() {
    VMOD=$VTC_MODULE python3 scripts/demo >"$notes/demo" 2>&1 || {
        cat "$notes/demo"
        return 1
    }
    tail -n 1 "$notes/demo"
}
manual() {
    "$scripts/man.sh" && [ -s "$(dirname "$(dirname "$VMOD")")/man/vmod_dynamic.3" ]
}

# The names of the engines that ENGINES asks for.
others() {
    case ${ENGINES-} in
    all)
        cache=$(cache_folder)
        for file in "$cache"/*/lib/pkgconfig/varnishapi.pc "$cache"/*/lib/pkgconfig/vinylapi.pc; do
            [ ! -f "$file" ] || basename "${file%/lib/pkgconfig/*}"
        done
        ;;
    *) printf '%s\n' "${ENGINES-}" ;;
    esac
}
# Counts the VTC suite on the engine of that name, unless it is the one of all other checks.
suite_on() {
    other=$1 passed_before=$passed failed_before=$failed
    if ! there=$(ENGINE=$other "$scripts/env.sh"); then
        failed=$((failed + 1))
        return
    fi
    eval "$there"
    if [ "$VTEST" != "$first" ]; then
        check "build for $other" build
        tests "VTC suite and examples, on $other" "$files" --locked --workspace --test vtc
        printf '%s: %d passed, %d failed\n' "$other" "$((passed - passed_before))" "$((failed - failed_before))" |
            tee -a "$notes/apart"
    fi
    eval "$env"
}

heading "set-up"
if ! { "$scripts/setup.sh" check && env=$("$scripts/env.sh"); }; then
    printf '\n0 passed, 1 failed\n'
    exit 1
fi
eval "$env"
first=$VTEST
say "Rust $(rustc --version | awk '{ print $2 }'), $ENGINE $ENGINE_VERSION"

[ "${CI-}" != true ] || export CARGO_INCREMENTAL=0
VTC_MODULE=$(dirname "$(dirname "$VMOD")")/debug/libvmod_dynamic.so
VTC_TESTDNS=$(dirname "$VTC_MODULE")/testdns
export VTC_MODULE VTC_TESTDNS
in_git=$(git rev-parse --is-inside-work-tree 2>/dev/null || :)
[ "$in_git" != true ] || tree >"$notes/before"

check "format" format
check "clippy" cargo clippy --locked --workspace --all-targets --keep-going -- -D warnings
check "clippy, without TLS" cargo clippy --locked --package vmod_dynamic --no-default-features --lib -- -D warnings
tests "unit, property and integration tests" 1 --locked --workspace --no-fail-fast
check "build of what the VTC suite runs" build
files=$(find vtc examples -name '*.vtc' -o -name '*.vcl' 2>/dev/null | wc -l)
tests "VTC suite and examples, on $ENGINE $ENGINE_VERSION" "$files" --locked --workspace --test vtc
check "demo" demo
check "manual page" manual
check "shell scripts" shell_scripts
check "what the sources must not hold" "$scripts/scan.sh"
for other in $(others); do
    suite_on "$other"
done
check "clean tree" clean_tree

[ ! -f "$notes/apart" ] || { echo && cat "$notes/apart"; }
printf '\n%d s\n%d passed, %d failed\n' "$(($(date +%s) - start))" "$passed" "$failed"
[ "$failed" -eq 0 ]
