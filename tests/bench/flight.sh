#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a flight recorder costs whoever is traced, beside an instance made by hand that overwrites too; how long a
# snapshot of some 16 MB takes, beside reading the same rings with dd; what 16 recorders of other events add.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
N=$(whole_or_quick 2000000 500000)
KB=8192
added='ns added per event'
taken='ms for a snapshot of all rings'
many='ns of a call that nobody records'
instance=/sys/kernel/tracing/instances/$PEER
sys_enter=$instance/events/raw_syscalls/sys_enter
CPUS=$(nproc)
others=(sched:sched_process_{fork,exec,exit,wait,free} signal:signal_{generate,deliver} task:task_{newtask,rename} \
        oom:mark_victim
        timer:itimer_{state,expire} workqueue:workqueue_{queue_work,execute_start} writeback:writeback_{start,exec})

bare_begin() {
        mkdir "$instance"
        echo 64 >"$instance/buffer_subbuf_size_kb" 2>/dev/null || true
        echo $KB >"$instance/buffer_size_kb"
        echo mono >"$instance/trace_clock"
        echo 1 >"$instance/options/overwrite"
        echo 1 >"$sys_enter/enable"
}
bare_end() {
        echo 0 >"$sys_enter/enable"
        rmdir "$instance"
}
flight_begin() { # NAME EVENT
        ktracectl create -q "$1" --mode flight -a -b $KB -e "$2" >/dev/null
        ktracectl start "$1"
}
# Each CPU's ring, full.
fill() { for cpu in $(seq 0 $((CPUS - 1))); do "$BENCH/spin" 600000 0 "$cpu" >/dev/null; done; }
# dd, since cat waits for more where a ring is empty.
read_rings() {
        for raw in "$instance"/per_cpu/cpu*/trace_pipe_raw; do
                dd if="$raw" of="$NATIVE/work/bare" bs=64K iflag=nonblock oflag=append conv=notrunc 2>/dev/null || true
        done
}

for _ in $(seq "$RUNS"); do
        off=$("$BENCH/spin" $N)
        bare_begin
        fact "$added" 'bare instance' "$(jq -n "$("$BENCH/spin" $N) - $off")"
        fill
        echo 0 >"$sys_enter/enable"
        rm -f "$NATIVE/work/bare"
        fact "$taken" 'dd of the rings' "$(wall read_rings)"
        bytes=$(stat -c %s "$NATIVE/work/bare")
        bare_end
        flight_begin box raw_syscalls:sys_enter
        row "$added" 'flight recorder' "$(jq -n "$("$BENCH/spin" $N) - $off")" 'bare instance' 1.1
        fill
        ktracectl set box raw_syscalls:sys_enter off
        rm -f "$NATIVE/work"/box.*
        row "$taken" 'ktracectl snapshot' "$(wall ktracectl snapshot -q box -o "$NATIVE/work/box.kts")" \
                'dd of the rings' 1.3
        row "$taken" 'ktracectl snapshot, .dat' \
                "$(wall ktracectl snapshot -q box -o "$NATIVE/work/box.dat")" 'dd of the rings' 2
        fact 'MB in a snapshot' 'dd of the rings' "$(jq -n "$bytes / 1e6")"
        fact 'MB in a snapshot' 'ktracectl snapshot' "$(jq -n "$(stat -c %s "$NATIVE/work/box.kts") / 1e6")"
        ktracectl destroy box
        fact "$many" 'no session' "$off"
        for i in $(seq 16); do flight_begin "box$i" "${others[$((i - 1))]}"; done
        row "$many" '16 flight recorders of others' "$("$BENCH/spin" $N)" 'no session' 1.1
        for i in $(seq 16); do ktracectl destroy "box$i"; done
done
