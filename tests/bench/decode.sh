#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What printing a recording costs, beside trace-cmd's report of the same records. CPU time counts, not elapsed time.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
N=1000000
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
}

printed() { # WHAT TARGET COMMAND..., of $events records of $event
        local what=$1 target=$2
        shift 2
        row "CPU s per million $event" "$what" "$(jq -n "$(cpu "$@") / $events * 1e6")" "$PEER" "$target"
}

compare() {
        events=$(ktracectl convert "$out.kts" --to json | grep -c '"event":')
        for _ in $(seq "$RUNS"); do
                printed "$PEER" null trace-cmd report "$out.dat"
                printed 'ktracectl report' 0.2 ktracectl report "$out.kts"
                printed 'ktracectl report --json' 0.2 ktracectl report --json "$out.kts"
        done
}

event=raw_syscalls:sys_enter
recorded "$event" "$BENCH/spin" $N
compare
event=sched:sched_switch
recorded "$event" perf bench sched pipe -l $((N / 4))
compare
rm -f "$out.kts" "$out.dat"
