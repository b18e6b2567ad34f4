#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What reading a trace costs: raw_syscalls:sys_enter of the whole system, 8 MB a CPU, into a file.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
N=5000000
PEER_NONE='trace-cmd --compression none'
out=$NATIVE/work/out
bin=$NATIVE/bin

consumer() { # SUBBUF_KB PRODUCERS...
        local subbuf=$1
        shift
        "$BENCH/consumer-cost" "$bin/ktrace-consumer" ktrace-consumer "$subbuf" 8192 "$out" "$@" 2>/dev/null
}

# per_event WHAT TARGET COST-OF-N COST-OF-NONE: what a run costs by itself is told apart.
per_event() {
        row 'CPU s per million events' "$1" "$(jq -n "($3 - $4) / $N * 1e6")" "$PEER_NONE" "$2"
        row 'CPU s of a run without events' "$1" "$4"
}

own() { # SUBBUF_KB TARGET
        local full none
        full=$(consumer "$1" -- "$BENCH/spin" $N)
        none=$(consumer "$1" -- true)
        per_event "ktrace-consumer, $1K" "$2" "$(of "$full" .cpu)" "$(of "$none" .cpu)"
        row 'CPU s per GB' "ktrace-consumer, $1K" "$(of "$full" '.cpu / .bytes * 1e9')"
        row 'bytes on disk per event' "ktrace-consumer, $1K" "$(of "$full" '.bytes / .events')" ring 1.05
        row 'events lost, one producer at full speed' "ktrace-consumer, $1K" "$(of "$full" .lost)" '' 0
}

whole_product() {
        local daemon full none
        ktracectl status >/dev/null
        daemon=$(daemon_pid)
        full=$("$BENCH/tool-cost" -d "$daemon" - ktracectl record -q -a -b 8192 -e raw_syscalls:sys_enter \
                -o "$out.kts" \
                -- "$BENCH/spin" $N)
        none=$("$BENCH/tool-cost" -d "$daemon" - ktracectl record -q -a -b 8192 -e raw_syscalls:sys_enter \
                -o "$out.kts" -- true)
        per_event 'ktracectl, daemon and consumer' 0.5 "$(of "$full" .cpu)" "$(of "$none" .cpu)"
        rm -f "$out.kts"
}

peer() { # WHAT READY COMMAND...
        local what=$1 ready=$2 full none
        shift 2
        full=$("$BENCH/tool-cost" "$ready" "$@" -- "$BENCH/spin" $N 2>/dev/null)
        row 'bytes on disk per event' "$what" "$(jq -n "$(stat -c %s "$out") / $N")"
        none=$("$BENCH/tool-cost" "$ready" "$@" -- true 2>/dev/null)
        per_event "$what" null "$(of "$full" .cpu)" "$(of "$none" .cpu)"
}

ring_bytes() { # of an event in the ring, page headers included, nobody reading
        local instance=/sys/kernel/tracing/instances/$PEER
        mkdir "$instance"
        echo 65536 >"$instance/buffer_size_kb"
        echo 1 >"$instance/events/raw_syscalls/sys_enter/enable"
        "$BENCH/spin" 500000 >/dev/null
        echo 0 >"$instance/events/raw_syscalls/sys_enter/enable"
        cat "$instance"/per_cpu/cpu*/stats |
                awk '/^entries:/ { n += $2 } /^bytes:/ { b += $2 } END { print b / n * 4096 / 4080 }'
        rmdir "$instance"
}

row 'bytes on disk per event' ring "$(ring_bytes)"
for _ in $(seq "$RUNS"); do
        own 4 0.5
        own 64 0.35
        whole_product
        peer "$PEER_NONE" "$PEER_ENABLE" "${trace_cmd[@]}" -b 8192 --compression none -o "$out"
        peer 'trace-cmd (compressed)' "$PEER_ENABLE" "${trace_cmd[@]}" -b 8192 -o "$out"
        peer 'perf record -m 8M' - perf record -q -a -m 8M -e raw_syscalls:sys_enter -o "$out"
        paced=$(consumer 64 -- "$BENCH/spin" 3000000 1000)
        row 'wake-ups a second at 1,000,000 events/s' 'ktrace-consumer, 64K' "$(of "$paced" '.switches / .seconds')" \
                '' 100
        both=$(consumer 64 -- "$BENCH/spin" 5000000 0 0 -- "$BENCH/spin" 5000000 0 1)
        row 'events lost, both CPUs saturated' 'ktrace-consumer, 64K' "$(of "$both" .lost)" '' 0
        row 'events/s, both CPUs saturated' 'ktrace-consumer, 64K' "$(of "$both" '.events / .seconds | round')"
done
idle=$(consumer 64)
row 'context switches of a run with 5 idle seconds' 'ktrace-consumer, 64K' "$(of "$idle" .switches)"
