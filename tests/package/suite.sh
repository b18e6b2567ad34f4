#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# suite.sh OUTPUT [SUITE...]: builds the packages in clean chroots of Debian 12 and 13, or of the named releases, and
# examines, installs, upgrades and removes them there, as TAP. The packages are then in OUTPUT/SUITE.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
output=$1
shift
[ $# != 0 ] || set -- bookworm trixie
n=0
failed=0

# report TITLE STATUS LOG: one TAP line, with the end of the log if the status is not 0.
report() {
        n=$((n + 1))
        if [ "$2" = 0 ]; then
                echo "ok $n - $1"
                return
        fi
        failed=1
        echo "not ok $n - $1"
        tail -n 40 "$3" | sed 's/^/# /'
}

# inside SUITE FOLDER SCRIPT...: runs a script of this folder in the chroot; each of its lines is a TAP line.
inside() {
        local suite=$1 folder=$2 script=$3 status=0 line
        cp "$here/$script" "$folder/"
        "$here/enter.sh" "$suite" "$folder" bash "/job/$script" >"$folder/$script.log" 2>&1 || status=$?
        while read -r line; do
                n=$((n + 1))
                echo "${line%%ok -*}ok $n - $suite: ${line#*ok - }"
        done < <(grep -aE '^(not )?ok - ' "$folder/$script.log")
        [ "$status" = 0 ] || report "$suite: $script" "$status" "$folder/$script.log"
}

# reproducible SUITE: a build in another folder, at another time, with other parallel jobs, and without the tests.
reproducible() {
        local file
        "$here/build.sh" "$1" "$output/$1/again" 'nocheck parallel=3' /srv/other/name || return 1
        for file in "$output/$1"/*.deb; do
                cmp "$file" "$output/$1/again/${file##*/}" || return 1
        done
}

for suite in "$@"; do
        rm -rf "${output:?}/$suite"
        mkdir -p "$output/$suite"
        status=0
        "$here/build.sh" "$suite" "$output/$suite" >"$output/$suite.log" 2>&1 || status=$?
        report "$suite: the packages are built without a network" "$status" "$output/$suite.log"
        [ "$status" = 0 ] || continue
        inside "$suite" "$output/$suite" examine.sh
        inside "$suite" "$output/$suite" life.sh
        status=0
        reproducible "$suite" >"$output/$suite.log" 2>&1 || status=$?
        report "$suite: a second build is identical" "$status" "$output/$suite.log"
done
echo "1..$n"
exit "$failed"
