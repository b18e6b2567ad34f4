# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks on the black box of root: a user asks it about others, and about what the user's own programs keep secret.

# box_open: starts it, and waits until it knows the tasks that live.
box_open() {
        ktracectl create blackbox --mode flight --scope system -b 8192 -e syscalls:sys_enter_write -e sched:sched_process_exec
        ktracectl start blackbox
        within 30 user ktracectl last --since 1ms || fail "$(user ktracectl last 2>&1)"
        sleep 1
}
# writes WHO PID: how many writes of this task the black box shows to root, or to the user.
writes() {
        "$1" ktracectl last --since 1min -o - --to json 2>err | count_events ".event == \"sys_enter_write\" and .pid == $2"
}
root() { "$@"; }
# shown PID: ends the black box; prints the writes of the task that the user was shown. Root has them.
shown() {
        [ "$(writes root "$1")" -gt 0 ] || fail "no writes of $1 were recorded"
        writes user "$1"
}
# is_over PID
is_over() { ! kill -0 "$1"; }

case_black_box() { # read what all processes did, from the black box of root
        defended_by black-box
        box_open
        stranger sh -c "echo \$\$ >/tmp/stranger; echo secret; exit"
        local pid
        pid=$(cat /tmp/stranger)
        verdict "$(shown "$pid")" "$(user ktracectl --varlink last --since 1min --to json 2>err |
                count_events ".pid == $pid")" "records of another user"
}

case_black_box_setuid() { # [open] read what a set-user-id program did that the user started
        defended_by history-credentials history-dumpable
        box_open
        install -m 4755 "$APP" /run/setuid-app
        user sh -c "echo \$\$ >pid; exec /run/setuid-app 2" || true
        local n
        n=$(shown "$(cat pid)")
        rm -f /run/setuid-app
        # One is the shell's own.
        verdict "$((n > 1 ? n - 1 : 0))" "writes of the program"
}

case_black_box_unreadable() { # read what a program did that the user may execute but not read
        defended_by history-dumpable
        box_open
        install -m 711 "$APP" /run/unreadable-app
        user sh -c "echo \$\$ >pid; exec /run/unreadable-app 2"
        local n
        n=$(shown "$(cat pid)")
        rm -f /run/unreadable-app
        verdict "$((n > 1 ? n - 1 : 0))" "writes of the program"
}

case_black_box_undumpable() { # read what a program did after it had asked not to be read, by one of its threads
        defended_by history-dumpable
        box_open
        user python3 - <<'EOP'
import ctypes, os, threading
open("pid", "w").write(str(os.getpid()))
PR_SET_DUMPABLE = 4
thread = threading.Thread(target=lambda: ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
thread.start()
thread.join()
for i in range(20):
    os.write(2, b"secret\n")
EOP
        local n
        n=$(shown "$(cat pid)")
        # It writes its pid before.
        verdict "$((n > 10 ? n - 10 : 0))" "writes of the process"
}

case_black_box_namespace() { # read what a task did in a user namespace, where it has capabilities
        defended_by history-namespace
        box_open
        user python3 - <<'EOP'
import ctypes, os
CLONE_NEWUSER, SIGCHLD, SYS_clone = 0x10000000, 17, 56
pid = ctypes.CDLL(None).syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)
if pid == 0:
    for i in range(20):
        os.write(2, b"secret\n")
    os._exit(0)
open("pid", "w").write(str(pid))
os.waitpid(pid, 0)
EOP
        verdict "$(shown "$(cat pid)")" "writes of the task"
}

case_black_box_unshare() { # the same, with unshare(2)
        defended_by history-credentials
        box_open
        user unshare --user sh -c "echo \$\$ >pid; echo secret >&2; echo secret >&2"
        verdict "$(shown "$(cat pid)")" "writes of the task"
}

case_black_box_past() { # read what a process did before another user's process became the user's
        defended_by history-past
        box_open
        sh -c "echo \$\$ >pid; chmod 644 pid; for i in 1 2 3 4 5 6 7 8 9; do echo secret >&2; done; sleep 0.1
                exec setpriv --reuid=$USER_UID --regid=$USER_UID --clear-groups true"
        verdict "$(shown "$(cat pid)")" "writes of root's process"
}

case_black_box_commit() { # read what a process did after it took on another identity without an exec
        defended_by history-commit
        box_open
        # As a login service does: first a user's, with a program of that user, then root's.
        python3 - "$USER_UID" <<'EOP'
import os, sys
uid = int(sys.argv[1])
os.setresgid(uid, uid, 0)
os.setresuid(uid, uid, 0)
open("/tmp/pid", "w").write(str(os.getpid()))
os.setresuid(0, 0, 0)
for i in range(20):
    os.write(2, b"secret\n")
EOP
        verdict "$(shown "$(cat /tmp/pid)")" "writes of root's process"
}
