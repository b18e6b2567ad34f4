#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tap.sh ENVIRONMENT CASES...: runs every function case_NAME of the files, in order, each in a process and a
# folder of its own, and prints TAP. The comment behind `{` is the test's title. After each case the kernel
# must be as before (ktracectl verify). ENVIRONMENT sets what vocabulary.sh names. TAP_CASE: only those
# cases whose names match this shell pattern; @(a|b) for several. TAP_WORD: what the functions' names begin with (case).
# TAP_DOOR=varlink: ktracectl is called with --varlink in all of them. Natively no socket starts the daemon: cases that end it
# fail there.
set -u
shopt -s extglob
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

run_case() {
        set -eu -o pipefail
        environment=$1
        . "$environment"
        . "$here/vocabulary.sh"
        . "$2"
        T=$(mktemp -d "$WORK/case.XXXXXX")
        chown "$USER_UID" "$T"
        cd "$T"
        trap leave_case EXIT
        [ "${TAP_DOOR:-bus}" != varlink ] || over_varlink
        "$3"
        wait_clean
}

if [ "$1" = --case ]; then
        shift
        run_case "$@"
        exit
fi

environment=$1
word=${TAP_WORD:-case}
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
n=0
failed=0
for file in "$@"; do
        while read -r name title; do
                # shellcheck disable=SC2254 # a pattern is wanted
                case $name in ${TAP_CASE:-*}) ;; *) continue ;; esac
                n=$((n + 1))
                status=0
                SECONDS=0
                timeout -k 10 "${CASE_TIMEOUT:-180}" bash "$0" --case "$environment" "$file" "${word}_$name" \
                        >"$log" 2>&1 </dev/null || status=$?
                case $status in
                0) echo "ok $n - $title" ;;
                77) echo "ok $n - $title # SKIP $(tail -n 1 "$log")" ;;
                *)
                        failed=1
                        echo "not ok $n - $title"
                        echo "# ${word}_$name ended with status $status; its last lines:"
                        tail -n 40 "$log" | sed 's/^/#   /'
                        ;;
                esac
                [ "$SECONDS" -lt 15 ] || echo "# $SECONDS s"
        done < <(sed -n "s/^${word}_\([a-z0-9_]*\)() { # \(.*\)/\1 \2/p" "$file")
done
echo "1..$n"
exit $failed
