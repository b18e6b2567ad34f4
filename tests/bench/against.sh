#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# against.sh BEFORE NOW: compares two files of bench.sh --json. Prints a line for each figure that became worse by more
# than the noise, and what was compared. Status 1 if one became worse.
set -eu
jq -r --slurpfile before "$1" -f "$(dirname "$0")/against.jq" "$2" | {
        worse=0
        while IFS= read -r line; do
                printf '%s\n' "$line"
                case $line in worse:*) worse=1 ;; esac
        done
        exit $worse
}
