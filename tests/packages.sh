#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# packages.sh GROUP...: installs what is missing of the groups build, run, test, deep, bench, without questions.
# The groups package and chroot are for the chroots of tests/package and tests/trixie.
# packages.sh --list GROUP...: prints the names of the packages instead.
set -eu
build='gcc libc6-dev meson ninja-build pkg-config libsystemd-dev libjson-c-dev libseccomp-dev libtraceevent-dev
        libzstd-dev libbpf-dev libgcrypt20-dev libglib2.0-dev libelf-dev libdw-dev libiberty-dev libzydis-dev
        zlib1g-dev libcurl4-openssl-dev libmicrohttpd-dev libnats-dev libxxhash-dev'
run='dbus jq trace-cmd util-linux systemd procps'
guest='qemu-system-x86 qemu-system-data seabios mmdebstrap debian-archive-keyring cpio e2fsprogs xz-utils kmod'
test="$run $guest libglib2.0-bin groff-base locales python3 python3-dbus python3-jsonschema strace varlink-go socat fish
        tmux abigail-tools babeltrace2 python3-bt2 protobuf-compiler mypy python3-pandas python3-pip
        python3-setuptools prometheus prometheus-alertmanager prometheus-node-exporter openssl libcurl4 openssh-client
        openssh-server nats-server"
deep='clang libclang-rt-dev chromium-headless-shell nodejs qemu-system-arm default-jdk-headless
        podman crun conmon uidmap libkshark-dev'
bench="$run linux-perf python3 dbench gcc procps prometheus-node-exporter nats-server"
package='build-essential lintian devscripts blhc appstream apparmor systemd systemd-sysv dbus polkitd'
chroot='ccache libglib2.0-bin locales python3 strace varlink-go fuse3 ca-certificates passwd'

# Debian 13 has no clang-format 14: there the test of the formatting is skipped.
. /etc/os-release
[ "$VERSION_CODENAME" != bookworm ] || test="$test clang-format-14"

lists=
[ "$1" != --list ] || { lists=yes; shift; }

missing=
for group in "$@"; do
        eval "names=\$$group"
        [ -z "$lists" ] || { missing="$missing $names"; continue; }
        for name in $names; do
                [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] ||
                        missing="$missing $name"
        done
done
[ -n "$missing" ] || exit 0
# shellcheck disable=SC2086 # words are wanted
[ -z "$lists" ] || { echo $missing; exit 0; }
[ "$(id -u)" = 0 ] || { echo "packages: these are missing and only root can install them:$missing" >&2; exit 1; }
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # words are wanted
install() { apt-get install -y -qq --no-install-recommends $missing >/dev/null; }
install 2>/dev/null || { apt-get update -qq && install; }
