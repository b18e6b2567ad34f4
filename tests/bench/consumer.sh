#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a recording costs: raw_syscalls:sys_enter of the whole system, with 8 MB and 1 MB per CPU, into a file.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
N=5000000
PEER_NONE='trace-cmd --compression none'
PEER_ZSTD='trace-cmd (zstd)'
BUFFER=8192 # kB per CPU
out=$NATIVE/work/out
bin=$NATIVE/bin

consumer() { # SUBBUF_KB PRODUCERS...
        local subbuf=$1
        shift
        "$BENCH/consumer-cost" "$bin/ktrace-consumer" ktrace-consumer "$subbuf" 8192 "$out" "$@" 2>/dev/null
}

# per_event WHAT TARGET COST-OF-N COST-OF-NONE PEER: the cost of a run without events is a row of its own.
per_event() {
        row "CPU s per million events, $BUFFER KB" "$1" "$(jq -n "($3 - $4) / $N * 1e6")" "$5" "$2"
        row "CPU s of a run without events, $BUFFER KB" "$1" "$4"
}

own() { # SUBBUF_KB TARGET
        local full none
        full=$(consumer "$1" -- "$BENCH/spin" $N)
        none=$(consumer "$1" -- true)
        per_event "ktrace-consumer, $1K" "$2" "$(of "$full" .cpu)" "$(of "$none" .cpu)" "$PEER_NONE"
        row 'CPU s per GB' "ktrace-consumer, $1K" "$(of "$full" '.cpu / .bytes * 1e9')"
        row "bytes on disk per event, $BUFFER KB" "ktrace-consumer, $1K" "$(of "$full" '.bytes / .events')" ring 1.05
        row 'events lost, one producer at full speed' "ktrace-consumer, $1K" "$(of "$full" .lost)" '' 0
}

# whole_product WHAT RATIO PEER FILE [OPTION...]: everything that `ktracectl record` starts, with the export.
whole_product() {
        local what=$1 target=$2 against=$3 file=$4 daemon full none
        shift 4
        ktracectl status >/dev/null
        daemon=$(daemon_pid)
        full=$("$BENCH/tool-cost" -d "$daemon" - ktracectl record -q -a -b "$BUFFER" -e raw_syscalls:sys_enter "$@" \
                -o "$file" -- "$BENCH/spin" $N)
        row "bytes on disk per event, $BUFFER KB" "$what" "$(jq -n "$(stat -c %s "$file") / $N")" "$against" \
                "$([[ $file == *.dat && $target != null ]] && echo 1.1 || echo null)"
        none=$("$BENCH/tool-cost" -d "$daemon" - ktracectl record -q -a -b "$BUFFER" -e raw_syscalls:sys_enter "$@" \
                -o "$file" -- true)
        rm -f "$file"
        per_event "$what" "$target" "$(of "$full" .cpu)" "$(of "$none" .cpu)" "$against"
}

peer() { # WHAT READY COMMAND...
        local what=$1 ready=$2 full none
        shift 2
        full=$("$BENCH/tool-cost" "$ready" "$@" -- "$BENCH/spin" $N 2>/dev/null)
        row "bytes on disk per event, $BUFFER KB" "$what" "$(jq -n "$(stat -c %s "$out") / $N")"
        none=$("$BENCH/tool-cost" "$ready" "$@" -- true 2>/dev/null)
        per_event "$what" null "$(of "$full" .cpu)" "$(of "$none" .cpu)" ''
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

row "bytes on disk per event, $BUFFER KB" ring "$(ring_bytes)"
for _ in $(seq "$RUNS"); do
        own 4 0.5
        own 64 0.35
        for BUFFER in 8192 1024; do
                whole_product 'record -o t.dat' 0.5 "$PEER_ZSTD" "$out.dat"
                whole_product 'record -o t.dat --compression none' null "$PEER_NONE" "$out.dat" --compression none
                whole_product 'record -o t.kts' 0.35 "$PEER_ZSTD" "$out.kts"
                whole_product 'record -o t.kts --compression zstd' null "$PEER_ZSTD" "$out.kts" --compression zstd
                peer "$PEER_NONE" "$PEER_ENABLE" "${trace_cmd[@]}" -b "$BUFFER" --compression none -o "$out"
                peer "$PEER_ZSTD" "$PEER_ENABLE" "${trace_cmd[@]}" -b "$BUFFER" -o "$out"
        done
        BUFFER=8192
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
