#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# unit.sh [TEST...]: builds the tree in a Debian 13 (trixie) chroot and runs its unit tests there. Prints TAP.
# Debian 13 has another C library than the machine that develops this: glibc 2.41 makes other system calls.
# The chroot is made once per recipe. It is kept in /var/cache/ktrace-trixie, or in $XDG_CACHE_HOME/ktrace-trixie.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
suite=trixie
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

[ "$(id -u)" = 0 ] || { echo "unit.sh: only root can make a chroot: sudo $0" >&2; exit 1; }

names=$("$source/tests/packages.sh" --list build run chroot | tr ' ' ',')
recipe=$( (cat "$here/build-chroot.sh"; echo "$names $suite") | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-/var/cache}/ktrace-trixie
chroot=$cache/$recipe
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
[ -e "$chroot/complete" ] || "$here/build-chroot.sh" "$suite" "$names" "$keyring" "$chroot" >&2

# The tree is mounted in a mount namespace and a pid namespace of its own: both end with the last process.
unshare --mount --pid --fork --kill-child "$here/enter-chroot.sh" "$chroot/root" "$source" "$@"
