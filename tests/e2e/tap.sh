#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tap.sh ENVIRONMENT FILE...: runs the cases in the files, in order, and prints TAP. A case is a function
# case_NAME. It runs in a process and a directory of its own. ENVIRONMENT sets the variables that vocabulary.sh names.
# After each case the kernel must be as it was before (ktracectl verify).
#
# The first line of a case is its title. Tags may stand before the title:
#         case_NAME() { # [deep guest] title
#   deep   slow or repeated: only `test.sh deep` runs it
#   guest  systemd, kprobes, histograms or snapshot buffers change this case of tests/e2e: the default run repeats it
#          in the guest. The cases in tests/guest need no tag for this.
#   smoke  the default run repeats it in the Debian 13 guest. Each of these cases uses another kernel interface.
#   asan   the default run repeats it with the sanitizers
#   open   an attack that the default run also makes with its defence removed
#
# TAP_DEEP=1: all cases, whatever their tags. TAP_TAG=TAG: only cases with this tag.
# TAP_CASE=PATTERN: only cases whose names match this shell pattern, whatever their tags; @(a|b) for several.
# TAP_TRIES=N: a case passes if it passes once in N tries. Only for attacks without their defence: an attack that needs
# luck, such as a pid that is used again in time, must succeed once.
# TAP_WORD: the prefix of the functions (case).
# TAP_DOOR=varlink: all cases call ktracectl with --varlink. Cases that end the daemon fail then, except in the guest,
# where the socket starts it again.
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

# case_lines FILE: a line `NAME,TAG,TAG... TITLE` for each case of the file.
case_lines() {
        sed -nE -e "/^${word}_([a-z0-9_]*)\(\) \{ # /!d" -e "s/^${word}_([a-z0-9_]*)\(\) \{ # /\1, /" \
                -e ':again' -e 's/^([^ ]*) \[ *([a-z]+)/\1\2, [/' -e 't again' -e 's/^([^ ]*) \[\]/\1/' -e p "$1"
}

# is_selected NAME,TAG,...: whether the variables above select the case.
is_selected() {
        if [ -n "${TAP_CASE:-}" ]; then
                # shellcheck disable=SC2254 # the variable holds a pattern
                case ${1%%,*} in $TAP_CASE) return 0 ;; *) return 1 ;; esac
        fi
        [ -z "${TAP_DEEP:-}" ] || return 0
        [[ $1 != *,deep,* ]] && { [ -z "${TAP_TAG:-}" ] || [[ $1 == *,"$TAP_TAG",* ]]; }
}

n=0
failed=0
for file in "$@"; do
        while read -r tagged title; do
                is_selected "$tagged" || continue
                name=${tagged%%,*}
                n=$((n + 1))
                status=0
                began=${EPOCHREALTIME/[.,]/}
                for try in $(seq "${TAP_TRIES:-1}"); do
                        status=0
                        timeout -k 10 "${CASE_TIMEOUT:-180}" bash "$0" --case "$environment" "$file" "${word}_$name" \
                                >"$log" 2>&1 </dev/null || status=$?
                        case $status in 0 | 77) break ;; esac
                done
                [ "$try" = 1 ] || echo "# try $try of $TAP_TRIES"
                tenths=$(((${EPOCHREALTIME/[.,]/} - began) / 100000))
                case $status in
                0)
                        echo "ok $n - $title"
                        grep '^# ' "$log"
                        ;;
                77) echo "ok $n - $title # SKIP $(tail -n 1 "$log")" ;;
                *)
                        failed=1
                        echo "not ok $n - $title"
                        echo "# ${word}_$name ended with status $status; its last lines:"
                        tail -n 40 "$log" | sed 's/^/#   /'
                        ;;
                esac
                echo "# $((tenths / 10)).$((tenths % 10)) s ${word}_$name"
        done < <(case_lines "$file")
done
echo "1..$n"
exit $failed
