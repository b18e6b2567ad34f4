#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# unit.sh [TEST...]: builds the tree for arm64 in a chroot with Debian's cross compiler and runs the unit tests in
# qemu-user. Prints TAP. The chroot is of this machine's release, with arm64 as a foreign architecture. It is made once
# per recipe. It is kept in /var/cache/ktrace-arm64, or in $XDG_CACHE_HOME/ktrace-arm64.
#
# qemu-user cannot run the programs that a test starts, and it has no seccomp filters. left-out names the tests that
# need what it lacks, each with the reason.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
# shellcheck source=/dev/null
. /etc/os-release
suite=$VERSION_CODENAME
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

[ "$(id -u)" = 0 ] || { echo "unit.sh: only root can make a chroot: sudo $0" >&2; exit 1; }

# The libraries are arm64's, the tools are this machine's. Instructions of arm64 need no decoder: no Zydis. The numbers
# of x86's system calls are in headers of their own.
names=$("$source/tests/packages.sh" --list build | tr ' ' '\n' |
        sed -e '/^libzydis-dev$/d' -e 's/^gcc$/gcc-aarch64-linux-gnu/' -e 's/-dev$/-dev:arm64/' | tr '\n' ',')
names=${names}linux-libc-dev-amd64-cross,$("$source/tests/packages.sh" --list run chroot | tr ' ' ','),qemu-user-static
recipe=$( (cat "$here/../trixie/build-chroot.sh"; echo "$names $suite") | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-/var/cache}/ktrace-arm64
chroot=$cache/$recipe
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
[ -e "$chroot/complete" ] || "$here/../trixie/build-chroot.sh" "$suite" "$names" "$keyring" "$chroot" amd64,arm64 >&2

LEFT_OUT=$here/left-out MESON_OPTIONS='--cross-file /source/tests/arm64/cross.ini' \
        unshare --mount --pid --fork --kill-child "$here/../trixie/enter-chroot.sh" "$chroot/root" "$source" "$@"
