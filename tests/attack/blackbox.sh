# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks on the black box of root: a user asks it about others, and about what the user's own programs keep secret.

# box_open: starts it, and waits until it knows the tasks that live.
box_open() {
        box_start
        within 30 user ktracectl last --since 1ms || fail "$(user ktracectl last --since 1ms 2>&1)"
        sleep 1
}
box_start() {
        trap box_end EXIT
        ktracectl create blackbox --mode flight --scope system -b 8192 -e syscalls:sys_enter_write \
                -e sched:sched_process_exec
        ktracectl start blackbox
}
box_end() {
        ktracectl destroy blackbox || true
        leave_case
}
# count_writes COMMAND...: sets N to how many writes of process $PID the black box shows to the caller that the command
# makes. A user has a number of calls in a minute.
count_writes() {
        within 60 is_decided "$@" || true
        [ "$STATUS" = 0 ] || fail "status $STATUS: $(cat err)"
        N=$(count_events '.event == "sys_enter_write"' <records)
}
is_decided() {
        STATUS=0
        "$@" ktracectl $DOOR last --since 10min -p "$PID" -o - --to json >records 2>err || STATUS=$?
        [ $STATUS = 0 ] || ! grep -q 'try again' err
}
DOOR=
root() { "$@"; }
# gained OWN [COMMAND...]: ends a case that is about process $PID. The user, or the caller that the command makes, may
# see OWN of its writes: those that it made as a plain process of the user. Root sees more.
gained() {
        local own=$1 all
        shift
        count_writes root
        all=$N
        count_writes "${@:-user}"
        echo "$all writes were recorded, $own are the user's, the user has $N"
        [ "$all" -gt "$own" ] || fail "no other writes of $PID were recorded"
        verdict "$((N > own ? N - own : 0))" "writes of the process"
}
# pid_from FILE: the process has written its number into it.
pid_from() { PID=$(cat "$1"); }

case_black_box() { # read what all processes did, from the black box of root
        defended_by black-box
        box_open
        stranger sh -c "echo \$\$ >/tmp/stranger; echo secret; exit"
        pid_from /tmp/stranger
        local bus
        count_writes user
        bus=$N
        DOOR=--varlink count_writes user
        verdict "$bus" "$N" "records of another user"
}

case_black_box_setuid() { # [open] read what a set-user-id program did that the user started
        defended_by history-credentials history-dumpable
        box_open
        install -m 4755 "$APP" setuid-app
        user sh -c "echo \$\$ >pid; exec ./setuid-app 2" || true
        pid_from pid
        gained 1
}

case_black_box_threads() { # [deep] read what a set-user-id program did that a thread of the user's process started
        defended_by history-credentials history-dumpable
        box_open
        install -m 4755 "$APP" setuid-app
        user python3 - <<'EOP' || true
import os, threading
with open("pid", "w") as file:
    file.write(str(os.getpid()))
threading.Thread(target=lambda: os.execv("./setuid-app", ["app", "5"])).start()
threading.Event().wait()
EOP
        pid_from pid
        gained 1
}

case_black_box_unreadable() { # [deep] read what a program did that the user may execute but not read
        defended_by history-dumpable
        box_open
        install -m 711 "$APP" unreadable-app
        user sh -c "echo \$\$ >pid; exec ./unreadable-app 2"
        pid_from pid
        gained 1
}

case_black_box_undumpable() { # read what a program did after one of its threads had asked that it is not read
        defended_by history-dumpable
        box_open
        user python3 - <<'EOP' 2>secrets
import ctypes, os, threading
with open("pid", "w") as file:
    file.write(str(os.getpid()))
PR_SET_DUMPABLE = 4
thread = threading.Thread(target=lambda: ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
thread.start()
thread.join()
for i in range(20):
    os.write(2, b"secret\n")
EOP
        pid_from pid
        gained 1
}

case_black_box_namespace() { # read what a task did in a user namespace, where it has capabilities
        defended_by history-namespace
        box_open
        user python3 - <<'EOP' 2>secrets
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
        pid_from pid
        gained 0
}

case_black_box_commit() { # [deep] read what a task did after it had entered a user namespace
        defended_by history-commit
        box_open
        user python3 - <<'EOP' 2>secrets
import ctypes, os
CLONE_NEWUSER = 0x10000000
with open("pid", "w") as file:
    file.write(str(os.getpid()))
if ctypes.CDLL(None).unshare(CLONE_NEWUSER) != 0:
    os._exit(1)
for i in range(20):
    os.write(2, b"secret\n")
EOP
        pid_from pid
        gained 1
}

case_black_box_past() { # read what a process did before another user's process became the user's
        defended_by history-past
        box_open
        sh -c "echo \$\$ >pid; chmod 644 pid; for i in 1 2 3 4 5 6 7 8 9; do echo secret >&2; done; sleep 0.1
                exec setpriv --reuid=$USER_UID --regid=$USER_UID --clear-groups true" 2>secrets
        pid_from pid
        gained 0
}

# reuse: root's process with the number $PID writes 20 times.
reuse() {
        taskset -c 0 python3 - "$PID" <<'EOP' 2>secrets
import os, sys
wanted = int(sys.argv[1])
for i in range(1000):
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(wanted - 1))
    pid = os.fork()
    if pid == 0:
        if os.getpid() == wanted:
            for i in range(20):
                os.write(2, b"secret\n")
        os._exit(0)
    os.waitpid(pid, 0)
    if pid == wanted:
        sys.exit()
sys.exit("the number is in use")
EOP
}
case_black_box_reuse() { # read what root's process did that has the number of an earlier process of the user
        defended_by history-ends
        box_open
        user sh -c "echo \$\$ >pid; exit"
        pid_from pid
        reuse
        gained 1
}

# history_reader: prints the pid of the process that reads the history. Only that has this file.
history_reader() {
        local file
        for file in /proc/[0-9]*/fd/*; do
                case $(readlink "$file") in
                */kprobe_profile) file=${file#/proc/} && echo "${file%%/*}" ;;
                esac
        done 2>/dev/null
}
# overload: the machine is too slow for the reader, and a flood of changes of dumpability fills the ring of CPU 0.
overload() {
        READER=$(history_reader)
        [ -n "$READER" ] || fail "no process reads the history"
        kill -STOP "$READER"
        user taskset -c 0 python3 - <<'EOP'
import ctypes
libc = ctypes.CDLL(None)
PR_SET_DUMPABLE = 4
for i in range(60000):
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
open("go", "w").close()
EOP
        wait "$BACKGROUND" || true
}
relieve() {
        kill -CONT "$READER"
        sleep 1
}
case_black_box_losses() { # [deep] read what a set-user-id program did, after a flood of records has hidden its start
        defended_by history-losses
        box_open
        install -m 4755 "$APP" setuid-app
        background user taskset -c 0 sh -c "echo \$\$ >pid; until [ -e go ]; do sleep 0.1; done; exec ./setuid-app 5"
        within 10 [ -s pid ]
        overload
        relieve
        pid_from pid
        gained 1
}

case_black_box_births() { # [deep] read what root's process did with a number of the user's, after its birth was lost
        defended_by history-losses
        box_open
        background user taskset -c 0 sh -c "echo \$\$ >pid; until [ -e go ]; do sleep 0.1; done; exit"
        within 10 [ -s pid ]
        overload
        pid_from pid
        reuse
        relieve
        gained 1
}

case_black_box_disturbed() { # [deep] read what a set-user-id program did that started while root had the history off
        defended_by history-disturbed
        box_open
        install -m 4755 "$APP" setuid-app
        background user sh -c "echo \$\$ >pid; until [ -e go ]; do sleep 0.1; done; exec ./setuid-app 5"
        within 10 [ -s pid ]
        sleep 1 # the history has read its birth
        local file
        file=$(grep -l 1 "$TRACEFS"/instances/*/events/ktrace_history/enable)
        file=${file%/events/*}/tracing_on
        echo 0 >"$file"
        touch go
        wait "$BACKGROUND" || true
        (echo 1 >"$file") 2>/dev/null || true # with the defence it is gone
        pid_from pid
        gained 1
}

case_black_box_seed() { # [deep] read what set-user-id programs did that were plain programs when /proc was read
        defended_by history-seed
        install -m 4755 "$APP" setuid-app
        cat >late.py <<'EOP'
import os, time
begin, end = os.pipe()
pids = []
for i in range(100):
    pids.append(os.fork())
    if pids[-1] == 0:
        os.close(end)
        os.read(begin, 1)
        time.sleep(i * 0.1)
        os.execv("./setuid-app", ["app", "100"])
with open("new", "w") as file:
    file.write(",".join(map(str, pids)))
os.rename("new", "pids")
while not os.path.exists("go"):
    time.sleep(0.1)
os.close(end)
for pid in pids:
    os.waitpid(pid, 0)
EOP
        background user python3 late.py
        within 60 [ -e pids ] || fail "$(cat background.err)"
        box_start
        touch go
        wait "$BACKGROUND" || true
        within 30 user ktracectl last --since 1ms || fail "$(user ktracectl last --since 1ms 2>&1)"
        pid_from pids
        gained 0
}

# share_memory: the numbers of two processes that share memory are in the file `pid`. When the file `go` is there, one
# asks that it is not read, and the other one writes 20 times.
share_memory() {
        background user "$ATTACK_TOOLS/actor" sharers go
        within 10 [ -s pid ] || fail "$(cat background.err)"
        pid_from pid
}
case_black_box_shared() { # read what a process did after another one had asked that their memory is not read
        defended_by history-dumpable
        box_open
        share_memory
        touch go
        wait "$BACKGROUND" || true
        gained 0
}

case_black_box_shared_before() { # [deep] the same, with processes that shared it before the black box began
        defended_by history-dumpable
        share_memory
        box_open
        sleep 4
        touch go
        wait "$BACKGROUND" || true
        gained 0
}

case_black_box_failed_exec() { # [deep] read what root's process did with the number of a thread whose exec failed
        defended_by history-ends
        box_open
        user python3 - "$APP" <<'EOP' || true
import os, struct, sys, threading
elf = bytearray(open(sys.argv[1], "rb").read())
start, size, n = struct.unpack_from("<Q", elf, 32)[0], *struct.unpack_from("<HH", elf, 54)
for at in range(start, start + n * size, size):
    if struct.unpack_from("<I", elf, at)[0] == 1: # PT_LOAD: to an address that does not exist
        struct.pack_into("<Q", elf, at + 16, struct.unpack_from("<Q", elf, at + 16)[0] | 0xffff << 48)
with open("broken", "wb") as file:
    file.write(elf)
os.chmod("broken", 0o755)
def run():
    with open("pid", "w") as file:
        file.write(str(threading.get_native_id()))
    os.execv("./broken", ["broken"])
threading.Thread(target=run).start()
threading.Event().wait()
EOP
        pid_from pid
        reuse
        gained 1
}

case_black_box_dynamic() { # [deep] read what a service did whose dynamic user had the number before
        defended_by history-dynamic
        box_open
        as 61300 sh -c 'echo $$; echo secret >&2; exit' >pid 2>secrets
        pid_from pid
        DOOR=--varlink # the bus refuses uids without a user
        gained 0 as 61300
}

account_end() {
        userdel newcomer
        box_end
}
case_black_box_account() { # [deep] read what a deleted user did, after the user's number was given to another one
        defended_by history-accounts
        box_open
        useradd -M -u 1500 -U newcomer
        trap account_end EXIT
        within 30 as 1500 ktracectl last --since 1ms || fail "$(as 1500 ktracectl last --since 1ms 2>&1)"
        as 1500 sh -c 'echo $$; echo secret >&2; exit' >pid 2>secrets
        userdel newcomer
        useradd -M -u 1500 -U newcomer
        pid_from pid
        gained 0 as 1500
}

case_black_box_erase() { # [open] erase what the black box has of others: ask it, and leave before it is read
        local before
        defended_by snapshot-window
        box_open
        stranger sh -c "echo \$\$ >/tmp/stranger; for i in 1 2 3 4 5 6 7 8 9; do echo secret; done; exit"
        pid_from /tmp/stranger
        count_writes root
        before=$N
        [ "$before" -ge 10 ] || fail "$before writes were recorded"
        attack <<'EOP'
from attack import *
for i in range(8):
    try:
        os.close(manager.OpenBlackBox(dbus.Dictionary(signature="sv")).take())
    except dbus.DBusException as error:
        print(error)
    time.sleep(0.5)
EOP
        count_writes root
        echo "root had $before writes of the stranger, and has $N"
        verdict "$((before - N))" "erased records"
}

case_black_box_pin() { # [deep] keep memory of the machine: open the black box again and again, and read nothing
        defended_by black-box-streams
        box_open
        user dd if=/dev/zero of=/dev/null bs=1 count=60000 2>dd.err # more than a pipe takes
        sleep 1
        attack <<'EOP'
from attack import *
streams = []
for i in range(6):
    try:
        streams.append(manager.OpenBlackBox(dbus.Dictionary(signature="sv")).take())
    except dbus.DBusException as error:
        print(error)
    time.sleep(1)
print(len(streams), "streams")
with open("n", "w") as file:
    file.write(str(len(streams)))
EOP
        verdict "$(($(cat n) > 2 ? $(cat n) - 2 : 0))" "more streams than a user may leave unread"
}
