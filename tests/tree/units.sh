#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# units.sh BUILD-DIR AUDIT.H: systemd has nothing to say against the installed units, each service is shut in well, and
# the journal explains the records.
set -u
command -v systemd-analyze >/dev/null || { echo "1..0 # SKIP no systemd-analyze here"; exit 0; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
DESTDIR=$root meson install -C "$1" --no-rebuild --quiet >"$root/log" 2>&1 || { cat "$root/log"; exit 1; }
units=$(find "$root" -path '*/systemd/system')
[ -d "$units" ] || { echo "Bail out! no units were installed"; exit 1; }
# What an installed system has, and the units name.
install -D -m 755 /bin/kill "$root/bin/kill"
mkdir -p "$root/etc/systemd/system"
echo '[Unit]' >"$root/etc/systemd/system/sysinit.target"
n=0
failed=0

# report TITLE OUTPUT: one TAP line; any output is a failure.
report() {
        n=$((n + 1))
        [ -n "$2" ] || { echo "ok $n - $1"; return; }
        failed=1
        echo "not ok $n - $1"
        echo "$2" | sed 's/^/# /'
}

# limit FILE: the highest exposure of a unit, in tenths: 0.7, or what a line `# Exposure N.N: REASON` of it says.
limit() {
        tenths=$(sed -n 's/^# Exposure \([0-9]*\)\.\([0-9]\): .*/\1\2/p' "$1")
        echo "${tenths:-7}"
}

for path in "$units"/*; do
        unit=$(basename "$path")
        report "verify $unit" "$(systemd-analyze verify --root="$root" --man=no "$(echo "$unit" | sed 's/@\./@x./')" \
                2>&1 ||
                echo "status $?")"
        case $unit in
        *.service) report "the exposure of $unit is at most $(limit "$path") tenths" "$(systemd-analyze security \
                --offline=true --no-pager --threshold="$(limit "$path")" "$path" 2>&1 >/dev/null ||
                echo "it is more: systemd-analyze security --offline=true $unit")" ;;
        esac
done
report "only root reaches the socket of a container" "$(
        grep -qx SocketMode=0600 "$units/ktraced-container@.socket" || echo "the socket is open to others"
        grep -qx 'd /run/ktrace-container 0700 root root -' "$root"/usr/lib/tmpfiles.d/ktrace.conf ||
                echo "its directory is open to others")"
if command -v journalctl >/dev/null; then
        report "the journal takes the catalogue" "$(journalctl --root="$root" --update-catalog 2>&1)"
        ids=$(sed -n 's/^#define AUDIT_ID_.*"\(.*\)"/\1/p' "$2")
        report "each id of the audit is in the catalogue and in ktraced(8)" "$([ -n "$ids" ] || echo "no ids in $2"
        for id in $ids; do
                journalctl --root="$root" --list-catalog "$id" 2>&1 | grep -q "$id" || echo "not there: $id"
                grep -q "^$id" "${0%/*}/../../man/ktraced.8" || echo "not in ktraced(8): $id"
        done)"
        report "the installation updates the journal's catalogue" "$(grep -aq -- --update-catalog \
                "$1/meson-private/install.dat" || echo "meson install does not run journalctl --update-catalog")"
        report "an installation for a package does not" "$(grep -A1 -- --update-catalog "$root/log" | grep -v DESTDIR)"
fi
echo "1..$n"
exit $failed
