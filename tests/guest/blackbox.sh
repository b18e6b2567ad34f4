# SPDX-License-Identifier: LGPL-2.1-or-later
# The black box with systemd: OnFailure=ktrace-last@%n.service of a service that crashes.

failure_end() {
        systemctl stop crashes.service || true
        systemctl reset-failed crashes.service || true
        rm -rf /run/systemd/system/crashes.service /var/lib/ktrace-last
        systemctl daemon-reload
        ktracectl blackbox disable || true
        leave_case
}
crashes() { # runs the service until it has failed, and ktrace-last@ has ended
        systemctl start crashes.service
        within 30 has_failed || fail "$(systemctl status crashes.service)"
        within 30 [ -s /var/lib/ktrace-last/crashes.service.dat ] || fail "$(journalctl -u 'ktrace-last@*' -o cat)"
}
has_failed() { [ "$(systemctl is-failed crashes.service)" = failed ]; }
kept() { ktracectl report /var/lib/ktrace-last/crashes.service.dat; }

case_last_of_failed_unit() { # a service that crashes leaves the last seconds in a file that only root can read
        trap failure_end EXIT
        ktracectl blackbox enable --preset calls --memory 16M
        cat >/run/systemd/system/crashes.service <<EOS
[Unit]
OnFailure=ktrace-last@%n.service
[Service]
User=$USER_UID
WorkingDirectory=$T
ExecStart=$APP crash
EOS
        systemctl daemon-reload
        crashes
        local pid
        pid=$(systemctl show -P ExecMainPID crashes.service)
        same "600 root" "$(stat -c '%a %U' /var/lib/ktrace-last/crashes.service.dat)" "the file"
        ! user cat /var/lib/ktrace-last/crashes.service.dat 2>err || fail "the user of the service reads it"
        kept >all
        same 1 "$(grep -cE "^ *app-$pid .* sys_enter_write: .* count: 0x0*17$" all)" "requests of the service"
        grep -qE "^ *app-$pid .* signal_generate: +sig=6 " all || fail "no abort: $(grep "app-$pid" all | tail -n 5)"
        expect 0 ktracectl last -u crashes.service
        grep -qE "^ *app-$pid .* signal_generate: +sig=6 " out || fail "$(tail -n 5 out)"
        # The next failure takes its place.
        crashes
        within 20 sh -c '[ $(ls /var/lib/ktrace-last | wc -l) = 1 ]' || fail "$(ls -a /var/lib/ktrace-last)"
        ktracectl blackbox disable
        ! systemctl is-enabled ktrace-session@blackbox.service || fail "still enabled"
        within 20 no_instance || fail "its instance is left"
}

# The black box for users: what they get, and that it is all that they get.
box_end() {
        ktracectl blackbox disable || true
        leave_case
}
box_begin() { # starts it, and waits until it answers users
        trap box_end EXIT
        ktracectl blackbox enable --preset calls --memory 64M
        within 20 user ktracectl last --since 1ms || fail "$(user ktracectl last --since 1ms 2>&1)"
        sleep 3 # the second reading of /proc
}
writes() { count_events ".event == \"sys_enter_write\" and .pid == $2" <"$1"; }

case_last_of_user() { # a user reads what own programs did before it asked, and nothing of other users
        box_begin
        local mine theirs
        user sh -c "echo \$\$ >mine; exec $APP 5" &
        stranger sh -c "cd /tmp; echo \$\$; exec sleep 0.2" >theirs
        wait $!
        mine=$(cat mine) theirs=$(cat theirs)
        expect 0 user ktracectl last --since 5min -o mine.json
        expect 0 user ktracectl last --since 5min -p "$mine" --to calls
        same 5 "$(grep -cE '^\[pid +[0-9]+\] write\(.*\) = 23$' out)" "printed calls"
        expect 0 user ktracectl last --since 5min summary
        grep -qE '^write +[0-9]+ ' out || fail "$(cat out)"
        expect 0 user ktracectl last -o whole.dat
        grep -q "app-$mine" <(ktracectl report whole.dat) || fail "no name: $(ktracectl report whole.dat | tail -n 3)"
        # The primary group counts, and the bus sorts the groups.
        expect 0 setpriv --reuid="$USER_UID" --regid="$USER_UID" --groups=24 \
                ktracectl last --since 5min -p "$mine" -o again.json
        expect 0 ktracectl last --since 5min -p "$mine,$theirs" -o all.json
        # One more is the shell's, which has become the program.
        same 6 "$(writes mine.json "$mine")" "writes of the user's program"
        same 0 "$(count_events ".pid == $theirs" <mine.json)" "records of the stranger"
        same 0 "$(count_events '.pid == 0 or .pid == 1' <mine.json)" "records of the system"
        # A user who changes the own shell or name ends nobody's past.
        chsh -s /bin/bash daemon
        chsh -s /usr/sbin/nologin daemon
        expect 0 user ktracectl last --since 5min -p "$mine" -o changed.json
        same 6 "$(writes again.json "$mine")" "writes at a later time"
        same 6 "$(writes changed.json "$mine")" "writes after a change of /etc/passwd"
        same 6 "$(writes all.json "$mine")" "writes for root, after the user's snapshots"
        [ "$(count_events ".pid == $theirs" <all.json)" -gt 0 ] || fail "root has no records of the stranger"
}

# becomes_known PID: waits until the user gets records of the process. /proc must have been read twice, which pauses for
# longer than it takes, and a user may ask 12 times in a minute.
becomes_known() {
        for _ in 1 2 3 4 5 6 7 8; do
                user ktracectl last --since 5min -p "$1" -o known.json 2>err || true
                [ ! -e known.json ] || [ "$(count_events ".pid == $1" <known.json)" = 0 ] || return 0
                rm -f known.json
                sleep 6
        done
        fail "process $1 is not known: $(cat err)"
}

case_last_of_earlier() { # [deep] a user reads what programs did that ran before the black box, whatever others do
        # All the time another user's process asks not to be dumped.
        background stranger python3 -c 'import ctypes
libc = ctypes.CDLL(None)
while True:
    libc.prctl(4, 1, 0, 0, 0)
    libc.prctl(4, 0, 0, 0, 0)'
        local flood=$BACKGROUND mine
        background user sh -c 'echo $$ >mine; until [ -e go ]; do sleep 0.1; done
                for i in 1 2 3 4 5; do echo $i >>lines; done
                (echo 6 >>lines)'
        within 10 [ -s mine ]
        mine=$(cat mine)
        box_begin
        becomes_known "$mine"
        touch go
        wait "$BACKGROUND" || true
        expect 0 user ktracectl last --since 5min -p "$mine" -o mine.json
        kill "$flood"
        same 5 "$(writes mine.json "$mine")" "writes of the program"
}

# Whether a user is refused because the history begins anew.
is_refused() { ! user ktracectl last --since 1ms >/dev/null 2>err && grep -q 'cannot answer now: try again' err; }

case_last_of_taken() { # [deep] a program that reads the history's records begins the history anew
        box_begin
        local instance
        instance=$(grep -l 1 "$TRACEFS"/instances/*/events/ktrace_history/enable)
        instance=${instance%/events/*}
        dd if="$instance/trace_pipe" iflag=nonblock of=/dev/null count=1 2>dd.err || true
        is_refused || fail "$(cat err)"
        within 20 user ktracectl last --since 1ms || fail "$(user ktracectl last --since 1ms 2>&1)"
        [ ! -e "$instance" ] || fail "it is the same instance"
}

silent_end() {
        echo 1 >/sys/kernel/debug/kprobes/enabled
        box_end
}
case_last_of_silent() { # [deep] users get nothing while the probes of the history do not run
        mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
        box_begin
        trap silent_end EXIT
        echo 0 >/sys/kernel/debug/kprobes/enabled
        sleep 7 # the probes are tried out every 5 seconds
        is_refused || fail "$(cat err)"
        echo 1 >/sys/kernel/debug/kprobes/enabled
        within 20 user ktracectl last --since 1ms || fail "$(user ktracectl last --since 1ms 2>&1)"
}

births_end() {
        rmdir "$TRACEFS/instances/births" || true
        box_end
}
case_last_of_workers() { # [deep] the history has the births of threads that the kernel makes for io_uring
        box_begin
        mkdir "$TRACEFS/instances/births"
        trap births_end EXIT
        echo 1 >"$TRACEFS/instances/births/events/ktrace_history/ktrace_history_birth/enable"
        user python3 -c 'import ctypes, struct
SYS_io_uring_setup, IORING_SETUP_SQPOLL = 425, 2
params = ctypes.create_string_buffer(struct.pack("IIIII", 0, 0, IORING_SETUP_SQPOLL, 0, 1), 120)
if ctypes.CDLL(None).syscall(SYS_io_uring_setup, 4, params) < 0:
    raise SystemExit("io_uring_setup failed")'
        cat "$TRACEFS/instances/births/trace" >births
        # The flag PF_IO_WORKER is 0x10.
        grep -E '^ *python3-.* flags=0x[0-9a-f]*[13579bdf][0-9a-f] mm=0x[0-9a-f]{4,} level=0$' births ||
                fail "$(cat births)"
}

# Each way to change credentials that a user's process has, see BLACK BOX in ktraced(8). After it, each process writes
# 20 times. One write before has the number of the process.
case_last_of_changed() { # of a process that changes credentials, a user reads what it did as a plain process only
        box_begin
        install -m 755 "$APP" capable-app
        setcap cap_net_raw+ep capable-app
        user python3 - <<'EOP' || fail "the script: $?"
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWUSER, JOIN_SESSION_KEYRING, SESSION_TO_PARENT = 0x10000000, 1, 18
SYS_keyctl = {"x86_64": 250, "aarch64": 219}[os.uname().machine]

def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "of a change")

def unshare():
    check(libc.unshare(CLONE_NEWUSER))

def setns():
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        unshare()
        os.close(ready[1])
        os.read(go[0], 1)
        os._exit(0)
    os.close(ready[1])
    os.close(go[0])
    os.read(ready[0], 1)
    fd = os.open(f"/proc/{child}/ns/user", os.O_RDONLY)
    check(libc.setns(fd, CLONE_NEWUSER))
    os.close(go[1])

def keyctl():
    check(libc.syscall(SYS_keyctl, JOIN_SESSION_KEYRING, None, 0, 0, 0)) # the one that it has is root's
    if os.fork() == 0:
        check(libc.syscall(SYS_keyctl, JOIN_SESSION_KEYRING, None, 0, 0, 0))
        check(libc.syscall(SYS_keyctl, SESSION_TO_PARENT, 0, 0, 0, 0))
        os._exit(0)
    if os.wait()[1] != 0:
        os._exit(1)

def same():
    PR_SET_KEEPCAPS = 8
    check(libc.prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0))
    os.access("/", os.R_OK)

def capable():
    os.execv("./capable-app", ["app", "20"])

for change in unshare, setns, keyctl, same, capable:
    if os.fork() == 0:
        fd = os.open(change.__name__, os.O_CREAT | os.O_WRONLY)
        os.write(fd, b"%d" % os.getpid())
        os.dup2(fd, 2)
        change()
        for i in range(20):
            os.write(2, b"\n")
        os._exit(0)
    if os.wait()[1] != 0:
        raise SystemExit(change.__name__)
EOP
        expect 0 user ktracectl last --since 5min -o mine.json
        local change
        for change in unshare setns capable; do
                same 1 "$(writes mine.json "$(head -n 1 $change)")" "writes of $change"
        done
        for change in keyctl same; do
                same 21 "$(writes mine.json "$(head -n 1 $change)")" "writes of $change"
        done
}

# unread UID...: each of these users makes records, opens two streams of the black box, and reads nothing.
unread() {
        cat >unread.py <<'EOP'
import json, os, socket, sys, time
sink = os.open("/dev/null", os.O_WRONLY)
for i in range(20000): # more than a pipe takes
    os.write(sink, b"x")
time.sleep(2)
sockets, streams = [], []
while len(streams) < 2:
    sockets.append(socket.socket(socket.AF_UNIX))
    sockets[-1].connect("/run/ktrace/org.ktrace1")
    sockets[-1].sendall(json.dumps({"method": "org.ktrace1.OpenBlackBox", "parameters": {}}).encode() + b"\0")
    answer, fds, _, _ = socket.recv_fds(sockets[-1], 65536, 1)
    streams += fds
    if not fds and b"LimitReached" in answer:
        sys.exit(answer)
    time.sleep(0.2)
print("open", flush=True)
time.sleep(600)
EOP
        chmod 755 . && chmod 644 unread.py
        local uid
        for uid in "$@"; do
                AS_EXEC=exec as "$uid" python3 unread.py >"unread.$uid" 2>&1 &
                started+=($!)
        done
        for uid in "$@"; do within 120 grep -q open "unread.$uid" || fail "$uid: $(cat "unread.$uid")"; done
}
streams() { ktracectl --json=short status | jq '[.daemon.consumers[] | select(.session == "")] | length'; }
has_streams() { [ "$(streams)" = "$1" ]; }

case_last_unread() { # [deep] users who do not read their streams keep a bounded memory, and all others are served
        box_begin
        unread 2001 2002 2003 2004 2005
        within 20 has_streams 8 || fail "$(streams) streams: $(ktracectl --json status)"
        journalctl -u ktraced -o cat | grep 'ended a stream of the black box that uid 2' || fail "not in the journal"
        figure "memory of 8 unread streams" "$(ktracectl --json=short status |
                jq '[.daemon.consumers[] | select(.session == "") | ."memory-kb"] | add') KB"
        expect 0 user ktracectl last --since 5min summary
        expect 0 ktracectl last --since 5min summary
}
