#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What judging a filter costs the daemon: for each byte the same, however long it is and whatever it is made of.
set -eu -o pipefail
. "$BENCH_SOURCE/measure.sh"

for _ in $(seq "$RUNS"); do
        for shape in comparisons parentheses nots strings unknown; do
                for size in 64 512 2048; do
                        row "ns per byte of a filter: $shape" "$size bytes" "$("$BENCH/filter-cost" $shape $size)" \
                                '64 bytes' 1.2
                done
        done
done
