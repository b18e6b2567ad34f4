#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Many viewers of one hot event: what a traced call costs, and what its readers cost, with instances of their own and
# with a shared one. --quick has 4 viewers instead of 16.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
N=1000000 # the kernel counts CPU time in steps of 10 ms
MANY=$(whole_or_quick 16 4)
call='ns of a call with viewers'
cpu='us of CPU time of the readers for 1000 events'
memory='kB of memory of the readers'
class='ns of the reader for an event and class'

# readers_cpu: microseconds that the stream workers and the readers of shared instances have used.
readers_cpu() {
        ktracectl status --json=short | jq '[.daemon | .consumers[]."cpu-usec", .shares[]."cpu-usec"] | add // 0'
}
# mux_cpu: the part of the readers of shared instances.
mux_cpu() { ktracectl status --json=short | jq '[.daemon.shares[]."cpu-usec"] | add // 0'; }
readers_memory() {
        ktracectl status --json=short | jq '[.daemon | .consumers[]."memory-kb", .shares[]."memory-kb"] | add // 0'
}
are_running() { ktracectl list --json=short | jq -e "[.[] | select(.state == \"running\")] | length == $1" >/dev/null; }

# with_viewers N [OPTION...], $FILTERED: a spin of the workload while N recordings run. FILTERED: each has a filter of
# its own, which all calls pass. Sets time, used and mux_used (us of CPU for 1000 events, of all readers and of the one
# that reads the shared instance), held and lost.
with_viewers() {
        local n=$1 i pids=()
        shift
        for i in $(seq "$n"); do
                ktracectl record -q -a -b 4096 "$@" -e raw_syscalls:sys_enter ${FILTERED:+-f "id != $((5000 + i))"} \
                        -o "$NATIVE/work/out.$i.kts" &
                pids+=($!)
        done
        until are_running "$n"; do sleep 0.05; done
        local before mux
        before=$(readers_cpu) mux=$(mux_cpu)
        time=$("$BENCH/spin" "$N")
        sleep 0.3
        used=$(calc "($(readers_cpu) - $before) * 1000 / $N")
        mux_used=$(calc "($(mux_cpu) - $mux) * 1000 / $N")
        held=$(readers_memory)
        lost=$(ktracectl list --json=short | jq -r '.[].id' | while read -r id; do
                ktracectl show --json=short "$id" | jq .statistics.lost
        done | jq -s add)
        kill -INT "${pids[@]}"
        wait "${pids[@]}" || true
        rm "$NATIVE/work"/out.*.kts
}

# write_at_once: us of CPU time for the bytes of 1000 events in each of as many processes as there are viewers.
write_at_once() {
        local i
        for i in $(seq "$MANY"); do
                "$BENCH/write-cost" "$NATIVE/work/written.$i" $((N * 68)) >"$NATIVE/work/cost.$i" &
        done
        wait
        jq -s "add / length * 1000 / $N" "$NATIVE/work"/cost.*
        rm "$NATIVE/work"/written.* "$NATIVE/work"/cost.*
}

for _ in $(seq "$RUNS"); do
        with_viewers 1
        fact "$call" '1, own instance' "$time"
        fact "$cpu" '1, own instance' "$used"
        with_viewers "$MANY"
        fact "$call" "$MANY, own instances" "$time"
        fact "$cpu" "$MANY, own instances" "$used"
        fact "$cpu" "each of $MANY, own instances" "$(calc "$used / $MANY")"
        fact "$memory" "$MANY, own instances" "$held"
        with_viewers 1 --share
        fact "$call" '1, --share' "$time"
        fact "$cpu" '1, --share' "$used"
        with_viewers "$MANY" --share
        row "$call" "$MANY, --share" "$time" '1, own instance' 1.1
        fact "$cpu" "$MANY, --share" "$used"
        row "$cpu" "the reader of $MANY, --share" "$mux_used" "each of $MANY, own instances" 1.3
        # The bytes of a recording of N events.
        fact "$cpu" 'write() alone' "$(calc "$("$BENCH/write-cost" "$NATIVE/work/written" $((N * 68))) * 1000 / $N")"
        rm "$NATIVE/work/written"
        fact "$cpu" "write() alone, $MANY at once" "$(write_at_once)"
        row "$cpu" "each worker of $MANY, --share" "$(calc "($used - $mux_used) / $MANY")" 'write() alone' 1.1
        fact "$memory" "$MANY, --share" "$held"
        fact 'events lost' "$MANY, --share" "$lost"
        unfiltered=$mux_used
        FILTERED=1 with_viewers "$MANY" --share
        fact "$call" "$MANY with filters, --share" "$time"
        fact "$cpu" "$MANY with filters, --share" "$used"
        fact "$cpu" "the reader of $MANY with filters, --share" "$mux_used"
        # Without filters, all viewers are one class. With filters, each of them is one.
        fact "$class" "each of $MANY with filters, --share" "$(calc "($mux_used - $unfiltered) / ($MANY - 1)")"
        fact "$class" 'a copy alone, that another CPU reads' "$("$BENCH/copy-cost")"
        fact 'events lost' "$MANY with filters, --share" "$lost"
        while read -r answer; do
                row "$class, by hand" "$(printf '%s' "$answer" | jq -r .what)" "$(of "$answer" .nsec)"
        done < <("$BENCH/class-cost")
done
