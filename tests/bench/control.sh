#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What asking the daemon costs at its two doors, in turn; and what it costs while another user sends specs that take
# long to judge, or starts sessions on a process whose threads come and go. And what eight sessions at once cost.
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
        fact "$1, p99" 'over Varlink' "$(of "$varlink" .p99)"
        fact "$1, p99" 'over the bus' "$(of "$bus" .p99)"
}

# AS_EXEC=exec in the background: so $! is the program and not a shell.
as_user() { ${AS_EXEC:-} setpriv --reuid=61000 --regid=61000 --clear-groups "$@"; }
cp "$BENCH/varlink-cost" "$NATIVE/bin/"

end_daemon() { # milliseconds; who started it may take its time until it asks for the exit status
        local pid begin
        pid=$(daemon_pid)
        begin=$(date +%s%N)
        kill "$pid"
        while [ -e "/proc/$pid" ] && ! grep -qs '^State:.Z' "/proc/$pid/status"; do sleep 0.002; done
        echo $((($(date +%s%N) - begin) / 1000000))
}

# Four connections of a user's, each with 100 entries syscalls:* in a spec.
beside_specs() {
        local hostile varlink bus
        AS_EXEC=exec as_user "$NATIVE/bin/varlink-cost" hostile "$socket" 100 &
        hostile=$!
        sleep 1
        varlink=$("$BENCH/varlink-cost" limits "$socket" 200)
        bus=$("$BENCH/bus-cost" limits 200)
        row "us for a call of root's beside long specs, p50" 'over Varlink' "$(of "$varlink" .p50)"
        row "us for a call of root's beside long specs, p50" 'over the bus' "$(of "$bus" .p50)"
        row "us for a call of root's beside long specs, p99" 'over Varlink' "$(of "$varlink" .p99)" '' 1000000
        row "us for a call of root's beside long specs, p99" 'over the bus' "$(of "$bus" .p99)" '' 1000000
        row 'ms from SIGTERM to the end' 'beside long specs' "$(end_daemon)" '' 1000
        kill "$hostile"
        wait "$hostile" 2>/dev/null || true
        ktracectl status >/dev/null
        row 'ms from SIGTERM to the end' 'idle' "$(end_daemon)"
        ktracectl status >/dev/null
}

beside_churn() {
        local target starter
        row 'us for CreateSession and Destroy, p50' 'idle' "$(of "$("$BENCH/varlink-cost" create "$socket" 10)" .p50)"
        AS_EXEC=exec as_user "$NATIVE/bin/target" churn 300 &
        target=$!
        while [ -e "/proc/$target" ]; do
                as_user timeout 5 ktracectl record -p "$target" -e raw_syscalls:sys_enter -o /dev/null >/dev/null \
                        2>&1 || true
        done &
        starter=$!
        sleep 1
        row 'us for CreateSession and Destroy, p50' "beside another user's thread churn" \
                "$(of "$("$BENCH/varlink-cost" create "$socket" 10)" .p50)" idle 2
        kill "$target"
        wait "$target" "$starter" 2>/dev/null || true
}

# in_eight FUNCTION: runs it in eight shells at once, with 1 to 8. Prints the milliseconds until all have ended.
in_eight() {
        local begin i pid pids=()
        begin=$(date +%s%N)
        for i in 1 2 3 4 5 6 7 8; do
                "$1" "$i" >/dev/null &
                pids+=($!)
        done
        for pid in "${pids[@]}"; do wait "$pid" || return; done
        echo $((($(date +%s%N) - begin) / 1000000))
}

# The writes of a session that records the whole system, with the client's default buffer.
eight_by_hand() {
        local instance=/sys/kernel/tracing/instances/$PEER$1
        mkdir "$instance"
        [ ! -e "$instance/buffer_subbuf_size_kb" ] || echo 64 >"$instance/buffer_subbuf_size_kb"
        echo 1024 >"$instance/buffer_size_kb"
        echo 0 >"$instance/options/overwrite"
        echo mono >"$instance/trace_clock"
        echo 0 >"$instance/events/enable"
        rmdir "$instance"
}
eight_sessions() {
        local id
        id=$(ktracectl create "eight$1" --scope system -e raw_syscalls:sys_enter) && ktracectl destroy "$id" || return
        while [ -e "/sys/kernel/tracing/instances/ktrace-$id" ]; do sleep 0.002; done
}
eight_at_once() {
        row 'ms for 8 sessions at once, create to rmdir' 'by hand in 8 shells' "$(in_eight eight_by_hand)"
        row 'ms for 8 sessions at once, create to rmdir' 'ktracectl' "$(in_eight eight_sessions)" \
                'by hand in 8 shells' 1.2
}

for _ in $(seq "$RUNS"); do
        eight_at_once
        beside_specs
        beside_churn
        costs 'us for a call' limits 3000 1
        costs 'us for a connection and a call' connect 300 1
        costs 'us for a session, create to destroy' session 10 null # the kernel's time
done
