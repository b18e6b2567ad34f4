#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The guest's part of guest.sh: installs the packages of an earlier build and runs the cases, as TAP.
cd /run/job || exit 1
chmod 755 . tools
tar -C / --keep-directory-symlink -xf apparmor.tar
sh guest/install-packages.sh older || exit 1
mkdir -p /etc/ktrace
echo '{"setup-timeout-usec": 20000000, "spool-keep-free-kb": 4096}' >/etc/ktrace/ktraced.json
. ./selection
export TAP_CASE CASE_TIMEOUT=600
bash e2e/tap.sh "$PWD/guest/environment.sh" guest-cases.sh
status=$?
journalctl --no-pager -o short-monotonic >out/journal
exit $status
