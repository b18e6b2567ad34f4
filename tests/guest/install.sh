#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# In the guest: installs the product that lies in ./root as a package would, or the packages in ./packages.
set -eu
if [ -d packages ]; then
        sh guest/install-packages.sh packages
        # The cases use them.
        for package in tools/libktrace0_*.deb tools/ktrace-metrics_*.deb; do
                [ ! -e "$package" ] || dpkg -i "$package" >&2
        done
        exit
fi
cp -a root/. /
systemd-sysusers
systemd-tmpfiles --create ktrace.conf
journalctl --update-catalog
systemctl daemon-reload
systemctl reload dbus
