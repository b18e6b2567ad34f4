#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the fence around a user's session costs: the process that is traced, everybody else on the machine, whoever
# starts a session; and how long a session lives on once its guard has fired. Beside instances made by hand with the
# same events, pid list and filter, in the same run.
#
# Figures of Linux 6.18 with 2 CPUs, where a bare getppid takes 76 ns of CPU time; by hand, then with ktraced:
#   added to a call that is traced: 77 ns, 83 ns
#   added to a call of another process, with 1, 4, 16 running sessions: 9, 65, 282 ns; 9, 64, 284 ns
#   create to destroy: 92 ms; 112 ms for a session of root for the whole system, 160 ms for a fenced one of a user
#   from the guard's stop to the client's notice and the removal of the instance: 112 ms
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
N=$(whole_or_quick 2000000 500000)
CPU=0
traced='ns of CPU time added per traced call'
others='ns of CPU time added per call of anybody else'
life='us for a session, create to destroy'
T=$NATIVE/user
install -d -o 61000 "$T"
cp "$BENCH/spin" "$BENCH/bus-cost" "$NATIVE/bin/"

as() { # UID [exec] COMMAND...: with exec the shell's own process, so that $! is the command's pid
        local uid=$1 exec=
        shift
        [ "$1" != exec ] || {
                exec=exec
                shift
        }
        $exec setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs "$@"
}
measured() { "$NATIVE/bin/spin" $N 0 $CPU; }

# What is listed in the sessions that are to cost others: they do nothing.
sleeper() { # UID
        as "$1" exec sleep 3600 >/dev/null &
        SLEEPER=$!
        sleepers+=("$SLEEPER")
        until [ "$(cat "/proc/$SLEEPER/comm")" = sleep ]; do sleep 0.01; done
}
sleepers=()
trap 'kill "${sleepers[@]}" 2>/dev/null || true; clear_bare' EXIT

clear_bare() {
        local instance
        for instance in /sys/kernel/tracing/instances/"$PEER"*; do
                [ ! -d "$instance" ] || { echo 0 >"$instance/events/enable"; rmdir "$instance"; }
        done
}

# The kernel's part of what a fenced session is, in the order of the daemon's plan.
bare() { # NAME PID
        local instance=/sys/kernel/tracing/instances/$1 event
        mkdir "$instance"
        echo 64 >"$instance/buffer_subbuf_size_kb" 2>/dev/null || true
        echo 1024 >"$instance/buffer_size_kb"
        echo mono >"$instance/trace_clock"
        echo 1 >"$instance/options/event-fork"
        echo 4194304 "$2" >"$instance/set_event_pid"
        for event in sched/sched_process_fork sched/sched_process_exit raw_syscalls/sys_enter; do
                echo '!(common_flags & 88)' >"$instance/events/$event/filter"
                echo 1 >"$instance/events/$event/enable"
        done
}

session() { # NAME UID PID
        as "$2" ktracectl create "$1" -b 1024 --scope "pids:$3" -e raw_syscalls:sys_enter >/dev/null
        as "$2" ktracectl start "$1"
}

# The producer of a session, in each of the ways.
trace_producer() {
        local off bare_nsec
        off=$(measured)
        fact 'ns of CPU time of the call itself' getppid "$off"
        bare_nsec=$(
                bare "$PEER" $BASHPID
                exec "$NATIVE/bin/spin" $N 0 $CPU
        )
        clear_bare
        fact "$traced" 'fenced by hand' "$(jq -n "$bare_nsec - $off")"
        row "$traced" "ktracectl record as a user" "$(jq -n "$(as 61000 ktracectl record -q -b 8192 \
                -e raw_syscalls:sys_enter -o "$T/out.kts" -- spin $N 0 $CPU) - $off")" 'fenced by hand' 1.1
}

# Everybody else, while N sessions of other processes are on: of two users, neither may have so many alone.
burden_others() { # N
        local n=$1 off uid i
        off=$(measured)
        sleeper 61000
        for i in $(seq "$n"); do bare "$PEER$i" "$SLEEPER"; done
        fact "$others: $n on" 'instances fenced by hand' "$(jq -n "$(measured) - $off")"
        clear_bare
        off=$(measured)
        for i in $(seq "$n"); do
                uid=$((61000 + i % 2))
                sleeper $uid
                session "other$i" $uid "$SLEEPER"
        done
        row "$others: $n on" "users' sessions" "$(jq -n "$(measured) - $off")" 'instances fenced by hand' 1.15
        for i in $(seq "$n"); do as $((61000 + i % 2)) ktracectl destroy "other$i"; done
}

live() { # WHAT MODE COMMAND...
        local what=$1 mode=$2
        shift 2
        row "$life" "$what" "$(of "$("$@" "$NATIVE/bin/bus-cost" "$mode" 10)" .p50)" \
                "$([ "$mode" = bare ] || echo 'bare tracefs calls')"
}

milliseconds() { date +%s%N | sed 's/.....$//; s/.$/.&/'; }

# From tracing off, whoever switched it off, until the client has been told and the instance is gone.
end_by_guard() {
        local recorder instance begin
        sleeper 61000
        as 61000 ktracectl record -q -p "$SLEEPER" -e raw_syscalls:sys_enter -o "$T/guard.kts" 2>/dev/null &
        recorder=$!
        until instance=$(compgen -G '/sys/kernel/tracing/instances/ktrace-*') &&
                [ "$(cat "$instance/events/raw_syscalls/sys_enter/enable")" != 0 ]; do sleep 0.05; done
        sleep "0.$RANDOM"
        begin=$(milliseconds)
        echo 0 >"$instance/tracing_on"
        wait $recorder || true
        while [ -d "$instance" ]; do sleep 0.001; done
        row 'ms from tracing off to the end of the session' "a user's session" "$(jq -n "$(milliseconds) - $begin")" \
                '' 500
}

for _ in $(seq "$RUNS"); do
        trace_producer
        for n in 1 4 16; do burden_others $n; done
        live 'bare tracefs calls' bare
        live "root's, of the system" session
        live "a user's, fenced" fenced as 61000
        end_by_guard
done
