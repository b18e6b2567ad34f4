#!/bin/sh
# The guest's part of suite.sh: installs the product as a package would and runs the cases, as TAP.
cd /run/job || exit 1
chmod 755 . tools
sh guest/install.sh
mkdir -p /etc/ktrace
# The machine has a small disk.
echo '{"setup-timeout-usec": 20000000, "spool-keep-free-kb": 4096, "max-prepared-kb": 0}' >/etc/ktrace/ktraced.json
modprobe -a fuse loop
IFS=/ read -r part parts <part
. ./selection
export TAP_CASE TAP_DOOR TAP_DEEP TAP_TAG CASE_TIMEOUT=600
# of_this_part FILE...: prints the files that this part runs.
of_this_part() { printf '%s\n' "$@" | awk -v "part=$part" -v "parts=$parts" 'NR % parts == part % parts'; }
status=0
# cases FILE...: runs the cases in this part's share of the files.
cases() {
        # shellcheck disable=SC2046 # names without blanks
        bash e2e/tap.sh "$PWD/guest/environment.sh" $(of_this_part "$@") || status=1
}

# polkit and audit come first: other cases use up the number of denials that are recorded for each user.
cases guest/polkit.sh guest/audit.sh guest/cases.sh guest/kernel.sh guest/metrics.sh guest/peers.sh \
        guest/interference.sh guest/resources.sh guest/podman.sh guest/blackbox.sh
# shellcheck disable=SC2046 # names without blanks
TAP_TAG=${TAP_TAG:-guest} cases $(grep -l "^case_" e2e/*.sh)

# A deep run makes these again over Varlink: a dialog, probes, histograms and notifications, which only the guest has.
if [ "$part" = "$parts" ] && [ "$TAP_DEEP/$TAP_CASE/$TAP_DOOR/$TAP_TAG" = '1//bus/' ]; then
        TAP_DOOR=varlink TAP_CASE='@(polkit_password|hist_of_command|probes_of_users|notify_trigger)' \
                bash e2e/tap.sh "$PWD/guest/environment.sh" guest/polkit.sh e2e/hist.sh e2e/probes.sh e2e/notify.sh \
                >varlink.tap || status=1
        sed -E 's/^((not )?ok [0-9]+ - )/\1over Varlink: /' varlink.tap
fi
# The journal comes last, in every part.
bash e2e/tap.sh "$PWD/guest/environment.sh" guest/journal.sh || status=1
systemd-analyze security --no-pager ktraced.service >out/security
journalctl --no-pager -o short-monotonic >out/journal
exit $status
