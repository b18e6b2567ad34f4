#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# suite.sh BUILD-DIR OPEN-BUILD-DIR: the attacks in the guest, in one boot; TAP. First against the product (the first
# build), where each must gain nothing; then against a build with -Ddefence_switches=true, where each must gain when
# its own defence is off. Both builds' prefix must be /usr. ATTACK_CASE: only those cases that match this pattern.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
open=$2
job=$(mktemp -d)
result=$(mktemp -d)
trap 'rm -rf "$job" "$result"' EXIT
trap 'exit 143' HUP INT TERM
DESTDIR=$job/root meson install -C "$build" --no-rebuild --quiet >/dev/null
DESTDIR=$job/whole meson install -C "$open" --no-rebuild --quiet >/dev/null
# Of the second build only what has switches.
for binary in sbin/ktraced libexec/ktrace/ktrace-consumer; do
        install -D "$job/whole/usr/$binary" "$job/open/usr/$binary"
done
rm -rf "$job/whole"
# The same two are the builds of an upgrade.
install -D -t "$job/upgrades/first" "$job/root/usr/sbin/ktraced" "$job/root/usr/libexec/ktrace/ktrace-consumer"
install -D -t "$job/upgrades/second" "$job/open/usr/sbin/ktraced" "$job/open/usr/libexec/ktrace/ktrace-consumer"
cp -r "$here/../upgrade" "$job/upgrade"
mkdir "$job/tools"
cp "$build/tests/e2e/target" "$build/tests/e2e/silent-fuse" "$build/tests/e2e/probed" "$build/tests/attack/scan" "$build/tests/attack/actor" "$build/tests/attack/puppet" "$here"/tools/*.py "$job/tools/"
cp -r "$here/../e2e" "$job/e2e"
cp -r "$here/../guest" "$job/guest"
cp -r "$here" "$job/attack"
cp "$here/suite-job.sh" "$job/run"
echo "${ATTACK_CASE:-*}" >"$job/pattern"
status=0
# Memory that the kernel takes holds what it held before: Debian has it zeroed, other distributions do not.
GUEST_TIMEOUT=3600 GUEST_APPEND="init_on_alloc=0 init_on_free=0" "$here/../guest/run-guest.sh" "$job" "$result" || status=$?
[ "$status" = 0 ] || [ ! -s "$result/journal" ] || tail -n 60 "$result/journal" | sed 's/^/# /'
exit $status
