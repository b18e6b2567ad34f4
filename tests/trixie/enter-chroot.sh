#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# enter-chroot.sh ROOT SOURCE [TEST...]: builds SOURCE in ROOT and runs the unit tests, all but those that the file
# $LEFT_OUT names. $MESON_OPTIONS has more options for the build. With INSTALL=1 it installs the build in the folder
# `installed` of the build folder and prints the path of the build folder, instead of running tests. unit.sh starts it
# as the first process of its own namespaces, so its mounts are private and are gone when it ends.
set -eu -o pipefail
root=$1 source=$2
shift 2

mount --make-rprivate /
mount --bind "$root" "$root" # tests change how / is shared, so it must be a mount
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
mount --bind "$source" "$root/source"
mount -o remount,bind,ro "$root/source"

# Each tree has a build folder of its own: ninja compares times, and those of two trees say nothing together.
build=/build/$(printf %s "$source" | sha256sum | cut -c1-16)
mkdir -p "$root$build"
in_chroot() {
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 CCACHE_DIR=/var/cache/ccache \
                CCACHE_BASEDIR=/source chroot "$root" "$@"
}
log=$build/unit.log
# shellcheck disable=SC2086 # several options
[ -e "$root$build/build.ninja" ] ||
        in_chroot meson setup "$build" /source --prefix=/usr --sysconfdir=/etc --localstatedir=/var \
                ${MESON_OPTIONS:-} >"$root$log" ||
        { cat "$root$log" >&2; exit 1; }
in_chroot ninja -C "$build" >"$root$log" 2>&1 ||
        { grep -vE '^\[[0-9]+/' "$root$log" | tail -n 60 >&2; exit 1; }
if [ -n "${INSTALL:-}" ]; then
        rm -rf "$root$build/installed"
        in_chroot env DESTDIR="$build/installed" meson install -C "$build" --no-rebuild --quiet >&2
        echo "$root$build"
        exit
fi
if [ $# = 0 ] && [ -n "${LEFT_OUT:-}" ]; then
        mapfile -t tests < <(in_chroot meson test -C "$build" --list --suite unit 2>/dev/null |
                sed -n 's:.* / ::p' | grep -vxFf <(sed '/^#/d; s/ .*//' "$LEFT_OUT"))
        set -- "${tests[@]}"
fi
in_chroot rm -f "$build"/meson-logs/testlog.json
in_chroot meson test -C "$build" --no-rebuild --suite unit --timeout-multiplier 4 "$@" >"$root$log" 2>&1 || true
[ -s "$root$build/meson-logs/testlog.json" ] || { cat "$root$log" >&2; exit 1; }
in_chroot jq -rf /source/tests/meson-tap.jq "$build/meson-logs/testlog.json" | tee "$root$build/unit.tap"
! grep -q '^not ok ' "$root$build/unit.tap"
