#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# life.sh: in the chroot, with the packages in /job: installation, upgrade, removal and purge. Prints lines of TAP.
set -u
cd /job || exit 1
failed=0
recording=/var/lib/ktrace/0123456789abcdef

# check TITLE COMMAND...: the command succeeds.
check() {
        local title=$1
        shift
        if "$@"; then
                echo "ok - $title"
        else
                failed=1
                echo "not ok - $title"
        fi
}
install() { apt-get install -y "$@"; }

# older FILE: makes older/FILE, the same package as if it was from an earlier build.
older() {
        local folder=/tmp/${1%%_*}
        mkdir -p /job/older
        dpkg-deb -R "$1" "$folder"
        sed -i -E "s/^(Version: .*)/\1~before/; s/(ktrace[a-z0-9]* \(>?= [^)]*)\)/\1~before)/g" "$folder/DEBIAN/control"
        dpkg-deb -b "$folder" "/job/older/$1"
}

# All files that a package may leave. dh_apparmor removes an empty directory of the package apparmor.
files() {
        find / -xdev \( -path /proc -o -path /dev -o -path /tmp -o -path /job -o -path /run -o -path /var/lib/dpkg -o \
                -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path /etc/apt -o \
                -path /etc/apparmor.d/disable \) -prune -o -print | sort
}

new_installation() {
        install ./older/ktraced_*.deb ./older/ktracectl_*.deb &&
                dpkg-query -W -f '${Version}\n' ktraced | grep before
}
users_and_state() {
        getent passwd ktrace-consumer && getent group ktrace && [ "$(stat -c '%a %U' /var/lib/ktrace)" = '700 root' ]
}
catalogue() { journalctl --list-catalog a4b27a71ac4a471abbd6b797664a68e2; }
socket_only_is_enabled() {
        [ -e /etc/systemd/system/sockets.target.wants/ktraced.socket ] &&
                [ "$(find /etc/systemd/system -name 'ktrace*' | wc -l)" = 1 ]
}
units() {
        local unit limit names text
        names=$(dpkg -L ktraced ktrace-metrics | grep 'systemd/system/.*\.') || return 1
        for unit in $names; do
                text=$(systemd-analyze verify --man=no "${unit/@./@x.}" 2>&1)
                [ -z "$text" ] || { echo "$text"; return 1; }
                limit=$(sed -n 's/^# Exposure \([0-9]*\)\.\([0-9]\): .*/\1\2/p' "$unit")
                [[ $unit == *.service ]] || continue
                systemd-analyze security --offline=true --no-pager --threshold="${limit:-7}" "$unit" ||
                        { echo "exposure of $unit"; return 1; }
        done
}
metrics() {
        install ./older/ktrace-metrics_*.deb ./older/libktrace0_*.deb && /usr/libexec/ktrace/ktrace-metrics --version &&
                [ -s /usr/share/man/man8/ktrace-metrics.8.gz ] && [ -s /usr/lib/ktrace/metrics.d/syscalls.json ] &&
                socket_only_is_enabled
}
manuals() {
        local page
        for page in ktraced.8 ktracectl.1 ktrace-policy.5 ktrace-probes.5 ktrace-session.5 ktrace-stream.5 \
                org.ktrace1.5 ktrace-cookbook.7; do
                [ -s "/usr/share/man/man${page##*.}/$page.gz" ] || { echo "no $page"; return 1; }
        done
}
programs_run() { ktraced --check-policy && ktraced --version && ktracectl --version; }
upgrade() {
        install ./ktraced_*.deb ./ktracectl_*.deb ./ktrace-metrics_*.deb ./libktrace0_*.deb &&
                ! dpkg-query -W -f '${Version}\n' ktraced | grep before &&
                [ -e $recording/session.json ] && [ -e /etc/ktrace/ktraced.json ]
}
again() {
        /var/lib/dpkg/info/ktraced.postinst configure "$(dpkg-query -W -f '${Version}' ktraced)" &&
                /var/lib/dpkg/info/ktraced.prerm upgrade 9 && /var/lib/dpkg/info/ktraced.postrm upgrade 9
}
remove() {
        apt-get remove -y ktraced && [ ! -e /usr/sbin/ktraced ] && [ -e $recording/session.json ] &&
                [ -e /etc/ktrace/ktraced.json ]
}
purge_keeps() {
        touch /var/lib/ktrace/keep-recordings
        apt-get purge -y ktraced && [ -e $recording/session.json ] && [ ! -e /etc/ktrace ]
}
purge_all() {
        rm /var/lib/ktrace/keep-recordings
        install ./ktraced_*.deb && [ -e $recording/session.json ] || return 1
        ln -s /usr/lib/systemd/system/ktrace-session@.service \
                /etc/systemd/system/sockets.target.wants/ktrace-session@early.service
        apt-get purge -y ktraced ktracectl ktrace-metrics libktrace0 && files >/tmp/after && diff /tmp/before /tmp/after
}

mkdir -p /var/lib/apt/lists/partial /var/cache/apt/archives/partial
for package in ktraced_*.deb ktracectl_*.deb ktrace-metrics_*.deb libktrace0_*.deb; do older "$package"; done
files >/tmp/before
check "apt installs the packages of an earlier build" new_installation
check "the user, the group and the state directory are there" users_and_state
check "the journal has the catalogue" catalogue
check "the socket is enabled, and nothing else" socket_only_is_enabled
check "ktrace-metrics is installed and not enabled" metrics
check "systemd finds no error in the units, and their exposure is low" units
check "the manual pages are there" manuals
check "the programs run" programs_run
mkdir -p $recording /etc/ktrace
touch $recording/session.json
echo '{}' >/etc/ktrace/ktraced.json
check "an upgrade keeps configuration and recordings" upgrade
check "maintainer scripts can run again" again
check "a removal keeps configuration and recordings" remove
check "a purge keeps recordings if keep-recordings exists" purge_keeps
check "a purge leaves nothing" purge_all
exit $failed
