#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the consumer's walk over full sub-buffers costs, beside a copy of the same bytes in the same run.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"

# Most that cleaning, or cutting, may add to a walk that has nothing to do. A record that is dropped where the
# processor did not expect it costs a failed guess.
most() { # WHAT BASE
        case $1 in
        *"some dropped"*) jq -n "$2 + 25" ;;
        *dropped | *members) jq -n "$2 + 10" ;;
        *whole) echo null ;;
        *) jq -n "$2 + 5" ;;
        esac
}

for _ in $(seq "$RUNS"); do
        while read -r answer; do
                what=$(printf "%s" "$answer" | jq -r .what) nsec=$(of "$answer" .nsec)
                case $what in *whole) base=$nsec ;; esac
                row 'ns an event' "$what" "$nsec" '' "$(most "$what" "$base")"
                fact 'GB/s' "$what" "$(of "$answer" .rate)" 'memcpy'
                fact 'GB/s' 'memcpy' "$(of "$answer" .copy)"
        done < <("$BENCH/page-cost")
done
