#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How long one waits: for a recording of `true`, for a session, for an answer, and from an event to its line on a
# terminal. trace-cmd and perf in their defaults and in the fastest form that records the same: perf's default walks
# over all BPF programs for a second. --quick leaves out perf's default, -F, -B, and calls while sessions start.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
out=$NATIVE/work/out

"$BENCH/bus-cost" echo &
echo_server=$!
trap 'kill $echo_server' EXIT
CALLS=$(whole_or_quick 3000 500)
SESSIONS=$(whole_or_quick 10 3)
ktracectl status >/dev/null

call() { # METRIC WHAT MODE N AGAINST TARGET
        local answer
        answer=$("$BENCH/bus-cost" "$3" "$4")
        ${KIND:-row} "$1, p50" "$2" "$(of "$answer" .p50)" "${5:-}" "${6:-null}"
        fact "$1, p99" "$2" "$(of "$answer" .p99)"
}

# Nothing of the run before remains to be done: its instance is removed, and others are ready.
is_settled() {
        ktracectl status --json=short | jq -e '.daemon | .sessions == 0 and (.prepared | length == 2)' &&
                [ "$(find "$TRACING/instances" -maxdepth 1 -name 'ktrace-*' | wc -l)" = 2 ]
}
record() { # KIND WHAT AGAINST TARGET COMMAND...
        local kind=$1 what=$2 against=$3 target=$4
        shift 4
        [ "$1" != ktracectl ] || ! daemon_pid >/dev/null 2>&1 || until is_settled >/dev/null; do sleep 0.05; done
        "$kind" 'ms for a recording of true' "$what" "$(wall "$@")" "$against" "$target"
}
cold() { # COMMAND...: which starts the daemon
        kill "$(daemon_pid)"
        while daemon_pid >/dev/null 2>&1; do sleep 0.02; done
        "$@"
}
# Only a first session lets the daemon prepare instances.
ktracectl record -q -e $EVENT -o "$out.dat" -- true
for _ in $(seq "$(whole_or_quick $((RUNS * 3)) "$RUNS")"); do
        record row 'record -o t.dat' 'trace-cmd record' 0.25 ktracectl record -q -e $EVENT -o "$out.dat" -- true
        record row 'record -o t.kts' 'trace-cmd record' 0.25 ktracectl record -q -e $EVENT -o "$out.kts" -- true
        record row 'record -a -o t.dat' 'trace-cmd record' 0.5 ktracectl record -q -a -e $EVENT -o "$out.dat" -- true
        cold record row 'record -o t.dat, starts the daemon' 'trace-cmd record' 0.5 \
                ktracectl record -q -e $EVENT -o "$out.dat" -- true
        record peer 'trace-cmd record' '' null "${trace_cmd[@]}" -e $EVENT -o "$out" true
        tracing_on
        record peer 'trace-cmd record --compression none' '' null \
                "${trace_cmd[@]}" -e $EVENT --compression none -o "$out" true
        tracing_on
        record peer 'perf record -N -B --no-bpf-event' '' null "${perf_best[@]}" -e $EVENT -o "$out" true
        [ "$QUICK" = no ] || continue
        record peer 'trace-cmd record -F' '' null "${trace_cmd[@]}" -e $EVENT -F -o "$out" true
        tracing_on
        record peer 'trace-cmd record -B' '' null "${trace_cmd[@]}" -B $PEER -e $EVENT -o "$out" true
        record peer 'perf record' '' null perf record -q -e $EVENT -o "$out" true
done
for _ in $(seq "$RUNS"); do
        call 'us for a session, create to destroy' 'over the bus' session "$SESSIONS" 'bare tracefs calls'
        KIND=fact call 'us for a session, create to destroy' 'bare tracefs calls' bare "$SESSIONS"
        KIND=fact call 'us for a call' 'bare sd-bus echo' call-echo $CALLS
        call 'us for a call' 'GetLimits' limits $CALLS 'bare sd-bus echo' 1.5
        [ "$QUICK" = no ] || continue
        "$BENCH/bus-cost" session 1000 >/dev/null 2>&1 &
        starting=$!
        call 'us for a call while sessions start' 'GetLimits' limits $CALLS 'bare sd-bus echo' 1.5
        KIND=fact call 'us for a call while sessions start' 'bare sd-bus echo' call-echo $CALLS
        kill $starting
        wait $starting 2>/dev/null || true
done

# From a system call to its line on a terminal, 20 calls a second; the second one of a user's own process.
for _ in $(seq "$RUNS"); do
        answer=$("$BENCH_SOURCE/line-latency.py" "$(whole_or_quick 60 20)" -a)
        row 'ms from an event to its line, p50' 'record -a -o -' "$(of "$answer" .p50)" '' 20
        row 'ms from an event to its line, p90' 'record -a -o -' "$(of "$answer" .p90)"
        answer=$(setpriv --reuid=61000 --regid=61000 --clear-groups --no-new-privs \
                "$BENCH_SOURCE/line-latency.py" "$(whole_or_quick 60 20)")
        row 'ms from an event to its line, p50' "a user's record -p PID -o -" "$(of "$answer" .p50)" '' 50
        row 'ms from an event to its line, p90' "a user's record -p PID -o -" "$(of "$answer" .p90)"
done

# A stream that nobody writes to: context switches of the daemon, its consumers and the client.
ktracectl record -q -a -e $EVENT -f 'id == 1000' -o "$out.kts" 2>/dev/null &
recorder=$!
until grep -qs 1 $TRACING/instances/ktrace-*/$ENABLE; do sleep 0.05; done
sleep 1
switches() {
        local pid
        for pid in "$recorder" "$daemon" $(pgrep -P "$daemon" || true); do cat "/proc/$pid/task"/*/status; done |
                awk '/^voluntary_ctxt_switches/ { n += $2 } END { print n }'
}
daemon=$(daemon_pid)
for _ in $(seq "$RUNS"); do
        row 'kB of memory with an idle session' ktraced \
                "$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$daemon/status")" '' 8192
done
before=$(switches)
seconds=$(whole_or_quick 10 3)
sleep "$seconds"
row "wake-ups in $seconds s, an idle stream" 'daemon, consumer and client' "$(($(switches) - before))" '' 0
kill -INT $recorder
wait $recorder
