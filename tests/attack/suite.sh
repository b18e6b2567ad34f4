#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# suite.sh BUILD-DIR OPEN-BUILD-DIR [closed|open]: the attacks in one boot of the guest, as TAP. closed: against the
# product (the first build), where each attack must gain nothing; then the attacks that are tagged `open` also as below.
# open: against a build with -Ddefence_switches=true, where each attack must gain when its own defence is off. Default:
# both.
# Both builds' prefix must be /usr. ATTACK_CASE: only the cases that match this pattern. TAP_DEEP: see ../e2e/tap.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
open=$2
job=$(mktemp -d)
result=$(mktemp -d)
trap 'rm -rf "$job" "$result"' EXIT
trap 'exit 143' HUP INT TERM
"$here/../guest/product.sh" "$build" "$job/root"
# Only the programs with switches are needed from the second build.
install -D "$open/daemon/manager/ktraced" "$job/open/usr/sbin/ktraced"
install -D "$open/daemon/consumer/ktrace-consumer" "$job/open/usr/libexec/ktrace/ktrace-consumer"
# The upgrade test uses the same two builds.
install -D -t "$job/upgrades/first" "$job/root/usr/sbin/ktraced" "$job/root/usr/libexec/ktrace/ktrace-consumer"
install -D -t "$job/upgrades/second" "$job/open/usr/sbin/ktraced" "$job/open/usr/libexec/ktrace/ktrace-consumer"
cp -r "$here/../upgrade" "$job/upgrade"
mkdir "$job/tools"
cp "$build/tests/e2e/target" "$build/tests/e2e/silent-fuse" "$build/tests/e2e/probed" "$build/tests/e2e/app" \
        "$build/tests/attack/scan" \
        "$build/tests/attack/actor" "$build/tests/attack/puppet" "$here"/tools/*.py "$job/tools/"
cp -r "$here/../e2e" "$job/e2e"
cp -r "$here/../guest" "$job/guest"
cp -r "$here" "$job/attack"
cp "$here/suite-job.sh" "$job/run"
cat >"$job/selection" <<EOS
PASS=${3:-}
TAP_CASE='${ATTACK_CASE:-}'
TAP_DEEP='${TAP_DEEP:-}'
EOS
# A deep run makes all attacks. Without its defence, each of them has eight tries.
seconds=3600
[ -z "${TAP_DEEP:-}" ] || seconds=7200
status=0
# The kernel does not clear the memory that it allocates. Debian's default clears it, other distributions do not.
GUEST_TIMEOUT=$seconds GUEST_APPEND="init_on_alloc=0 init_on_free=0" "$here/../guest/run-guest.sh" "$job" "$result" ||
        status=$?
[ "$status" = 0 ] || [ ! -s "$result/journal" ] || tail -n 60 "$result/journal" | sed 's/^/# /'
exit $status
