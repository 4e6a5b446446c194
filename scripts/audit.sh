#!/bin/sh
# Checks the dependencies with cargo-deny (deny.toml): licences, sources, bans and advisories.
set -eu
# shellcheck source=scripts/progress.sh
. "$(dirname "$0")/progress.sh"
cd "$(dirname "$0")/.."

if ! cargo deny --version >/dev/null 2>&1; then
    [ -z "${NO_INSTALL-}" ] || fail "missing here: cargo-deny; NO_INSTALL is set"
    say "installing cargo-deny (some minutes)"
    cargo install --locked cargo-deny || fail "cargo-deny cannot be installed"
fi
cargo deny check bans licenses sources
cargo deny check advisories ||
    fail "an advisory above, or the advisory database could not be fetched (it is a git repository on the internet)"
