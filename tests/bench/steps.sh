#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where `ktracectl record -- true` spends its time, as a monitor of the bus sees it, and what the kernel needs for the
# same writes by hand. The steps together are the whole time. cold: the call starts the daemon.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
out=$NATIVE/work/out.dat
instance=$TRACING/instances/$PEER

whole='ms of record -- true'

stamp() { date +%s.%N; }

# recorded WHICH: a recording of true, with a row for each step.
recorded() {
        local begin end monitor
        dbus-monitor --address "$DBUS_SYSTEM_BUS_ADDRESS" --profile >"$NATIVE/work/calls" 2>/dev/null &
        monitor=$!
        # It prints what it is told about its own name.
        until grep -qs NameLost "$NATIVE/work/calls"; do sleep 0.05; done
        begin=$(stamp)
        ktracectl record -q -e $EVENT -o "$out" -- true
        end=$(stamp)
        sleep 0.1
        kill $monitor
        wait $monitor 2>/dev/null || true
        row "$whole" "$1" "$(calc "($end - $begin) * 1000")" 'the writes by hand'
        while IFS=$'\t' read -r step ms; do
                fact "ms of a step, $1" "$step" "$ms"
        done < <(awk -F'\t' -v begin="$begin" -v end="$end" -f "$BENCH_SOURCE/steps.awk" "$NATIVE/work/calls")
}

# step NAME COMMAND...: one step by hand.
step() {
        local name=$1 begin
        shift
        begin=$(date +%s%N)
        "$@"
        begin=$((($(date +%s%N) - begin) / 1000))
        total=$((total + begin))
        fact 'ms of a step by hand' "$name" "$(calc "$begin / 1000")"
}
put() { echo "$1" >"$instance/$2"; }
by_hand() {
        local total=0
        step 'mkdir' mkdir "$instance"
        [ ! -e "$instance/buffer_subbuf_size_kb" ] || step 'sub-buffers of 64 KB' put 64 buffer_subbuf_size_kb
        step 'buffer of 1 MB' put 1024 buffer_size_kb
        step 'clock' put mono trace_clock
        step 'option, pids, filter' fence
        step 'event on' put 1 $ENABLE
        step 'event off' put 0 $ENABLE
        step 'rmdir' rmdir "$instance"
        fact "$whole" 'the writes by hand' "$(calc "$total / 1000")"
}
fence() {
        put 1 options/event-fork
        put 4194304 set_event_pid
        put '!(common_flags & 88)' "events/raw_syscalls/sys_enter/filter"
}

for _ in $(seq "$RUNS"); do
        ktracectl status >/dev/null
        recorded 'the daemon runs'
        kill "$(daemon_pid)"
        while daemon_pid >/dev/null 2>&1; do sleep 0.02; done
        recorded 'cold'
        by_hand
done
