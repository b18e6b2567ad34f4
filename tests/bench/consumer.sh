#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a recording costs: raw_syscalls:sys_enter of the whole system into a file, with the defaults of each program, and
# with 8 MB and 1 MB per CPU; then of one user's own command. CPU time is that of all processes but the workload: the
# bus, the daemon, the consumer, the client with its export, or the peer and its children.
# --quick measures 8 MB and one user's command, without perf, and a run without events once.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
accounting_begin
N=$(whole_or_quick 5000000 2000000)
PEER_NONE='trace-cmd --compression none'
PEER_ZSTD='trace-cmd (zstd)'
PEER_DEFAULT='trace-cmd record'
PEER_FENCED='trace-cmd record -F -c'
out=$NATIVE/work/out
bin=$NATIVE/bin
user=$NATIVE/user
install -d -o 61000 "$user"
cp "$BENCH/spin" "$bin/"
printf '#!/bin/sh\necho 0 >%s/cgroup.procs\nexec "$@"\n' "$WORKLOAD" >"$bin/outside"
chmod 755 "$bin/outside"
declare -A without

consumer() { # SUBBUF_KB PRODUCERS...
        local subbuf=$1
        shift
        "$BENCH/consumer-cost" "$bin/ktrace-consumer" ktrace-consumer "$subbuf" 8192 "$out" "$@" 2>/dev/null
}

# compare KIND AGAINST TARGET SIZE-TARGET READY FILE COMMAND...: the cost of a run without events is a row of its own.
compare() {
        local kind=$1 against=$2 target=$3 most=$4 ready=$5 file=$6 full
        shift 6
        charge "$what, $label" "$ready" "$@" -- "$BENCH/spin" $N
        full=$(of "$ANSWER" .cpu)
        "$kind" "bytes on disk per event, $label" "$what" "$(calc "$(stat -c %s "$file") / $N")" "$against" "$most"
        if [ "$QUICK" = no ] || [ -z "${without[$label, $what]:-}" ]; then
                charge "$what, $label" "$ready" "$@" --
                without[$label, $what]=$(of "$ANSWER" .cpu)
                "$kind" "CPU s of a run without events, $label" "$what" "${without[$label, $what]}" "$against"
        fi
        rm -f "$file"
        "$kind" "CPU s per million events, $label" "$what" \
                "$(calc "($full - ${without[$label, $what]}) / $N * 1e6")" "$against" "$target"
}

# product WHAT AGAINST TARGET SIZE-TARGET FILE [OPTION...]
product() {
        local what=$1 against=$2 target=$3 most=$4 file=$5
        shift 5
        compare row "$against" "$target" "$most" "$TRACING/instances/ktrace-*/$ENABLE" "$file" \
                ktracectl record -q -a -e $EVENT "$@" -o "$file"
}
tracecmd() { # WHAT [OPTION...]: in an instance of its own, as ktraced does
        local what=$1
        shift
        compare peer '' null null "$TRACING/instances/$PEER/$ENABLE" "$out" \
                "${trace_cmd[@]}" -B $PEER -e $EVENT "$@" -o "$out"
}

# As each program is started without further thought.
defaults() {
        local label=defaults what
        product 'record -o t.dat' "$PEER_DEFAULT" 0.5 1.1 "$out.dat"
        product 'record -o t.kts' "$PEER_DEFAULT" 0.35 null "$out.kts"
        what=$PEER_DEFAULT
        compare peer '' null null "$TRACING/$ENABLE" "$out" "${trace_cmd[@]}" -e $EVENT -o "$out"
        tracing_on
        what='perf record'
        compare peer '' null null - "$out" perf record -q -a -e $EVENT -o "$out"
}

sized() { # KB per CPU
        local label="$1 KB" what
        product 'record -o t.dat' "$PEER_ZSTD" 0.5 1.1 "$out.dat" -b "$1"
        product 'record -o t.dat --compression none' "$PEER_NONE" 0.5 1.1 "$out.dat" -b "$1" --compression none
        product 'record -o t.kts' "$PEER_ZSTD" 0.35 null "$out.kts" -b "$1"
        product 'record -o t.kts --compression zstd' "$PEER_ZSTD" null 1.1 "$out.kts" -b "$1" --compression zstd
        tracecmd "$PEER_NONE" -b "$1" --compression none
        tracecmd "$PEER_ZSTD" -b "$1"
        [ "$QUICK" = no ] || return 0
        what="perf record -m $1K -N -B"
        compare peer '' null null - "$out" "${perf_best[@]}" -a -m "$1K" -e $EVENT -o "$out"
}

# fenced_run KIND WHAT FILE AGAINST TARGET COMMAND...: COMMAND runs what is traced, in the other group.
fenced_run() {
        local kind=$1 what=$2 file=$3 against=$4 target=$5 label='own command, 8192 KB' full
        shift 5
        charge "$what, $label" end "$@" "$bin/outside" "$bin/spin" $N --
        full=$(of "$ANSWER" .cpu)
        if [ "$QUICK" = no ] || [ -z "${without[$label, $what]:-}" ]; then
                charge "$what, $label" end "$@" "$bin/outside" true --
                without[$label, $what]=$(of "$ANSWER" .cpu)
        fi
        rm -f "$file"
        "$kind" "CPU s per million events, $label" "$what" \
                "$(calc "($full - ${without[$label, $what]}) / $N * 1e6")" "$against" "$target"
}
as_user() { echo setpriv --reuid=61000 --regid=61000 --clear-groups ktracectl record -q -b 8192 -e $EVENT; }
fenced() {
        # shellcheck disable=SC2046 # words are wanted
        fenced_run row "a user's record -o t.dat" "$user/out.dat" "$PEER_FENCED" 0.35 $(as_user) -o "$user/out.dat" --
        # shellcheck disable=SC2046 # words are wanted
        fenced_run row "a user's record -o t.kts" "$user/out.kts" "$PEER_FENCED" 0.35 $(as_user) -o "$user/out.kts" --
        fenced_run peer "$PEER_FENCED" "$out" '' null "${trace_cmd[@]}" -B $PEER -b 8192 -e $EVENT -F -c -o "$out"
        [ "$QUICK" = no ] || return 0
        fenced_run peer 'perf record -m 8M -N -B' "$out" '' null "${perf_best[@]}" -m 8M -e $EVENT -o "$out"
}

# The consumer alone, on a bare instance.
own() { # SUBBUF_KB
        local full none what="ktrace-consumer, $1K"
        full=$(consumer "$1" -- "$BENCH/spin" $N)
        none=$(consumer "$1" -- true)
        row 'CPU s per million events, consumer alone' "$what" \
                "$(calc "($(of "$full" .cpu) - $(of "$none" .cpu)) / $N * 1e6")"
        fact 'CPU s per GB' "$what" "$(of "$full" '.cpu / .bytes * 1e9')"
        row 'bytes on disk per event, consumer alone' "$what" "$(of "$full" '.bytes / .events')" ring 1.05
        row 'events lost, one producer at full speed' "$what" "$(of "$full" .lost)" '' 0
}

ring_bytes() { # of an event in the ring, page headers included, nobody reading
        local instance=$TRACING/instances/$PEER
        mkdir "$instance"
        echo 65536 >"$instance/buffer_size_kb"
        echo 1 >"$instance/$ENABLE"
        "$BENCH/spin" 500000 >/dev/null
        echo 0 >"$instance/$ENABLE"
        cat "$instance"/per_cpu/cpu*/stats |
                awk '/^entries:/ { n += $2 } /^bytes:/ { b += $2 } END { print b / n * 4096 / 4080 }'
        rmdir "$instance"
}

saturated() {
        local paced both
        paced=$(consumer 64 -- "$BENCH/spin" 3000000 1000)
        row 'wake-ups a second at 1,000,000 events/s' 'ktrace-consumer, 64K' "$(of "$paced" '.switches / .seconds')" \
                '' 100
        both=$(consumer 64 -- "$BENCH/spin" 5000000 0 0 -- "$BENCH/spin" 5000000 0 1)
        row 'events lost, both CPUs saturated' 'ktrace-consumer, 64K' "$(of "$both" .lost)" '' 0
        fact 'events/s, both CPUs saturated' 'ktrace-consumer, 64K' "$(of "$both" '.events / .seconds | round')"
}

[ "$QUICK" = yes ] || fact 'bytes on disk per event, consumer alone' ring "$(ring_bytes)"
for _ in $(seq "$RUNS"); do
        sized 8192
        fenced
        [ "$QUICK" = no ] || continue
        own 4
        own 64
        defaults
        sized 1024
        saturated
done
[ "$QUICK" = no ] || exit 0
idle=$(consumer 64)
fact 'context switches of a run with 5 idle seconds' 'ktrace-consumer, 64K' "$(of "$idle" .switches)"
