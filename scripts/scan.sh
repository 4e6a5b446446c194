#!/bin/sh
# Looks for what the sources must not hold. Prints each place; the status tells whether there was one.
set -eu
cd "$(dirname "$0")/.."
status=0

# forbid WHY PATTERN FILES...
forbid() {
    why=$1 pattern=$2
    shift 2
    if places=$(grep -nE -e "$pattern" /dev/null "$@"); then
        printf '%s:\n%s\n' "$why" "$places"
        status=1
    fi
}
# Lists the sources of that name pattern.
sources() { find . \( -path ./target -o -path ./.git \) -prune -o -type f -name "$1" -print | sort; }

rust=$(sources '*.rs')
# shellcheck disable=SC2046,SC2086 # lists of names without spaces
{
    forbid "a VTC that may be skipped" '^[[:space:]]*feature[[:space:]]' $(sources '*.vtc')
    forbid "a VTC that not every engine's runner can run: absence is -cliexpect {(?s)\\A(?!.*PATTERN)}" \
        'cliexpect[[:space:]]+!' $(sources '*.vtc')
    forbid "a test that is skipped" '#\[ *ignore' $rust
    forbid "unsafe code outside src/vrt/ and src/vmod/" '(^|[^[:alnum:]_])unsafe[[:space:]]*([{]|fn |impl |extern )' \
        $(printf '%s\n' $rust | grep -v -e '^\./src/vrt/' -e '^\./src/vmod/')
    forbid "a path of one machine" '(^|[[:space:]"=:(])/(root|home|work)/[a-z.]' $(sources '*.rs') $(sources '*.sh') $(sources '*.vcl') $(sources '*.vtc') $(sources '*.toml')
}
# What the engine calls has its body behind the panic boundary, by itself or in one of src/vmod/object.rs.
bare=$(awk '
    /extern "C" fn [a-z$]/ { name = FILENAME ":" FNR ": " $0; inside = 1; behind = 0 }
    inside && /catch_panic\(|[^a-z](create|destroy::<[A-Za-z]*>|method::<[A-Za-z]*, _>|use_blob::<[A-Za-z]*>)\(/ { behind = 1 }
    inside && /^}/ { if (!behind) print name; inside = 0; seen++ }
    END { if (seen < 20) print "only " seen + 0 " entry points are found" }' src/vrt/*.rs src/vmod/*.rs)
if [ -n "$bare" ]; then
    printf 'an entry point outside the panic boundary:\n%s\n' "$bare"
    status=1
fi
# The core has neither sockets nor a clock nor a runtime: its dependencies show it.
if tree=$(cargo tree -q --offline -p dynamic-core -e normal --prefix none 2>&1); then
    if places=$(printf '%s\n' "$tree" | grep -E '^(tokio|mio|socket2|hickory-[a-z]+|getrandom|rand|bindgen) v'); then
        printf 'core/ is to be pure, and depends on:\n%s\n' "$places"
        status=1
    fi
else
    printf 'the dependencies of core/ cannot be listed:\n%s\n' "$tree"
    status=1
fi
# The bridge knows nothing of what is built on it.
if places=$(grep -n 'use crate::' src/vrt/*.rs); then
    printf 'src/vrt/ imports from above:\n%s\n' "$places"
    status=1
fi
exit $status
