#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What probes cost: to find out where something lies, and to define and turn on a hundred of them beside bare writes
# to tracefs, which needs a kernel with kprobes.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"

[ -e "$TRACING/kprobe_events" ] ||
        note 'this kernel has no kprobes: the cost of 100 probes was not measured'
for _ in $(seq "$RUNS"); do
        answer=$("$BENCH/probe-cost" resolve 50)
        row 'ms to read what the kernel tells of itself' 'once' "$(of "$answer" .load_ms)"
        row 'ms to resolve a definition' 'after that' "$(of "$answer" .each_ms)" '' 5
        [ -e "$TRACING/kprobe_events" ] || continue
        row 'ms to define and turn on 100 probes' 'over the bus' "$(of "$("$BENCH/probe-cost" bus 100)" .ms)" \
                'bare tracefs writes' 1.2
        fact 'ms to define and turn on 100 probes' 'bare tracefs writes' "$(of "$("$BENCH/probe-cost" bare 100)" .ms)"
done
