#!/bin/sh
# The guest's part of suite.sh: the attacks on the product, and those without their defences, as TAP.
cd /run/job || exit 1
chmod 755 . tools
sh guest/install.sh
mkdir -p /etc/ktrace
echo '{"max-prepared-kb": 0}' >/etc/ktrace/ktraced.json # the cases look at all instances
modprobe fuse
. ./selection
export TAP_CASE TAP_DEEP CASE_TIMEOUT=600
status=0
cases='attack/members.sh attack/windows.sh attack/bytes.sh attack/fields.sh attack/rules.sh attack/programs.sh
        attack/spool.sh attack/counts.sh attack/watch.sh attack/containers.sh attack/share.sh
        attack/blackbox.sh'

# without_defences: runs each attack without its defence. It must succeed in at most eight tries.
without_defences() {
        systemctl stop ktraced.service
        cp -a open/. /
        # shellcheck disable=SC2086 # several files
        PASS=open TAP_TRIES=8 bash e2e/tap.sh "$PWD/attack/environment.sh" $cases >open.tap || status=1
        sed -E 's/^((not )?ok [0-9]+ - )/\1without its defence: /' open.tap
}

if [ "$PASS" != open ]; then
        echo "# the product: no attack gains anything"
        # shellcheck disable=SC2086 # several files
        PASS=closed bash e2e/tap.sh "$PWD/attack/environment.sh" $cases attack/sealed.sh || status=1
        echo "# another build takes the product's place"
        UPGRADES=$PWD/upgrades bash e2e/tap.sh "$PWD/attack/environment.sh" upgrade/cases.sh || status=1
fi
case $PASS/$TAP_DEEP in
closed/1) ;;
closed/)
        echo "# one attack of each file without its defence: it gains"
        TAP_TAG=open without_defences
        ;;
*)
        echo "# each attack without its defence: it gains"
        without_defences
        ;;
esac
journalctl --no-pager -o short-monotonic >out/journal
exit $status
