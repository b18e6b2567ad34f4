#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What real programs lose while all their system calls and the scheduler are recorded: the throughput of dbench (files)
# and tbench (sockets), and how many C files a second are compiled. A flight recorder set up by hand loses what the
# kernel itself takes; a tool should not take more. Then the CPU time of all processes of each tool.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
accounting_begin
out=$NATIVE/work/out.dat
events=(-e 'raw_syscalls:*' -e 'sched:*')
instance=$TRACING/instances/$PEER
enable='events/sched/sched_switch/enable'
BY_HAND='a flight recorder by hand'
tbench_srv >/dev/null 2>&1 &
server=$!
trap 'kill $server; accounting_end' EXIT

run() {
        "$BENCH_SOURCE/throughput.sh" "$program" "$(whole_or_quick 5 2)" "$(whole_or_quick 20 4)" "$NATIVE/work"
}
export -f run whole_or_quick

by_hand() { # COMMAND...
        mkdir "$instance"
        [ ! -e "$instance/buffer_subbuf_size_kb" ] || echo 64 >"$instance/buffer_subbuf_size_kb"
        echo 8192 >"$instance/buffer_size_kb"
        echo mono >"$instance/trace_clock"
        echo 1 >"$instance/events/raw_syscalls/enable"
        echo 1 >"$instance/events/sched/enable"
        "$@"
        echo 0 >"$instance/events/enable"
        rmdir "$instance"
}
flight() { # COMMAND...
        ktracectl create -q box --mode flight -a -b 8192 "${events[@]}" >/dev/null
        ktracectl start box
        "$@"
        ktracectl destroy box
}

# lost KIND WHAT THROUGHPUT [MOST]: beside the throughput without a tool, in $off, and by hand, in $hand. It can be near
# zero or below it, so there are no ratios: a peer's is a fact.
lost() {
        fact "% of throughput lost, $program" "$2" "$(calc "($off - $3) / $off * 100")"
        [ "$2" != "$BY_HAND" ] || return 0
        "${1/peer/fact}" "% lost beyond a recorder by hand, $program" "$2" "$(calc "($hand - $3) / $hand * 100")" \
                '' "${4:-null}"
}
# beside KIND WHAT READY TOOL...
beside() {
        local kind=$1 what=$2 ready=$3
        shift 3
        charge "$what, $program" "$ready" "$@" -o "$out" -- bash -c "run >$NATIVE/work/throughput"
        lost "$kind" "$what" "$(cat "$NATIVE/work/throughput")"
        "$kind" "CPU s a second of the tool, $program" "$what" "$(of "$ANSWER" '.cpu / .seconds')"
        rm -f "$out"
}

for _ in $(seq "$RUNS"); do
        for program in dbench tbench compile; do
                export program NATIVE
                off=$(run)
                hand=$(by_hand run)
                lost fact "$BY_HAND" "$hand"
                # The kernel does the same in both. 5 % is what dbench differs from itself on an idle machine.
                lost row 'ktracectl, flight recorder' "$(flight run)" 5
                beside row 'record -a -o t.dat' "$TRACING/instances/ktrace-*/$enable" \
                        ktracectl record -q -a -b 8192 "${events[@]}"
                beside peer 'trace-cmd record' "$TRACING/$enable" "${trace_cmd[@]}" "${events[@]}"
                tracing_on
                beside peer 'trace-cmd record -B -b 8192' "$TRACING/instances/$PEER/$enable" \
                        "${trace_cmd[@]}" -B $PEER -b 8192 "${events[@]}"
                beside peer 'perf record -m 8M -N -B' - "${perf_best[@]}" -a -m 8M "${events[@]}"
        done
done
