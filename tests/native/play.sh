# SPDX-License-Identifier: LGPL-2.1-or-later
# The shell for trying ktracectl without installing it. The stage already exists; `demo.sh --shell` makes its own.

play() { (cd "$here/../.." && ./demo.sh play "$1") >out 2>err; }

case_play_user() { # demo.sh --shell: an ordinary user records, reads the man page and leaves nothing
        play "$USER_UID" <<'COMMANDS'
id -u
pwd
ktracectl record -q -e raw_syscalls:sys_enter -o t.dat -- true && ktracectl report t.dat | grep -c sys_enter
ktracectl create stays --scope own -e raw_syscalls:sys_enter >/dev/null && ktracectl start stays &&
        ktracectl list --no-legend
man -w ktracectl
COMMANDS
        grep -qx "$USER_UID" out || fail "$(cat out)"
        grep -q 'stays .*running' out || fail "own processes are not traced: $(cat out err)"
        grep -q 'man1/ktracectl.1' out || command -v man >/dev/null || skip "no man here"
        grep -q 'man1/ktracectl.1' out || fail "no man page: $(cat out err)"
        home=$(grep -m 1 "^/tmp/ktrace-play" out) || fail "no home: $(cat out)"
        [ ! -e "$home" ] || fail "$home is left"
        same '' "$(ktracectl --no-legend list)" "sessions"
        [ -e $TRACEFS/kprobe_events ] || grep -q '^# This kernel has no kprobes' out || fail "not reported: $(cat out)"
}

case_play_root() { # demo.sh --shell root opens a root shell with the same daemon
        play 0 <<<'ktracectl record -q -a -e sched:sched_switch -o t.dat -- true && id -u'
        grep -qx 0 out || fail "$(cat out)"
}
