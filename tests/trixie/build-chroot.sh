#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# build-chroot.sh SUITE PACKAGE,... KEYRING FOLDER [ARCHITECTURE,...]: makes a chroot with these packages in
# FOLDER/root.
# Packages come from where this machine's apt takes its own.
set -eu
suite=$1 names=$2 keyring=$3 folder=$4 architectures=${5:-$(dpkg --print-architecture)}

[ -e "$keyring" ] || { echo "build-chroot: $keyring is missing: install debian-archive-keyring" >&2; exit 1; }
work=$(mktemp -d "${folder%/*}/build.XXXXXX")
trap 'rm -rf "$work"' EXIT

# This machine's sources, with the names of its suites replaced.
. /etc/os-release
apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
        grep -E " ($VERSION_CODENAME|$VERSION_CODENAME-updates|$VERSION_CODENAME-security) " |
        sed "s/ $VERSION_CODENAME/ $suite/" >"$work/sources.list"
[ -s "$work/sources.list" ] || { echo "build-chroot: apt knows no Debian archive, run apt-get update" >&2; exit 1; }
mmdebstrap --quiet --variant=minbase --mode=root --architectures="$architectures" --keyring="$keyring" \
        --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --include="$names" \
        "$suite" "$work/root" "$work/sources.list"
rm -rf "$work/root/var/cache/apt" "$work/root/var/lib/apt/lists"
mkdir "$work/root/source" "$work/root/build"
touch "$work/complete"
chmod 0755 "$work"
rm -rf "$folder"
mv "$work" "$folder"
trap - EXIT
