#!/bin/sh
# The guest's part of suite.sh: installs the product as a package would and runs the cases, as TAP.
cd /run/job || exit 1
chmod 755 . tools
sh guest/install.sh
mkdir -p /etc/ktrace
echo '{"setup-timeout-usec": 4000000}' >/etc/ktrace/ktraced.json
modprobe fuse
# Decisions first, before others have used up what is recorded of a user's denials; the journal last.
# shellcheck disable=SC2046 # names without blanks
bash e2e/tap.sh "$PWD/guest/environment.sh" \
        guest/polkit.sh guest/audit.sh guest/cases.sh guest/kernel.sh guest/peers.sh $(grep -l "^case_" e2e/*.sh) guest/journal.sh
status=$?
systemd-analyze security --no-pager ktraced.service >out/security
journalctl --no-pager -o short-monotonic >out/journal
exit $status
