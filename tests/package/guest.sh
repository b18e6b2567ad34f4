#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# guest.sh BUILD-DIR SUITE PACKAGES: installs the packages in the folder PACKAGES (suite.sh made them) with apt in a
# guest of the Debian release SUITE, with systemd and AppArmor. Records during an upgrade, tries to break out of the
# AppArmor profile, runs the autopkgtests, and removes the packages. Prints TAP. TAP_CASE as in ../e2e/tap.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1 suite=$2 packages=$3
job=$(mktemp -d)
trap 'rm -rf "$job"' EXIT
trap 'exit 143' HUP INT TERM
mkdir "$job/packages" "$job/older" "$job/tools"
cp "$packages"/ktraced_*.deb "$packages"/ktracectl_*.deb "$job/packages/"
cp "$packages"/older/*.deb "$job/older/"
cp "$build/tests/e2e/target" "$build/tests/e2e/silent-fuse" "$build/tests/e2e/probed" \
        "$build/tests/e2e/probed-fixed" "$build/tests/e2e/app" "$job/tools/"
cp -r "$here/../e2e" "$job/e2e"
cp -r "$here/../guest" "$job/guest"
cp -r "$here/../../debian/tests" "$job/autopkgtest"
cp "$here/guest-cases.sh" "$job/"
cp "$here/guest-job.sh" "$job/run"
echo "TAP_CASE='${TAP_CASE:-}'" >"$job/selection"
# The guest's image has no AppArmor tools. The chroot has them.
root=$("$here/chroot.sh" "$suite")
chroot "$root" dpkg -L apparmor | sed -n 's#^/##p' | while read -r file; do
        case $file in
        etc/*) echo "$file" ;; # with empty directories
        *) [ ! -f "$root/$file" ] || echo "$file" ;;
        esac
done | tar -C "$root" --no-recursion -T - -cf "$job/apparmor.tar"
GUEST_SUITE=$suite GUEST_APPEND='apparmor=1 security=apparmor' GUEST_TIMEOUT=1800 \
        "$here/../guest/run-guest.sh" "$job"
