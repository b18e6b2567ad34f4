#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# build-image.sh [SUITE [ARCHITECTURE]]: builds a test guest (Debian's cloud kernel, a small initrd, a root file system)
# and prints its folder. SUITE is bookworm (Linux 6.1, dbus-daemon) or trixie (Linux 6.12, dbus-broker). The default is
# this machine's. ARCHITECTURE is amd64 (the default) or arm64. An unchanged recipe is built once. Packages come from
# this machine's apt sources.
#
# This machine cannot run programs of arm64. Packages of an arm64 guest are unpacked, and their maintainer scripts do
# not run. image/configure does what the guest needs of them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

. /etc/os-release
suite=${1:-$VERSION_CODENAME}
architecture=${2:-amd64}
packages=systemd,systemd-sysv,polkitd,trace-cmd,libjson-c5,libseccomp2,libtraceevent1,libbpf1
packages=$packages,libtraceevent1-plugin,libzstd1,libsystemd0,libglib2.0-bin
packages=$packages,procps,util-linux,mount,kmod,strace,gojq,python3-minimal,python3-dbus,libcap2-bin,passwd,e2fsprogs
packages=$packages,socat
case $suite in
bookworm) packages=$packages,dbus,libelf1,libdw1,libzydis4.0,libcurl4,libmicrohttpd12 ;;
trixie)
        packages=$packages,dbus-broker,dbus-bin,libelf1t64,libdw1t64,libzydis4.1,libgcrypt20
        packages=$packages,libcurl4t64,libmicrohttpd12t64
        ;;
*) echo "build-image: expected the suite bookworm or trixie, got \"$suite\"" >&2; exit 1 ;;
esac
# An arm64 guest has no perf and no bpftrace, with which a few cases compare. Its instructions need no decoder.
case $architecture in
amd64) packages=$packages,linux-perf,bpftrace variant=minbase hook=--customize-hook ;;
arm64) packages=$(echo "$packages,mawk" | sed 's/,libzydis[^,]*//') variant=extract hook=--extract-hook ;;
*) echo "build-image: expected the architecture amd64 or arm64, got \"$architecture\"" >&2; exit 1 ;;
esac

# A new kernel is a new recipe, if this machine's apt knows it. An image of another suite keeps its kernel until the
# recipe changes.
kernel=
if [ "$suite" = "$VERSION_CODENAME" ]; then
        kernel=$(apt-cache depends --no-recommends linux-image-cloud-amd64 |
                awk '$1 == "Depends:" && $2 ~ /^linux-image-/ { print $2; exit }')
        [ -n "$kernel" ] ||
                { echo "build-image: linux-image-cloud-amd64 not found; run apt-get update" >&2; exit 1; }
fi

recipe=$( (cat "$0" "$here"/image/*; echo "$packages $suite $kernel $architecture") | sha256sum | cut -c1-16)
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

# This machine's sources, with the suite's name replaced.
apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
        grep -E " ($VERSION_CODENAME|$VERSION_CODENAME-updates|$VERSION_CODENAME-security) " |
        sed "s/ $VERSION_CODENAME/ $suite/" >"$work/sources.list"
# The kernel is unpacked, not installed: its hooks would build a second initrd. It is downloaded with the apt
# configuration of the new root.
cat >"$work/download" <<EOS
#!/bin/sh
set -eu
cd "$work"
meta=linux-image-cloud-$architecture
EOS
cat >>"$work/download" <<'EOS'
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
kernel=$(apt-cache depends --no-recommends "$meta" |
        awk '$1 == "Depends:" && $2 ~ /^linux-image-/ { print $2; exit }')
echo "${kernel#linux-image-}" >release
apt-get -qq -o APT::Sandbox::User=root download "$kernel" busybox-static
EOS
chmod 0755 "$work/download"
mmdebstrap --quiet --variant="$variant" --architectures="$architecture" --mode=root --keyring="$keyring" \
        --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --include="$packages" --include='?essential' \
        "$hook=$work/download" "$suite" "$root" "$work/sources.list" >&2

[ "$variant" != extract ] || "$here/image/configure" "$root"

for deb in "$work"/*.deb; do
        dpkg-deb -x "$deb" "$work/unpacked"
done
release=$(cat "$work/release")
cp "$work/unpacked/boot/vmlinuz-$release" "$work/vmlinuz"
# Debian 13 has compressed modules below /usr, and some of these drivers in the kernel.
modules=$work/unpacked/lib/modules/$release
[ -d "$modules" ] || modules=$work/unpacked/usr/lib/modules/$release
find "$modules" -name '*.ko.xz' -exec xz -d {} +
for module in fs/fuse/fuse.ko drivers/block/loop.ko fs/pstore/ramoops.ko lib/reed_solomon/reed_solomon.ko; do
        [ ! -e "$modules/kernel/$module" ] ||
                install -D "$modules/kernel/$module" "$root/lib/modules/$release/kernel/$module"
done
cp "$modules"/modules.builtin* "$modules/modules.order" "$root/lib/modules/$release/"
depmod -b "$root" "$release"

# insmod does not resolve dependencies: image/init loads the modules in this order.
mkdir -p "$work/initrd/bin" "$work/initrd/mod" "$work/initrd/dev" "$work/initrd/newroot"
cp "$(find "$work/unpacked" -name busybox -path '*bin/busybox')" "$work/initrd/bin/"
for module in virtio/virtio_ring virtio/virtio virtio/virtio_mmio block/virtio_blk; do
        [ ! -e "$modules/kernel/drivers/$module.ko" ] ||
                cp "$modules/kernel/drivers/$module.ko" "$work/initrd/mod/"
done
install -m 0755 "$here/image/init" "$work/initrd/init"
(cd "$work/initrd" && find . | cpio --quiet -o -H newc) >"$work/initrd.cpio"

install -D -m 0755 "$here/image/jq" "$root/usr/bin/jq"
# A machine of arm64 has no device that ends QEMU with a status. run-guest.sh takes the status from the result.
case $architecture in
amd64) cc -static -O2 -o "$root/usr/local/bin/guest-exit" "$here/image/guest-exit.c" ;;
*)
        printf '#!/bin/sh\nsync\nexec systemctl --force --force poweroff\n' >"$work/guest-exit"
        install -D -m 0755 "$work/guest-exit" "$root/usr/local/bin/guest-exit"
        ;;
esac
install -D -m 0755 "$here/image/guest-run" "$root/usr/local/bin/guest-run"
install -m 0644 "$here/image/guest-run.service" "$root/etc/systemd/system/guest-run.service"
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s ../guest-run.service "$root/etc/systemd/system/multi-user.target.wants/guest-run.service"
while read -r unit; do
        ln -sf /dev/null "$root/etc/systemd/system/$unit"
done <"$here/image/masked"
useradd --prefix "$root" -u 1000 -U -m -s /bin/bash u1000
useradd --prefix "$root" -u 1001 -U -m -s /bin/bash u1001
echo guest >"$root/etc/hostname"
echo 00000000000000000000000000c0ffee >"$root/etc/machine-id"
mkdir -p "$root/etc/systemd/journald.conf.d"
printf '[Journal]\nStorage=volatile\nRateLimitBurst=0\n' >"$root/etc/systemd/journald.conf.d/guest.conf"
rm -rf "$root/var/cache/apt" "$root/var/lib/apt/lists"
# Without these files, the services that update caches for a new /usr would run at each boot.
touch "$root/etc/.updated" "$root/var/.updated"

mke2fs -q -t ext4 -d "$root" "$work/root.ext4" 1200M >&2
mkdir "$work/image"
mv "$work/vmlinuz" "$work/initrd.cpio" "$work/root.ext4" "$work/image/"
[ "$architecture" != amd64 ] || cc -O2 -o "$work/image/tsc-khz" "$here/image/tsc-khz.c"
touch "$work/image/complete"
mv "$work/image" "$image"
echo "$image"
