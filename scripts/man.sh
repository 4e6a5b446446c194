#!/bin/sh
# Makes the manual page vmod_dynamic.3 from vmod.vcc, beside the built module. A warning is an error.
#
# Usage: scripts/man.sh, in the environment of scripts/env.sh
set -eu
# shellcheck source=scripts/progress.sh
. "$(dirname "$0")/progress.sh"
root=$(cd "$(dirname "$0")/.." && pwd)

folder=$(dirname "$(dirname "${VMOD:?first: eval \"\$(make -s env)\"}")")/man
mkdir -p "$folder"
cd "$folder"
for rst2man in rst2man rst2man.py; do
    ! command -v "$rst2man" >/dev/null || break
done
log=$folder/vmodtool.log
python3 "$ENGINE_VMODTOOL" -o vcc_dynamic_if -w "$folder" "$root/vmod.vcc" >"$log" 2>&1 || fail "vmod.vcc is not valid"
# vmodtool drops text, such as that after $Event, with no more than a warning.
! grep -q -i -e warning -e 'not emitting' "$log" || fail "vmod.vcc has a warning"
log=
"$rst2man" --report=warning --halt=warning vmod_dynamic.man.rst vmod_dynamic.3.new ||
    fail "the manual in vmod.vcc has a warning (the line numbers are those of $folder/vmod_dynamic.man.rst)"
mv vmod_dynamic.3.new vmod_dynamic.3
say "$folder/vmod_dynamic.3"
