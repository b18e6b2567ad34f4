#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What asking the daemon costs at its two doors, in turn.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
socket=$NATIVE/run/org.ktrace1

ktracectl status >/dev/null

costs() { # METRIC MODE N TARGET
        local bus varlink
        bus=$("$BENCH/bus-cost" "$2" "$3")
        varlink=$("$BENCH/varlink-cost" "$2" "$socket" "$3")
        row "$1, p50" 'over Varlink' "$(of "$varlink" .p50)" 'over the bus' "$4"
        row "$1, p50" 'over the bus' "$(of "$bus" .p50)"
        row "$1, p99" 'over Varlink' "$(of "$varlink" .p99)"
        row "$1, p99" 'over the bus' "$(of "$bus" .p99)"
}

for _ in $(seq "$RUNS"); do
        costs 'us for a call' limits 3000 1
        costs 'us for a connection and a call' connect 300 1
        costs 'us for a session, create to destroy' session 10 null # the kernel's time
done
