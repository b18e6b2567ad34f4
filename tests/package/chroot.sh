#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# chroot.sh SUITE: prints the folder of a chroot of the Debian release SUITE with the packages that build ktraced and
# the tools that examine the result. The chroot is made once for each recipe. It is kept in /var/cache/ktrace-package,
# or in $XDG_CACHE_HOME/ktrace-package.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
suite=$1
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

[ "$(id -u)" = 0 ] || { echo "chroot.sh: only root can make a chroot: sudo $0 $suite" >&2; exit 1; }

# The field Build-Depends of debian/control without versions, profiles and architectures, and without what only other
# architectures need.
depends() {
        sed -n '/^Build-Depends:/,/^[^ B]/p' "$source/debian/control" | grep -E '^(Build-Depends:| )' |
                grep -vF '[!amd64' |
                sed -E 's/^Build-Depends://; s/\([^)]*\)|<[^>]*>|\[[^]]*\]//g; s/debhelper-compat/debhelper/' |
                tr -d ' \n'
}
names=$(depends),$("$source/tests/packages.sh" --list package | tr ' ' ',')
recipe=$( (cat "$source/tests/trixie/build-chroot.sh"; echo "$names $suite") | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-/var/cache}/ktrace-package
chroot=$cache/$recipe
mkdir -p "$cache"
exec 9>"$cache/lock-$suite"
flock 9
[ -e "$chroot/complete" ] || "$source/tests/trixie/build-chroot.sh" "$suite" "$names" "$keyring" "$chroot" >&2
echo "$chroot/root"
