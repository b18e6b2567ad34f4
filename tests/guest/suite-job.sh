#!/bin/sh
# The guest's part of suite.sh: installs the product as a package would and runs the cases, as TAP.
cd /run/job || exit 1
chmod 755 . tools
sh guest/install.sh
mkdir -p /etc/ktrace
echo '{"setup-timeout-usec": 4000000}' >/etc/ktrace/ktraced.json
modprobe fuse
bash e2e/tap.sh "$PWD/guest/environment.sh" \
        e2e/probes.sh e2e/derived.sh e2e/programs.sh e2e/record.sh e2e/scopes.sh e2e/fence.sh guest/cases.sh guest/kernel.sh guest/peers.sh e2e/lifetime.sh e2e/strangers.sh e2e/bad-input.sh e2e/filters.sh e2e/policy.sh e2e/grants.sh e2e/limits.sh e2e/flight.sh e2e/marks.sh guest/polkit.sh guest/audit.sh guest/journal.sh
status=$?
systemd-analyze security --no-pager ktraced.service >out/security
journalctl --no-pager -o short-monotonic >out/journal
exit $status
