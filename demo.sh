#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# demo.sh: installs what is missing, builds, and shows the main job: an ordinary user records a real kernel
# trace over a private bus. Changes nothing on the machine but packages (and the folder `build` here). Where the
# kernel has no tracefs, the same runs in the test guest, whose image is kept in /var/cache/ktrace-guest. Needs root.
# demo.sh --shell [root]: a shell of such a user, or root's, on the same private bus, to try ktracectl without
# installing it.
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
        (cd "$home" && setpriv --reuid="$uid" --regid="$uid" --clear-groups env HOME="$home" bash ./demo.sh show) ||
                status=$?
        rm -rf "$home"
        [ "$status" = 0 ] || exit "$status"
        echo
        echo '# ktracectl verify, as root'
        ktracectl verify
}

# Prints what a new user must know.
welcome() { # UID
        echo "# ktracectl is in PATH, 'man ktracectl' shows its page. Everything here is removed at 'exit'."
        if [ "$1" = 0 ]; then
                echo "# You are root, who may record everything:  ktracectl record -a -e sched:sched_switch -- sleep 1"
                echo "# Only 'ktracectl blackbox' needs an installation, because systemd runs it."
        else
                echo "# You are an ordinary user, who may record their own processes. Try:"
                echo "#   ktracectl record -e openat -- ls        # which suggests names of events"
                echo "#   ktracectl record -e 'syscalls:*' -o t.dat -- ls; ktracectl report t.dat"
                echo "# There is no sudo and no polkit here: 'sudo ./demo.sh --shell root' is root's shell."
        fi
        [ -e /sys/kernel/tracing/kprobe_events ] ||
                echo "# This kernel has no kprobes: probes in the kernel, such as 'file_open_result', are unavailable."
}

# As root, in the private stage: its shell for UID, then everything that was made there goes.
play() { # UID
        local home uid=$1 source=$PWD
        home=$(mktemp -d /tmp/ktrace-play.XXXXXX)
        for page in man/*.[1578]; do
                install -D -m 644 -t "$home/.man/man${page##*.}" "$page"
        done
        { echo "PS1='ktrace-play:\\W\\$ '"; cat units/completion/bash/ktracectl; } >"$home/.bashrc"
        chown -R "$uid:$uid" "$home"
        welcome "$uid"
        cd "$home"
        # A trace of one's own processes needs no_new_privs where the kernel has no kprobes.
        setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs env -u BASH_ENV HOME="$home" \
                USER="$(id -nu "$uid")" \
                PATH="$NATIVE/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" MANPATH="$home/.man:" \
                KTRACE_VARLINK_ADDRESS="unix:$NATIVE/run/org.ktrace1" \
                bash --rcfile "$home/.bashrc" || true
        cd "$source"
        rm -rf "$home"
        ktracectl --no-legend --no-pager list | while read -r id _; do
                ktracectl destroy "$id"
        done
}

# Is there a tracefs that may be written? Tried in a mount namespace that ends with the answer.
tracefs_usable() {
        unshare -m --propagation private sh -c '
                mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing || exit 1
                rmdir "$(mktemp -d /sys/kernel/tracing/instances/demo.XXXXXX)"' 2>/dev/null
}

build_all() { # COMMAND: how root calls this
        [ "$(id -u)" = 0 ] || { echo "demo.sh: root is needed, to install packages and for tracefs: $1" >&2; exit 1; }
        tests/packages.sh build run
        [ -e build/build.ninja ] || meson setup build --prefix=/usr --sysconfdir=/etc --localstatedir=/var >/dev/null
        ninja -C build >/dev/null
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
play) play "$2" ;;
--shell)
        uid=61000
        [ "${2:-}" != root ] || uid=0
        build_all "sudo ./demo.sh $*"
        tracefs_usable ||
                { echo 'demo.sh: no usable tracefs here: the demo runs in a guest, a shell does not' >&2; exit 1; }
        exec tests/native/stage.sh build "$PWD/demo.sh" play $uid
        ;;
'')
        build_all 'sudo ./demo.sh'
        if tracefs_usable; then
                tests/native/stage.sh build "$PWD/demo.sh" root 61000
        else
                echo '# no usable tracefs here: the same in a guest'
                in_guest
        fi
        ;;
*)
        echo 'usage: demo.sh [--shell [root]]' >&2
        exit 2
        ;;
esac
