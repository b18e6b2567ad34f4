#!/bin/sh
# The guest's part of suite.sh: two passes over the attacks, as TAP.
cd /run/job || exit 1
chmod 755 . tools
sh guest/install.sh
mkdir -p /etc/ktrace
modprobe fuse
TAP_CASE=$(cat pattern)
export TAP_CASE
status=0

echo "# the product: no attack gains anything"
cases='attack/members.sh attack/windows.sh attack/bytes.sh attack/fields.sh attack/rules.sh attack/programs.sh attack/spool.sh'
# shellcheck disable=SC2086 # several files are wanted
PASS=closed bash e2e/tap.sh "$PWD/attack/environment.sh" $cases attack/sealed.sh || status=1

echo "# another build takes the product's place"
UPGRADES=$PWD/upgrades bash e2e/tap.sh "$PWD/attack/environment.sh" upgrade/cases.sh || status=1

echo "# each attack without its defence: it gains"
systemctl stop ktraced.service
cp -a open/. /
# shellcheck disable=SC2086
PASS=open bash e2e/tap.sh "$PWD/attack/environment.sh" $cases >open.tap || status=1
sed -E 's/^((not )?ok [0-9]+ - )/\1without its defence: /' open.tap
journalctl --no-pager -o short-monotonic >out/journal
exit $status
