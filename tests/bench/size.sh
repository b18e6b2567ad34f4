#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How large the files of a recording are, in bytes for each event in them: of one call in a loop, which packs well, and
# of the system calls and the scheduler while C files are compiled. With buffers of 8 MB and 1 MB per CPU.
# --quick measures a compilation with 8 MB.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"
out=$NATIVE/work/out

declare -A workloads=([compile]="$BENCH_SOURCE/compile.sh $(whole_or_quick 8 4) $NATIVE/work")
[ "$QUICK" = yes ] || workloads['one call']="$BENCH/spin 2000000"

# sized KIND WHAT AGAINST TARGET FILE COMMAND...
sized() {
        local kind=$1 what=$2 against=$3 target=$4 file=$5 n
        shift 5
        # shellcheck disable=SC2086 # words are wanted
        "$@" "${events[@]}" -o "$file" -- ${workloads[$workload]} >/dev/null 2>>"$NATIVE/work/peers.log" ||
                case $? in
                4) note "size: $what lost events: $workload, $kb KB" ;;
                *) note "size: $what failed: $workload, $kb KB" ;;
                esac
        case $file in
        *.perf) n=$(perf script -i "$file" -F event 2>/dev/null | wc -l) ;;
        *) n=$(ktracectl convert "$file" --to json | grep -c '"event":') ;;
        esac
        "$kind" "bytes per event, $workload, $kb KB" "$what" "$(calc "$(stat -c %s "$file") / $n")" "$against" "$target"
        rm -f "$file"
}

compare() {
        local events=(-e $EVENT) own=(ktracectl record -q -a -b "$kb") theirs=("${trace_cmd[@]}" -B $PEER -b "$kb")
        [ "$workload" != compile ] || events=(-e 'raw_syscalls:*' -e 'sched:*')
        sized row 'record -o t.dat' 'trace-cmd (zstd)' 1.1 "$out.dat" "${own[@]}"
        sized row 'record -o t.dat --compression none' 'trace-cmd --compression none' 1.1 "$out.dat" \
                "${own[@]}" --compression none
        sized row 'record -o t.kts' 'trace-cmd --compression none' null "$out.kts" "${own[@]}"
        sized row 'record -o t.kts --compression zstd' 'trace-cmd (zstd)' null "$out.kts" "${own[@]}" --compression zstd
        sized peer 'trace-cmd (zstd)' '' null "$out.dat" "${theirs[@]}"
        sized peer 'trace-cmd --compression none' '' null "$out.dat" "${theirs[@]}" --compression none
        [ "$QUICK" = yes ] || sized peer 'perf record' '' null "$out.perf" "${perf_best[@]}" -a -m "${kb}K"
}

for _ in $(seq "$RUNS"); do
        for kb in $(whole_or_quick '8192 1024' 8192); do
                for workload in "${!workloads[@]}"; do compare; done
        done
done
