#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# throughput.sh dbench|tbench|compile SECONDS FILES FOLDER: runs one of them, and prints MB/s or files a second. tbench
# needs a running tbench_srv. One client, so that a tool beside it has another CPU.
set -eu -o pipefail
load=/usr/share/dbench/client.txt
case $1 in
dbench) dbench -t "$2" -c $load -D "$4" 1 2>/dev/null | awk '$1 == "Throughput" { print $2 }' ;;
tbench) tbench -t "$2" -c $load 1 127.0.0.1 2>/dev/null | awk '$1 == "Throughput" { print $2 }' ;;
compile)
        begin=$(date +%s%N)
        "$(dirname "$0")/compile.sh" "$3" "$4"
        awk -v n="$3" -v ns="$(($(date +%s%N) - begin))" 'BEGIN { print n / ns * 1e9 }'
        ;;
esac
