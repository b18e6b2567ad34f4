#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# libfuzzer.sh BUILD-DIR [SECONDS]: runs each fuzz target of a build with -Dlibfuzzer=true for SECONDS (60), two at a
# time, and prints TAP with the code that each one has reached. What they find is kept in BUILD-DIR/corpus/NAME, where
# the next run continues. An input that crashes is left in BUILD-DIR/crash-NAME-….
# GROW=1: afterwards the inputs that reach new code are added to tests/fuzz/corpus/NAME.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ "$1" = --one ] || export FUZZ_BUILD=$1 FUZZ_SECONDS=${2:-60}
build=$FUZZ_BUILD

# fuzz NAME: one target; a line of TAP.
fuzz() {
        local name=$1 program=$build/tests/fuzz/fuzz-$1 tree=$here/corpus/$1 log=$build/fuzz-$1.log status=0 edges
        mkdir -p "$build/corpus/$name"
        "$program" -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
                -artifact_prefix="$build/crash-$name-" "$build/corpus/$name" "$tree" >"$log" 2>&1 || status=$?
        edges=$(sed -nE 's/^INFO: Loaded .*\(([0-9]+) inline 8-bit counters\).*/\1/p' "$log")
        if [ "$status" = 0 ]; then
                echo "ok - fuzz-$name: $(sed -nE 's/^stat::number_of_executed_units: *//p' "$log") inputs, coverage" \
                        "$(sed -nE 's/.* cov: ([0-9]+) .*/\1/p' "$log" | tail -n 1) of $edges edges"
        else
                echo "not ok - fuzz-$name ended with status $status"
                tail -n 40 "$log" | sed 's/^/# /'
        fi
        [ -z "${GROW:-}" ] || "$program" -set_cover_merge=1 -use_counters=0 -max_len=8192 "$tree" \
                "$build/corpus/$name" >>"$log" 2>&1
}
if [ "$1" = --one ]; then
        fuzz "$2"
        exit
fi

names=$(find "$here" -name 'fuzz-*.c' | sed 's:.*/fuzz-::; s/\.c$//' | sort)
output=$(mktemp)
trap 'rm -f "$output"' EXIT
echo "$names" | xargs -P 2 -n 1 "$0" --one | tee "$output"
echo "1..$(echo "$names" | wc -l)"
! grep -q '^not ok ' "$output"
