#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# install-packages.sh FOLDER: in the guest: installs the packages in FOLDER with apt, as README.md says.
set -eu
rm -f /etc/dpkg/dpkg.cfg.d/99mmdebstrap # the image was made without documentation
mkdir -p /var/lib/apt/lists/partial /var/cache/apt/archives/partial
cd "$1"
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends ./ktraced_*.deb ./ktracectl_*.deb >&2
