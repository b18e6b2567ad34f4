#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# In the guest: installs the product that lies in ./root as a package would, or the packages in ./packages.
set -eu
if [ -d packages ]; then
        sh guest/install-packages.sh packages
        # The programs of the cases use it.
        for library in tools/libktrace0_*.deb; do
                [ ! -e "$library" ] || dpkg -i "$library" >&2
        done
        exit
fi
cp -a root/. /
systemd-sysusers
systemd-tmpfiles --create ktrace.conf
journalctl --update-catalog
systemctl daemon-reload
systemctl reload dbus
