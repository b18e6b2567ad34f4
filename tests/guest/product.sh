#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# product.sh BUILD-DIR FOLDER: installs the build into FOLDER, for a guest of GUEST_SUITE (see run-guest.sh). Its prefix
# must be /usr.
set -eu
# A build for another architecture was installed in its chroot (enter-chroot.sh).
[ ! -d "$1/installed" ] || { cp -a "$1/installed" "$2"; exit; }
DESTDIR=$2 meson install -C "$1" --no-rebuild --quiet >/dev/null
. /etc/os-release
# Only libZydis has another soname in the other Debian, so the guest gets this machine's.
[ "${GUEST_SUITE:-$VERSION_CODENAME}" = "$VERSION_CODENAME" ] ||
        ldd "$1/daemon/consumer/ktrace-consumer" | awk '$1 ~ /^libZydis/ { print $3 }' | while read -r library; do
                install -D "$library" "$2/usr/${library#/usr}"
        done
