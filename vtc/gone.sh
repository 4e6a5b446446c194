#!/bin/sh
# Waits until VCLs are gone that were discarded. The engine frees a VCL at the first command that finds it unused,
# which may be seconds after the last request: idle workers hold on to the VCL that they had last.
#
# Usage: gone.sh NAME-OF-THE-INSTANCE VCL...
set -eu
instance=$1
shift
for vcl in "$@"; do
    while list=$("$ENGINE_ADM" -n "$instance" vcl.list) && printf '%s\n' "$list" | grep -Eq " $vcl\$"; do
        sleep .1
    done
done
