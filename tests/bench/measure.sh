# SPDX-License-Identifier: LGPL-2.1-or-later
# Words of the benchmarks. The stage has set NATIVE and the bus; BENCH is the folder of their programs, RUNS how
# often each is repeated, the peers in turn. QUICK is "yes" with --quick.

# row METRIC WHAT VALUE [AGAINST RATIO | "" MOST]: one measured value for table.jq. Less is better. The target is a
# ratio to another row of the metric, or a most of its own.
row() { emit row "$@"; }
# peer ...: the same of a program that does the same work. A row also gets its ratio to the best of them.
peer() { emit peer "$@"; }
# fact ...: the same of what is beside it: the kernel's part by hand, a rate, a size. It is not judged by --against.
fact() { emit fact "$@"; }
emit() { # KIND METRIC WHAT VALUE [AGAINST [TARGET]]
        jq -nc --arg kind "$1" --arg metric "$2" --arg what "$3" --argjson value "$4" --arg against "${5:-}" \
                --argjson target "${6:-null}" '$ARGS.named'
}
# note TEXT: one line below the table, such as what this machine lacks.
note() { jq -nc --arg note "$1" '$ARGS.named'; }

# of JSON EXPRESSION: a number out of a program's answer.
of() { printf '%s' "$1" | jq "$2"; }
# calc EXPRESSION: its value.
calc() { jq -n "$1"; }
# whole_or_quick WHOLE QUICK: one of them.
whole_or_quick() { [ "$QUICK" = yes ] && echo "$2" || echo "$1"; }

# median NUMBERS (a line each)
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

wall() { # COMMAND...: milliseconds
        local begin
        begin=$(date +%s%N)
        "$@" >/dev/null 2>&1 || echo "bench: status $? from: $*" >&2
        echo $((($(date +%s%N) - begin) / 10000)) | awk '{ print $1 / 100 }'
}

daemon_pid() {
        busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus GetConnectionUnixProcessID s \
                org.ktrace1 | cut -d' ' -f2
}

# accounting_begin: from here on $ACCOUNT is a control group that holds the bus and all that it starts: the daemon and
# its consumers. tool-cost adds the tool, and reads what all of them have used. $WORKLOAD is one that does not count.
# Version 2 counts CPU time in each group without a controller, and may be mounted once more.
accounting_begin() {
        local groups=$NATIVE/cgroup
        mkdir "$groups"
        mount -t cgroup2 cgroup2 "$groups"
        ACCOUNTS=$(mktemp -d "$groups/ktrace-bench.XXXXXX")
        ACCOUNT=$ACCOUNTS/tool
        WORKLOAD=$ACCOUNTS/workload
        mkdir "$ACCOUNT" "$WORKLOAD"
        # A user's own recording starts its workload in the other group.
        chmod 755 "$ACCOUNTS"
        chmod 666 "$ACCOUNTS/cgroup.procs" "$WORKLOAD/cgroup.procs"
        trap accounting_end EXIT
        ktracectl status >/dev/null
        daemon_pid >"$ACCOUNT/cgroup.procs"
        cat "$NATIVE/bus.pid" >"$ACCOUNT/cgroup.procs"
}
accounting_end() {
        local group pid
        for group in "$ACCOUNT" "$WORKLOAD"; do
                # A process that is ending still holds the group.
                until rmdir "$group" 2>/dev/null; do
                        while read -r pid; do
                                echo "$pid" >"$NATIVE/cgroup/cgroup.procs" || true
                        done <"$group/cgroup.procs" 2>/dev/null
                        sleep 0.05
                done
        done
        rmdir "$ACCOUNTS"
        umount "$NATIVE/cgroup"
}
# charge WHAT READY COMMAND... -- [PRODUCER...]: sets ANSWER to what tool-cost prints. The figures of a run that lost
# events are too good: the table says so. perf ends by the signal.
charge() {
        local what=$1
        shift
        ANSWER=$("$BENCH/tool-cost" "$ACCOUNT" "$@" 2>>"$NATIVE/work/peers.log")
        case $(of "$ANSWER" .status) in
        0 | 130) ;;
        4) note "$what: lost events" ;;
        *) note "$what: failed with status $(of "$ANSWER" .status): its figures are void" ;;
        esac
}

# When the benchmark began, after it waited for other users of tracefs.
jq -nc "{begun: now}"

# trace-cmd in the configurations that are compared; more options follow. Its default is the machine's own buffer, which
# it leaves switched off. It asks for function tracing even when none is wanted, which some hosts answer in a way that
# it does not survive: this mount namespace has a plain file there.
touch "$NATIVE/ftrace_enabled"
mountpoint -q /proc/sys/kernel/ftrace_enabled ||
        mount --bind "$NATIVE/ftrace_enabled" /proc/sys/kernel/ftrace_enabled
PEER=ktbench
EVENT=raw_syscalls:sys_enter
TRACING=/sys/kernel/tracing
ENABLE=events/raw_syscalls/sys_enter/enable
trace_cmd=(env "LD_PRELOAD=$BENCH/no-ftrace.so" trace-cmd record -q)
# perf without a walk over all BPF programs and the build IDs of all files: a second of its default.
perf_best=(perf record -q -N -B --no-bpf-event)
tracing_on() { echo 1 >"$TRACING/tracing_on"; }
