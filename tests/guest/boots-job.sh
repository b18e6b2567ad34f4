#!/bin/sh
# The guest's part of boots.sh, run in each boot: the cases of this boot, as TAP. BOOT is its number.
cd /run/job || exit 1
chmod 755 .
# Without prepared instances, so that each instance is that of a session. The machine's disk is a small one.
[ "$BOOT" != 1 ] || { sh guest/install.sh && mkdir -p /etc/ktrace &&
        echo '{"max-prepared-kb": 0, "spool-keep-free-kb": 4096}' >/etc/ktrace/ktraced.json; } || exit 1
CASE_TIMEOUT=600 TAP_WORD=boot$BOOT bash e2e/tap.sh "$PWD/guest/environment.sh" boots.sh || touch out/failed
journalctl -b --no-pager -o short-monotonic >>out/journal
if grep -q "^boot$((BOOT + 1))_" boots.sh; then
        sync
        # The file may define another end than a reboot.
        bash -c '. ./boots.sh; ! declare -F "end_$BOOT" >/dev/null || "end_$BOOT"'
        exit 96
fi
[ ! -e out/failed ]
