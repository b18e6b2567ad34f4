# SPDX-License-Identifier: LGPL-2.1-or-later
# Words of the benchmarks. The stage has set NATIVE and the bus; BENCH is the folder of their programs, RUNS how
# often each is repeated, the peers in turn.

# row METRIC WHAT VALUE [AGAINST RATIO | "" MOST]: one measured value for table.jq: the target is a ratio to
# another row of the metric, or a most of its own.
row() {
        jq -nc --arg metric "$1" --arg what "$2" --argjson value "$3" --arg against "${4:-}" \
                --argjson target "${5:-null}" \
                '{metric: $metric, what: $what, value: $value, against: $against, target: $target}'
}

# of JSON EXPRESSION: a number out of a program's answer.
of() { printf '%s' "$1" | jq "$2"; }

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

# trace-cmd in an instance of its own. It asks for function tracing even when none is wanted, which some hosts
# answer in a way that it does not survive: this mount namespace has a plain file there.
touch "$NATIVE/ftrace_enabled"
mountpoint -q /proc/sys/kernel/ftrace_enabled ||
        mount --bind "$NATIVE/ftrace_enabled" /proc/sys/kernel/ftrace_enabled
PEER=ktbench
PEER_ENABLE=/sys/kernel/tracing/instances/$PEER/events/raw_syscalls/sys_enter/enable
trace_cmd=(env "LD_PRELOAD=$BENCH/no-ftrace.so" trace-cmd record -q -B "$PEER" -C mono -e raw_syscalls:sys_enter)
