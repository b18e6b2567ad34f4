#!/bin/sh
# The guest's part of suite.sh: installs the product as a package would and runs the cases, as TAP.
cd /run/job || exit 1
chmod 755 . tools
sh guest/install.sh
mkdir -p /etc/ktrace
# The machine's disk is a small one.
echo '{"setup-timeout-usec": 20000000, "spool-keep-free-kb": 4096}' >/etc/ktrace/ktraced.json
modprobe -a fuse loop
IFS=/ read -r part parts <part
TAP_CASE=$(cat pattern)
TAP_DOOR=$(cat door)
export TAP_CASE TAP_DOOR
# Of a list of files those of this part. Decisions first, before others have used up what is recorded of a user's
# denials; the journal last, and in every part.
of_this_part() { printf '%s\n' "$@" | awk -v "part=$part" -v "parts=$parts" 'NR % parts == part % parts'; }
status=0
# shellcheck disable=SC2046 # names without blanks
bash e2e/tap.sh "$PWD/guest/environment.sh" $(of_this_part guest/polkit.sh guest/audit.sh guest/cases.sh guest/kernel.sh guest/peers.sh guest/interference.sh guest/resources.sh) \
        $(of_this_part $(grep -l "^case_" e2e/*.sh)) || status=1

# Once more over the other door, where only this machine can show it: a dialog, probes, histograms, and what is told.
if [ "$part" = "$parts" ] && [ "$TAP_CASE/$TAP_DOOR" = '*/bus' ]; then
        TAP_DOOR=varlink TAP_CASE='@(polkit_password|hist_of_command|probes_of_users|notify_trigger)' \
                bash e2e/tap.sh "$PWD/guest/environment.sh" guest/polkit.sh e2e/hist.sh e2e/probes.sh e2e/notify.sh >varlink.tap || status=1
        sed -E 's/^((not )?ok [0-9]+ - )/\1over Varlink: /' varlink.tap
fi
bash e2e/tap.sh "$PWD/guest/environment.sh" guest/journal.sh || status=1
systemd-analyze security --no-pager ktraced.service >out/security
journalctl --no-pager -o short-monotonic >out/journal
exit $status
