#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# build.sh SUITE OUTPUT [OPTIONS [FOLDER]]: builds the packages from this tree in a clean chroot of the Debian release
# SUITE, as an ordinary user and without a network. The packages, and the log, are then in OUTPUT. OPTIONS is
# DEB_BUILD_OPTIONS, for example nocheck. FOLDER is where the sources are in the chroot.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
suite=$1 output=$2 options=${3:-} folder=${4:-/srv/build/ktraced}

mkdir -p "$output"
tar -C "$source" --exclude='./build*' --exclude=./.git -cf "$output/source.tar" .
trap 'rm -f "$output/source.tar"' EXIT
# shellcheck disable=SC2016 # the shell in the chroot expands it
"$here/enter.sh" "$suite" "$output" sh -euc '
        mkdir -p "$2"
        tar -C "$2" -xf /job/source.tar
        chown -R 1000:1000 "${2%/*}"
        cd "$2"
        setpriv --reuid=1000 --regid=1000 --clear-groups env HOME=/nonexistent DEB_BUILD_OPTIONS="$1" \
                dpkg-buildpackage -b -us -uc
        mv ../*.deb ../*.changes ../*.buildinfo /job/
' build "$options" "$folder" >"$output/log" 2>&1 || { tail -n 60 "$output/log"; exit 1; }
