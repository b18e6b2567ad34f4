#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What being traced costs the workload: nanoseconds added to a system call in a loop. --quick leaves out perf's default.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
N=$(whole_or_quick 4000000 500000)
metric='ns added per event'
instance=/sys/kernel/tracing/instances/$PEER
sys_enter=$instance/events/raw_syscalls/sys_enter
install -d -o 61000 "$NATIVE/user"
cp "$BENCH/spin" "$NATIVE/bin/"

added() { # WHAT TIME-OF-A-CALL [MOST-BEYOND BARE-ROW]
        ${KIND:-row} "$metric" "$1" "$(jq -n "$2 - $off")"
        [ $# -lt 3 ] || row "$metric beyond the bare instance" "$1" "$(jq -n "$2 - $4")" '' "$3"
}

bare() { # COMMAND...: in an instance that nobody reads; fenced as a user's session is when FENCED is set
        mkdir "$instance"
        echo 64 >"$instance/buffer_subbuf_size_kb" 2>/dev/null || true
        echo 8192 >"$instance/buffer_size_kb"
        echo mono >"$instance/trace_clock"
        if [ -n "${FENCED:-}" ]; then
                echo 1 >"$instance/options/event-fork"
                echo $BASHPID 4194304 >"$instance/set_event_pid"
                echo '!(common_flags & 88)' >"$sys_enter/filter"
        fi
        echo 1 >"$sys_enter/enable"
        "$@"
        echo 0 >"$sys_enter/enable"
        rmdir "$instance"
}

system_wide() {
        ktracectl record -q -a -b 8192 -e raw_syscalls:sys_enter -o "$NATIVE/work/out.kts" &
        local recorder=$!
        until grep -qs 1 $TRACING/instances/ktrace-*/$ENABLE; do sleep 0.02; done
        "$BENCH/spin" $N
        kill -INT $recorder
        wait $recorder || true
}

# trace-cmd keeps the output of its command for itself.
trace_cmd_spin() { # [OPTION...]
        "${trace_cmd[@]}" "$@" -e $EVENT -o "$NATIVE/work/out" \
                bash -c "$BENCH/spin $N >$NATIVE/work/spin" >/dev/null 2>>"$NATIVE/work/peers.log"
        cat "$NATIVE/work/spin"
}

for _ in $(seq "$RUNS"); do
        off=$("$BENCH/spin" $N)
        fact 'ns of the call itself' getppid "$off"
        plain=$(bare "$BENCH/spin" $N)
        KIND=fact added 'bare instance' "$plain"
        added 'ktracectl record -a' "$(system_wide)" 10 "$plain"
        fenced=$(FENCED=1 bare "$BENCH/spin" $N)
        KIND=fact added "bare instance, fenced as a user's" "$fenced"
        added 'ktracectl record -- COMMAND' "$(setpriv --reuid=61000 --regid=61000 --clear-groups \
                ktracectl record -q -b 8192 -e raw_syscalls:sys_enter -o "$NATIVE/user/out.kts" \
                -- spin $N)" 10 "$fenced"
        [ "$QUICK" = yes ] || KIND=peer added 'perf record' \
                "$(perf record -q -e raw_syscalls:sys_enter -o "$NATIVE/work/out" "$BENCH/spin" $N)"
        KIND=peer added 'perf record -m 8M -N -B' \
                "$("${perf_best[@]}" -m 8M -e raw_syscalls:sys_enter -o "$NATIVE/work/out" "$BENCH/spin" $N)"
        KIND=peer added 'trace-cmd record' "$(trace_cmd_spin)"
        tracing_on
        KIND=peer added 'trace-cmd record -B -b 8192' "$(trace_cmd_spin -B $PEER -b 8192)"
done
