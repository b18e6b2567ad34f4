#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds the test guest (Debian's cloud kernel, a small initrd, a root file system) and prints its folder. An unchanged
# recipe is built once. Packages come from this machine's apt sources.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

packages=systemd,systemd-sysv,dbus,polkitd,trace-cmd,libjson-c5,libseccomp2,libtraceevent1,libbpf1
packages=$packages,libtraceevent1-plugin,libzstd1,libsystemd0,libelf1,libdw1,libzydis4.0,libglib2.0-bin
packages=$packages,procps,util-linux,mount,kmod,strace,gojq,python3-minimal,python3-dbus,libcap2-bin,passwd,e2fsprogs
packages=$packages,linux-perf,bpftrace,socat

. /etc/os-release
suite=$VERSION_CODENAME
kernel=$(apt-cache depends --no-recommends linux-image-cloud-amd64 |
        awk '$1 == "Depends:" && $2 ~ /^linux-image-/ { print $2; exit }')
[ -n "$kernel" ] || { echo "build-image: linux-image-cloud-amd64 not found; run apt-get update" >&2; exit 1; }
release=${kernel#linux-image-}

recipe=$( (cat "$0" "$here"/image/*; echo "$packages $suite $kernel") | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-/var/cache}/ktrace-guest
image=$cache/$recipe
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ -e "$image/complete" ]; then
        echo "$image"
        exit 0
fi

work=$(mktemp -d "$cache/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root

apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
        grep -E " ($suite|$suite-updates|$suite-security) " >"$work/sources.list"
mmdebstrap --quiet --variant=minbase --mode=root --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --include="$packages" \
        "$suite" "$root" "$work/sources.list" >&2

# The kernel is unpacked, not installed: its hooks would build a second initrd.
(
        cd "$work"
        apt-get -qq -o APT::Sandbox::User=root download "$kernel" busybox-static >&2
        for deb in ./*.deb; do
                dpkg-deb -x "$deb" unpacked
        done
)
cp "$work/unpacked/boot/vmlinuz-$release" "$work/vmlinuz"
modules=$work/unpacked/lib/modules/$release/kernel
for module in fs/fuse/fuse.ko drivers/block/loop.ko fs/pstore/ramoops.ko lib/reed_solomon/reed_solomon.ko; do
        install -D "$modules/$module" "$root/lib/modules/$release/kernel/$module"
done
cp "$work/unpacked/lib/modules/$release"/modules.builtin* "$root/lib/modules/$release/"
cp "$work/unpacked/lib/modules/$release/modules.order" "$root/lib/modules/$release/"
chroot "$root" depmod "$release"

# insmod does not resolve dependencies: image/init loads the modules in this order.
mkdir -p "$work/initrd/bin" "$work/initrd/mod" "$work/initrd/dev" "$work/initrd/newroot"
cp "$work/unpacked/bin/busybox" "$work/initrd/bin/"
for module in virtio_ring virtio virtio_mmio; do
        cp "$modules/drivers/virtio/$module.ko" "$work/initrd/mod/"
done
cp "$modules/drivers/block/virtio_blk.ko" "$work/initrd/mod/"
install -m 0755 "$here/image/init" "$work/initrd/init"
(cd "$work/initrd" && find . | cpio --quiet -o -H newc) >"$work/initrd.cpio"

install -m 0755 "$here/image/jq" "$root/usr/bin/jq"
cc -static -O2 -o "$root/usr/local/bin/guest-exit" "$here/image/guest-exit.c"
install -m 0755 "$here/image/guest-run" "$root/usr/local/bin/guest-run"
install -m 0644 "$here/image/guest-run.service" "$root/etc/systemd/system/guest-run.service"
ln -s ../guest-run.service "$root/etc/systemd/system/multi-user.target.wants/guest-run.service"
while read -r unit; do
        ln -sf /dev/null "$root/etc/systemd/system/$unit"
done <"$here/image/masked"
chroot "$root" useradd -u 1000 -U -m -s /bin/bash u1000
chroot "$root" useradd -u 1001 -U -m -s /bin/bash u1001
echo guest >"$root/etc/hostname"
echo 00000000000000000000000000c0ffee >"$root/etc/machine-id"
mkdir -p "$root/etc/systemd/journald.conf.d"
printf '[Journal]\nStorage=volatile\nRateLimitBurst=0\n' >"$root/etc/systemd/journald.conf.d/guest.conf"
rm -rf "$root/var/cache/apt" "$root/var/lib/apt/lists"

mke2fs -q -t ext4 -d "$root" "$work/root.ext4" 800M >&2
mkdir "$work/image"
mv "$work/vmlinuz" "$work/initrd.cpio" "$work/root.ext4" "$work/image/"
cc -O2 -o "$work/image/tsc-khz" "$here/image/tsc-khz.c"
touch "$work/image/complete"
mv "$work/image" "$image"
echo "$image"
