#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How long one waits: for a recording of `true`, for a session, for an answer.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
out=$NATIVE/work/out

"$BENCH/bus-cost" echo &
echo_server=$!
trap 'kill $echo_server' EXIT
ktracectl status >/dev/null

call() { # METRIC WHAT MODE N AGAINST TARGET
        local answer
        answer=$("$BENCH/bus-cost" "$3" "$4")
        row "$1, p50" "$2" "$(of "$answer" .p50)" "${5:-}" "${6:-null}"
        row "$1, p99" "$2" "$(of "$answer" .p99)"
}

for _ in $(seq $((RUNS * 3))); do
        row 'ms for a recording of true' 'ktracectl record' \
                "$(wall ktracectl record -q -e raw_syscalls:sys_enter -o "$out.kts" -- true)" 'trace-cmd record' 0.5
        row 'ms for a recording of true' 'trace-cmd record' "$(wall "${trace_cmd[@]}" -F -o "$out" true)"
        row 'ms for a recording of true' 'perf record' \
                "$(wall perf record -q -e raw_syscalls:sys_enter -o "$out" true)"
done
for _ in $(seq "$RUNS"); do
        call 'us for a session, create to destroy' 'over the bus' session 10 'bare tracefs calls'
        call 'us for a session, create to destroy' 'bare tracefs calls' bare 10
        call 'us for a call' 'bare sd-bus echo' call-echo 3000
        call 'us for a call' 'GetLimits' limits 3000 'bare sd-bus echo' 1.5
        "$BENCH/bus-cost" session 1000 >/dev/null 2>&1 &
        starting=$!
        call 'us for a call while sessions start' 'GetLimits' limits 3000 'bare sd-bus echo' 1.5
        call 'us for a call while sessions start' 'bare sd-bus echo' call-echo 3000
        kill $starting
        wait $starting 2>/dev/null || true
done
ktracectl create idle -e raw_syscalls:sys_enter -a >/dev/null
row 'kB of memory with an idle session' ktraced "$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$(daemon_pid)/status")" '' \
        8192
ktracectl destroy idle
