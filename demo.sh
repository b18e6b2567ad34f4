#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# demo.sh: installs what is missing, builds, and shows the main job: an ordinary user records a real kernel
# trace over a private bus. Changes nothing on the machine but packages (and the folder `build` here). Where the
# kernel has no tracefs, the same runs in the test guest, whose image is kept in /var/cache/ktrace-guest. Needs root.
set -eu
cd "$(dirname "$0")"

# say COMMAND...: shows the command and its last lines.
say() {
        local status=0
        echo
        echo "\$ $*"
        bash -c "$*" >"$demo_log" 2>&1 || status=$?
        tail -n "${LINES_SHOWN:-8}" "$demo_log"
        return $status
}

# As the unprivileged user, in a folder of its own, with ktracectl in PATH and the bus known.
show() {
        demo_log=$(mktemp)
        trap 'rm -f "$demo_log"' EXIT
        echo "# $(uname -sr), as uid $(id -u)"
        say "ktracectl record -e 'sched:sched_process_*' -e raw_syscalls:sys_enter -o t.dat -- ls -R /usr/share" ||
                echo "# status $?, as ls ends when a folder is closed to it"
        say ktracectl report t.dat
        say trace-cmd report t.dat
        say "ktracectl convert t.dat --to json | jq -c ."
        LINES_SHOWN=3 say "ktracectl record -e raw_syscalls:sys_enter -o - -- true"
}

# As root, beside a daemon: natively in the private stage, in the guest on the system bus.
as_root() {
        local home uid=$1 status=0
        home=$(mktemp -d /tmp/ktrace-demo.XXXXXX)
        chown "$uid:$uid" "$home"
        cp "$0" "$home/demo.sh"
        (cd "$home" && setpriv --reuid="$uid" --regid="$uid" --clear-groups env HOME="$home" bash ./demo.sh show) || status=$?
        rm -rf "$home"
        [ "$status" = 0 ] || exit "$status"
        echo
        echo '# ktracectl verify, as root'
        ktracectl verify
}

# Is there a tracefs that may be written? Told in a mount namespace that goes away with the answer.
tracefs_usable() {
        unshare -m --propagation private sh -c '
                mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing || exit 1
                rmdir "$(mktemp -d /sys/kernel/tracing/instances/demo.XXXXXX)"' 2>/dev/null
}

in_guest() {
        tests/packages.sh guest
        job=$(mktemp -d)
        trap 'rm -rf "$job"' EXIT
        DESTDIR=$job/root meson install -C build --no-rebuild --quiet >/dev/null
        cp demo.sh tests/guest/install.sh "$job/"
        echo 'sh ./install.sh && bash ./demo.sh root 1000' >"$job/run"
        tests/guest/run-guest.sh "$job"
}

case ${1:-} in
show) show ;;
root) as_root "$2" ;;
'')
        [ "$(id -u)" = 0 ] || { echo 'demo.sh: only root can show it: sudo ./demo.sh' >&2; exit 1; }
        tests/packages.sh build run
        [ -e build/build.ninja ] || meson setup build --prefix=/usr --sysconfdir=/etc --localstatedir=/var >/dev/null
        ninja -C build >/dev/null
        if tracefs_usable; then
                tests/native/stage.sh build "$PWD/demo.sh" root 61000
        else
                echo '# no usable tracefs here: the same in a guest'
                in_guest
        fi
        ;;
*)
        echo 'usage: demo.sh' >&2
        exit 2
        ;;
esac
