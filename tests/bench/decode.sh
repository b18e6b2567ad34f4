#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What printing a recording costs, beside trace-cmd's report of the same records, and perf's of as many. CPU time of all
# threads counts, not elapsed time. trace-cmd gets a compressed file, its default, and one that is not. The library
# reads three fields of each record.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
N=$(whole_or_quick 1000000 100000)
PEER='trace-cmd report'
out=$NATIVE/work/out

cpu() { # COMMAND...: seconds
        local TIMEFORMAT='%U %S'
        { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }'
}

recorded() { # EVENT COMMAND...
        local event=$1
        shift
        ktracectl record -q -a -b 16384 -e "$event" -o "$out.kts" -- "$@" >/dev/null
        ktracectl convert "$out.kts" -o "$out.dat"
        ktracectl convert "$out.kts" --compression none -o "$out.plain.dat"
        "${perf_best[@]}" -a -m 16M -e "$event" -o "$out.perf" -- "$@" >/dev/null 2>&1
}

# printed KIND WHAT TARGET COMMAND...: of $events records of $event
printed() {
        local kind=$1 what=$2 target=$3
        shift 3
        "$kind" "CPU s per million $event" "$what" "$(calc "$(cpu "$@") / $events * 1e6")" "$PEER" "$target"
}

# compare FIELD...: numbers of the event, for the library.
compare() {
        local events perf_events
        events=$(ktracectl convert "$out.kts" --to json | grep -c '"event":')
        perf_events=$(perf script -i "$out.perf" -F event 2>/dev/null | wc -l)
        for _ in $(seq "$RUNS"); do
                printed peer "$PEER" null trace-cmd report "$out.dat"
                printed peer 'trace-cmd report, not compressed' null trace-cmd report "$out.plain.dat"
                events=$perf_events printed peer 'perf script' null perf script -i "$out.perf"
                printed row 'ktracectl report' 0.2 ktracectl report "$out.kts"
                printed row 'ktracectl report --json' 0.2 ktracectl report --json "$out.kts"
                row "CPU s per million $event" "libktrace, three fields" \
                        "$(calc "$(cpu "$BENCH/library-cost" "$out.kts" "$event" "$@") / $events * 1e6")" '' 0.05
        done
}

event=raw_syscalls:sys_enter
recorded "$event" "$BENCH/spin" "$N"
compare id id id
event=sched:sched_switch
recorded "$event" perf bench sched pipe -l $((N / 4))
compare prev_pid next_pid next_prio
rm -f "$out".*
