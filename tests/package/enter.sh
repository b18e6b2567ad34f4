#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# enter.sh SUITE FOLDER COMMAND...: runs COMMAND as root in a new copy of the chroot of SUITE (chroot.sh), without a
# network. FOLDER is /job there. All other changes are lost when the command ends.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ "$1" != --inside ]; then
        suite=$1 job=$2
        shift 2
        root=$("$here/chroot.sh" "$suite")
        copy=$(mktemp -d)
        trap 'rm -rf "$copy"' EXIT
        mkdir "$copy/root" "$copy/upper" "$copy/work"
        unshare --mount --net --pid --fork --kill-child "$0" --inside "$root" "$copy" "$job" "$@"
        exit
fi
root=$2 copy=$3 job=$4
shift 4
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$root,upperdir=$copy/upper,workdir=$copy/work" "$copy/root"
mkdir "$copy/root/job"
mount --bind "$job" "$copy/root/job"
mount -t proc proc "$copy/root/proc"
mount --rbind /dev "$copy/root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$copy/root/tmp"
mount -t tmpfs -o mode=0755 tmpfs "$copy/root/run"
# The chroot was made without documentation. A package's own is installed.
rm -f "$copy/root/etc/dpkg/dpkg.cfg.d/99mmdebstrap"
cd /
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        chroot "$copy/root" "$@"
