#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# boots.sh BUILD-DIR [FILE...]: the installed product in guests that are rebooted and crashed; TAP. A machine for each
# file of tests/guest/boots, or for those that are named: its functions boot1_NAME, boot2_NAME, … are the cases of its
# first boot, its second, and so on (as case_NAME elsewhere, see ../e2e/tap.sh). After a boot's cases the machine is
# rebooted, or end_N is run, which may crash it. The last boot with cases is the end. A line `# append: WORDS`
# in the file is for the kernel. If it ends with \, the next one continues its last word. A line `# suite: NAME`
# restricts the file to the guest of that suite.
# The build's prefix must be /usr.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
shift
[ $# != 0 ] || set -- "$here"/boots/*.sh
job=$(mktemp -d)
log=$(mktemp)
trap 'rm -rf "$job" "$job.result" "$log"' EXIT
"$here/product.sh" "$build" "$job/root"
cp -r "$here/../e2e" "$job/e2e"
cp -r "$here" "$job/guest"
if [ -n "${GUEST_PACKAGES:-}" ]; then
        mkdir "$job/packages"
        cp "$GUEST_PACKAGES"/ktraced_*.deb "$GUEST_PACKAGES"/ktracectl_*.deb "$job/packages/"
fi
cp "$here/boots-job.sh" "$job/run"
failed=0
n=0
. /etc/os-release
for file in "$@"; do
        suite=$(sed -n 's/^# suite: //p' "$file")
        if [ "${suite:-${GUEST_SUITE:-$VERSION_CODENAME}}" != "${GUEST_SUITE:-$VERSION_CODENAME}" ]; then
                echo "ok $((n += 1)) - $(basename "$file") # SKIP requires the kernel of $suite"
                continue
        fi
        cp "$file" "$job/boots.sh"
        rm -rf "$job.result"
        status=0
        append=$(sed -n 's/^# append: //p' "$file" | paste -sd ' ' | sed 's/\\ //g')
        GUEST_BOOTS=1 GUEST_APPEND=$append GUEST_TIMEOUT=1800 \
                "$here/run-guest.sh" "$job" "$job.result" >"$log" || status=$?
        # Each boot counts from one; the plan is for all of them.
        while read -r line; do
                case $line in
                "ok "* | "not ok "*)
                        n=$((n + 1))
                        echo "${line%%ok *}ok $n ${line#*ok * }"
                        ;;
                "1.."*) ;;
                *) echo "# ${line#\# }" ;;
                esac
        done <"$log"
        [ ! -s "$job.result/figures" ] || sed 's/^/# /' "$job.result/figures"
        [ "$status" = 0 ] || failed=1
        [ "$status" = 0 ] || grep -q '^not ok' "$log" ||
                echo "not ok $((n += 1)) - $(basename "$file") ended with status $status"
        [ "$status" = 0 ] || [ ! -s "$job.result/journal" ] || tail -n 60 "$job.result/journal" | sed 's/^/# /'
done
echo "1..$n"
exit $failed
