#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# compile.sh N FOLDER: compiles the same C file N times, one after the other: a workload with many processes. The file
# belongs to the benchmarks, so that each machine has it.
set -eu
for i in $(seq "$1"); do
        cc -D_GNU_SOURCE -O2 -c -o "$2/compiled-$i.o" "$(dirname "$0")/spin.c"
        rm -f "$2/compiled-$i.o"
done
