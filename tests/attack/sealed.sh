# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks on defences without a switch, which cannot be left out of a build. They run in the first pass only. A script
# prints GAINED for each success, and must print DONE.

# boasts: how often the script printed GAINED.
boasts() {
        grep -q '^DONE' said || fail "the attack did not come to its end: $(cat said)"
        cat said
        verdict "$(grep -c '^GAINED' said || true)" "things"
}

case_descriptors() { # reach the kernel's ring or the other end of the stream through a received descriptor
        defended_by
        attack >said 2>&1 <<'EOS'
from attack import *
import fcntl, mmap, stat
s = Session("own", **{"name": "fds"})
metadata = s.verbs.GetMetadata().take()
for name, fd in ("stream", s.stream), ("metadata", metadata):
    target = os.readlink(f"/proc/self/fd/{fd}")
    print(name, target)
    if "tracing" in target or stat.S_ISDIR(os.fstat(fd).st_mode):
        print("GAINED a file of the kernel's:", target)
    for how in "O_WRONLY", "O_RDWR":
        try:
            again = os.open(f"/proc/self/fd/{fd}", getattr(os, how))
            os.write(again, b"x")
            print("GAINED a writer of", name)
        except OSError as e:
            print(name, how, e)
    for size in 0, 1 << 20:
        try:
            os.ftruncate(fd, size)
            print("GAINED a shorter or longer", name)
        except OSError as e:
            print(name, "ftruncate", e)
try:
    mmap.mmap(s.stream, 4096, prot=mmap.PROT_READ, flags=mmap.MAP_SHARED)
    print("GAINED a map of the stream")
except OSError as e:
    print("mmap", e)
for fd in os.listdir("/proc/self/fd"):
    try:
        target = os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        continue
    if "/sys/kernel" in target:
        print("GAINED", target)
s.verbs.Destroy()
INSTANCES = "/sys/kernel/tracing/instances"
for _ in range(40):
    pause(0.5)
    stays = os.access(INSTANCES, os.R_OK) and any(name.endswith(s.id) for name in os.listdir(INSTANCES))
    if not stays:
        break
if stays:
    print("GAINED an instance that stays")
print("DONE")
EOS
        boasts
        within 20 no_instance || fail "a kept stream pins the instance"
}

case_consumers_socket() { # start an own stream worker through the socket that the daemon uses
        defended_by
        user ktracectl list >/dev/null
        attack "$CONSUMERS_SOCKET" >said 2>&1 <<'EOS'
import socket, sys
for kind in socket.SOCK_SEQPACKET, socket.SOCK_STREAM:
    s = socket.socket(socket.AF_UNIX, kind)
    try:
        s.connect(sys.argv[1])
        print("GAINED a connection")
    except OSError as e:
        print(e)
print("DONE")
EOS
        boasts
}

case_idle_sinks() { # [deep] block another user's recording with sinks that never read
        defended_by
        cat >idle.py <<'EOS'
from attack import *
import array, socket
kept = []
for i in range(2):
    spec = {"scope": f"pids:{os.getpid()}", "events": dbus.Array(ENTER)}
    ident, path = manager.CreateSession(dbus.Dictionary(spec, signature="sv"))
    verbs = dbus.Interface(bus.get_object("org.ktrace1", path), "org.ktrace1.Session")
    door = socket.socket(fileno=verbs.OpenSink(dbus.Dictionary(signature="sv")).take())
    mine, theirs = socket.socketpair()
    door.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))])
    door.recv(512)
    attempt(verbs.Start)
    kept.append((verbs, door, mine, theirs))
open("idle", "w").close()
while True:
    os.getppid()
EOS
        background attacker idle.py
        within 20 [ -e idle ] || fail "no sinks: $(cat background.out background.err)"
        expect 0 stranger timeout 60 ktracectl record -q -e raw_syscalls:sys_enter -o "/tmp/attack-other.kts" \
                -- "$TARGET" calls 1000 $OWN_CALL
        same 1000 "$(calls_in /tmp/attack-other.kts $OWN_CALL)" "the other's records"
        rm -f /tmp/attack-other.kts
        kill -9 "$BACKGROUND"
        within 20 no_instance || fail "sinks that never read pin their instances"
}

case_abuse() { # [deep] crash the daemon or fill its memory with unusual calls
        defended_by
        user ktracectl list >/dev/null
        before=$(daemon_pid)
        attack >said 2>&1 <<'EOS'
from attack import *
import threading

def call(member, signature, *args, path="/org/ktrace1", interface="org.ktrace1.Manager", **keys):
    try:
        return bus.call_blocking("org.ktrace1", path, interface, member, signature, args, timeout=20, **keys)
    except dbus.DBusException as e:
        print(member, signature, str(e)[:100])

def deep(n):
    value = dbus.Int32(1, variant_level=1)
    for _ in range(n):
        value = dbus.Array([value], signature="v", variant_level=1)
    return value

read, write = os.pipe()
call("CreateSession", "a{sv}", {"name": "x" * 1000000})
call("CreateSession", "a{sv}", {"x" * 1000000: 1})
call("CreateSession", "a{sv}", {f"k{i}": i for i in range(20000)})
call("CreateSession", "a{sv}", {"events": deep(20), "scope": "own"})
call("CreateSession", "a{sv}", {"events": dbus.Array(["a:" + "*" * 60] * 4096), "scope": "own"})
call("CreateSession", "a{sv}", {"events": dbus.types.UnixFd(read), "scope": dbus.types.UnixFd(write)})
call("CreateSession", "a{sv}", {f"k{i}": dbus.types.UnixFd(read) for i in range(15)})
call("CreateSession", "h", dbus.types.UnixFd(read))
call("CreateSession", "s", "own")
call("CreateSession", "")
call("GetSession", "s", "../../session/0123456789abcdef")
call("GetSession", "s", "\x01\x02")
call("ListEvents", "s", "*" * 100000)
call("ListEvents", "s", "*a" * 2000 + "b:*")
for name in "..", "/", "a/b", "%s%n", "\n", "", "0123456789abcdef", "x" * 65:
    call("CreateSession", "a{sv}", {"name": name, "scope": "own", "events": dbus.Array(ENTER)})
for path in "/org/ktrace1/session", "/org/ktrace1/session/_", "/org/ktrace1/session/0123456789abcdef/x":
    call("Start", "", path=path, interface="org.ktrace1.Session")
for i in range(3000):
    m = dbus.lowlevel.MethodCallMessage("org.ktrace1", "/org/ktrace1", "org.ktrace1.Manager", "ListEvents")
    m.append("*", signature="s")
    bus.send_message(m)
bus.flush()
print("DONE")
EOS
        grep -q '^DONE' said || fail "the attack did not come to its end: $(tail said)"
        within 30 stranger timeout 30 ktracectl list || fail "others wait"
        same "$before" "$(daemon_pid)" "the daemon"
        rss=$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$before/status")
        echo "RSS $rss kB"
        [ "$rss" -lt 65536 ] || fail "the daemon has grown to $rss kB"
}

case_no_new_privs() { # trace a command that gains privileges
        defended_by
        install -m 6755 "$ATTACK_TOOLS/actor" rooted
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- ./rooted id
        same "$USER_UID $USER_UID $USER_UID" "$(cat out)" "uid, effective uid and gid of a traced set-user-ID program"
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- strace -o /dev/null -f ./rooted id
        same "$USER_UID $USER_UID $USER_UID" "$(cat out)" "the same under ptrace"
        user ./rooted id | matches '^[0-9]* 0 0$' ||
                fail "a set-user-ID program gains nothing here even without tracing"
}

case_fork_storm() { # [deep] read other users' records, or make their events get lost, by forking without pause
        local storm='i=0; while [ $i -lt 400 ]; do (:) & i=$((i + 1)); done; wait'
        defended_by
        background stranger sh -c "while :; do (exec $TARGET calls 1 $VICTIM_CALL) & (:) & wait; done"
        expect 0 user ktracectl record -q -b 4096 -e sched:sched_process_fork -e raw_syscalls:sys_enter -o t.kts \
                -- sh -c "$storm"
        same 0 "$(calls_in t.kts $VICTIM_CALL)" "records of the stranger"
        same 400 "$(records t.kts | grep -c '^sched_process_fork')" "forks"
}

case_forged_answer() { # [deep] forge a positive answer of polkit
        defended_by
        [ -d /run/systemd/system ] || skip "a bus without the rules of the system's"
        rules "{\"name\": \"ask\", \"subjects\": [{\"uid\": $USER_UID}],
                \"scopes\": [\"command\"], \"events\": [\"raw_syscalls:*\"], \"polkit\": \"trace-own\"}"
        attack >said 2>&1 <<'EOS'
from attack import *
import signal
import dbus.lowlevel

def forge(forger, daemon):
    """Answers to all calls that the daemon may have made, again and again."""
    calls = []
    for _ in range(300):
        call = dbus.lowlevel.MethodCallMessage("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId")
        call.set_no_reply(True)
        forger.send_message(call)
        calls.append(call)
    open("forging", "w").close()
    while True:
        for call in calls:
            answer = dbus.lowlevel.MethodReturnMessage(call)
            answer.set_destination(daemon)
            answer.append(dbus.Struct((True, False, dbus.Dictionary(signature="ss"))), signature="(bba{ss})")
            forger.send_message(answer)
        forger.flush()

manager.ListSessions()
daemon = bus.get_name_owner("org.ktrace1")
forger = os.fork()
if forger == 0:
    mine = dbus.SystemBus(private=True)
    for name in "org.freedesktop.PolicyKit1", "org.freedesktop.PolicyKit1.Authority", "org.ktrace1":
        try:
            mine.request_name(name)
            print("GAINED the name", name, flush=True)
        except dbus.DBusException as e:
            print(e, flush=True)
    forge(mine, daemon)
wait_for("forging")
for _ in range(8):
    try:
        manager.CreateSession(dbus.Dictionary({"scope": f"command:{os.getpid()}", "events": dbus.Array(ENTER)},
                                              signature="sv"))
        print("GAINED a session")
    except dbus.DBusException as e:
        print(e)
os.kill(forger, signal.SIGKILL)
print("DONE")
EOS
        grep -qi 'polkit' said || fail "polkit was not asked: $(cat said)"
        boasts
}

case_probes_read_memory() { # read kernel memory with probes of the catalogue, and with definitions that no rule allows
        defended_by
        rules "{\"name\": \"attack\", \"subjects\": [{\"uid\": $USER_UID}],
                \"probes\": {\"use\": [\"file_open\"], \"functions\": [\"*\"],
                        \"except\": [\"*key*\"], \"takes\": [\"values\"]}}"
        banner=$(awk '$3 == "linux_banner" { print $1; exit }' /proc/kallsyms)
        attack "$banner" >said 2>&1 <<'EOS'
from attack import *
import sys
at = int(sys.argv[1], 16)

def define(name, **keys):
    args = keys.pop("args", None)
    d = dbus.Dictionary({"name": name, **keys}, signature="sv")
    if args is not None:
        d["args"] = dbus.Array(args, signature="s")
    try:
        patiently(lambda: manager.AddProbe(d))
        return True
    except dbus.DBusException as e:
        print("refused:", name, str(e)[:150])
        return False

# What a rule does not name, in all the forms that a definition has.
for n, (on, args) in enumerate([
        ("vfs_read", ["file.f_path.dentry.d_name.name"]), ("vfs_read", ["buf : string"]), ("vfs_read", ["file : u32"]),
        ("vfs_read", ["*file"]), ("vfs_read", ["((struct task_struct *)$arg1).cred.uid.val"]),
        ("vfs_read", ["%di : u16"]),
        ("vfs_read", ["((struct file *)%di).f_flags"]), ("key_task_permission", ["$arg1"]),
        ("vfs_read", [f"x = +0({at}) : string"]),
        ("vfs_read", ["count = @linux_banner : string"])]):
    if define(f"bad{n}", on=on, args=args):
        print("GAINED a definition of", args)
for n, raw in enumerate(["p:raw vfs_read x=@linux_banner:string", "r:raw vfs_read x=+0($retval):string"]):
    if define(f"raw{n}", raw=raw):
        print("GAINED", raw)

# A system call's argument that is an address of the kernel's.
go, start = os.pipe()
p = os.fork()
if p == 0:
    os.read(go, 1)
    libc = ctypes.CDLL(None, use_errno=True)
    for _ in range(20):
        libc.syscall(ctypes.c_long(257), ctypes.c_long(-100), ctypes.c_ulong(at), ctypes.c_long(0), ctypes.c_long(0))
    os._exit(0)
if not define("mine", on="do_sys_openat2", args=["dfd"]):
    print("GAINED nothing, and not even what the rule gives")
spec = {"scope": f"pids:{p}", "events": dbus.Array(ENTER), "probes": dbus.Array(["file_open", "mine"])}
try:
    ident, path = patiently(lambda: manager.CreateSession(dbus.Dictionary(spec, signature="sv")))
    verbs = dbus.Interface(bus.get_object("org.ktrace1", path), "org.ktrace1.Session")
    stream = verbs.OpenStream(dbus.Dictionary(signature="sv")).take()
    verbs.Start()
    os.write(start, b"x")
    os.waitpid(p, 0)
    verbs.Destroy()
    data = b""
    while part := os.read(stream, 65536):
        data += part
    print(len(data), "bytes")
    if b"Linux version" in data:
        print("GAINED the kernel's banner")
    open("t.kts", "wb").write(data)
except dbus.DBusException as e:
    print("refused:", e)
print("DONE")
EOS
        [ -s t.kts ] || fail "no stream: $(cat said)"
        # Nothing of it outlives its user's connection but what the rule gave.
        ktracectl probes remove "ktrace_u$USER_UID:mine"
        boasts
}

case_socket_peer() { # pose on the Varlink socket as another uid, another process or a session's owner
        defended_by
        polkit_rules=/etc/polkit-1/rules.d/10-attack.rules
        trap 'rm -f "$polkit_rules"; systemctl restart polkit.service; leave_case' EXIT
        mkdir -p "${polkit_rules%/*}"
        echo 'polkit.addRule(function(action, subject) {
                if (action.id == "org.ktrace1.manage-sessions" && subject.user == "u1000")
                        return polkit.Result.YES; });' \
                >"$polkit_rules"
        systemctl restart polkit.service
        stranger ktracectl create victims -e raw_syscalls:sys_enter --scope own
        victim=$(stranger ktracectl list --json=short | jq -r '.[0].id')
        VICTIM=$victim attack >said 2>&1 <<'EOS'
from attack import *
import json, socket, struct
PATH, VICTIM = "/run/ktrace/org.ktrace1", os.environ["VICTIM"]

def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(PATH)
    return s

def call(s, method, parameters={}, control=[], **flags):
    """What came, without its NUL; "" when the connection is over."""
    text = json.dumps({"method": "org.ktrace1." + method, "parameters": parameters, **flags}).encode() + b"\0"
    s.sendmsg([text], control)
    got = b""
    while not got.endswith(b"\0"):
        data, fds, _, _ = s.recvmsg(65536, 1024)
        if fds:
            print("GAINED a descriptor by", method, parameters)
        if not data:
            return {}
        got += data
    return json.loads(got[:-1])

def gained(what, s, method, parameters={}, control=[], **flags):
    try:
        answer = call(s, method, parameters, control, **flags)
    except OSError as e:
        print(what, e)
        return
    if answer and "error" not in answer and answer["parameters"] != {"sessions": []}:
        print("GAINED", what, answer)
    else:
        print(what, answer)

def by_a_child():
    """A connection that a child has made and handed over, which has ended."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        made = connect()
        socket.send_fds(theirs, [b"x"], [made.fileno()])
        os._exit(0)
    _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    os.waitpid(pid, 0)
    received = socket.socket(fileno=fds[0])
    received.settimeout(20)
    return received

s = connect()
# The victim's session, by names that might be taken for its id.
OWN = {"Configure": {"changes": {"buffer-kb": 64}}, "Mark": {"text": "x"}, "GetHistogram": {"name": ""}}
for name in (VICTIM, VICTIM.upper(), VICTIM + "\n", "/" + VICTIM, "../" + VICTIM, "ktrace-" + VICTIM, VICTIM + "\0x",
             "victims", ""):
    for method in ("Start Stop Destroy OpenStream OpenSink Clear OpenMarker Snapshot Describe GetStatistics "
                   "GetMetadata Configure Mark GetHistogram Subscribe").split():
        more = {"more": True} if method == "Subscribe" else {}
        try:
            gained(f"{method} of {name!r}", s, method, {"session": name, **OWN.get(method, {})}, **more)
        except (BrokenPipeError, json.JSONDecodeError):
            pass
        if "\0" in name:
            s = connect()
    gained(f"GetSession of {name!r}", connect(), "GetSession", {"id": name})
# Another uid, by what the message says and what is sent beside it.
for extra in {"uid": 0}, {"peer": ":1.0"}, {"sender": ":1.0"}:
    gained(f"the list with {extra}", connect(), "ListSessions", extra)
for uid in 0, 1001, os.getuid():
    credentials = struct.pack("3i", os.getpid() if uid == os.getuid() else 1, uid, uid)
    gained(f"the list as {uid}", connect(), "ListSessions", {},
           [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, credentials)])
# polkit's yes for a process that is no more.
gained("a right by a process that has ended", by_a_child(), "Administrate")
# The right is of the connection that asked.
first = connect()
answer = call(first, "Administrate")
assert "error" not in answer, answer
assert len(call(first, "ListSessions")["parameters"]["sessions"]) == 1
for method in "Start", "GetMetadata", "OpenStream", "OpenMarker":
    gained(f"{method} by an administrator", first, method, {"session": VICTIM})
gained("the list by a second connection", connect(), "ListSessions")
first.close()
gained("the list by a connection after it", connect(), "ListSessions")
print("DONE")
EOS
        boasts
        stranger ktracectl show "$victim" >/dev/null || fail "the victim's session is gone"
        stranger ktracectl destroy victims
}

case_administrator() { # do more with one connection than polkit has allowed for it
        defended_by
        polkit_rules=/etc/polkit-1/rules.d/10-attack.rules
        trap 'rm -f "$polkit_rules"; systemctl restart polkit.service; leave_case' EXIT
        mkdir -p "${polkit_rules%/*}"
        echo 'polkit.addRule(function(action, subject) {
                if (action.id == "org.ktrace1.manage-sessions" && subject.user == "u1000")
                        return polkit.Result.YES; });' \
                >"$polkit_rules"
        systemctl restart polkit.service
        stranger ktracectl create victims -e raw_syscalls:sys_enter --scope own
        attack >said 2>&1 <<'EOS'
from attack import *
OPTIONS = dbus.Dictionary(signature="sv")

def connect():
    connection = dbus.SystemBus(private=True)
    return connection, dbus.Interface(connection.get_object("org.ktrace1", "/org/ktrace1"), "org.ktrace1.Manager")

def gained(what, verb, *args):
    try:
        print("GAINED", what, verb(*args))
    except dbus.DBusException as e:
        print(what, e)

manager.Administrate()
sessions = manager.ListSessions()
assert len(sessions) == 1, sessions
path = sessions[0][1]
victim = dbus.Interface(bus.get_object("org.ktrace1", path), "org.ktrace1.Session")
print(victim.Describe()["uid"], victim.GetStatistics()["recorded"])
# What the stranger records.
gained("a start", victim.Start)
gained("metadata", victim.GetMetadata)
gained("the stream", victim.OpenStream, OPTIONS)
gained("a sink", victim.OpenSink, OPTIONS)

def other_connection(name, connection, itself):
    if len(itself.ListSessions()) > 0:
        print("GAINED the list by", name)
    gained(f"the path by {name}", itself.GetSession, sessions[0][0])
    for member in "Describe", "GetStatistics", "Stop", "Destroy", "Start", "GetMetadata":
        for sender in None, bus.get_unique_name():
            m = dbus.lowlevel.MethodCallMessage("org.ktrace1", path, "org.ktrace1.Session", member)
            if sender:
                m.set_sender(sender)
            gained(f"{member} by {name} as {sender}", connection.send_message_with_reply_and_block, m, 20)

# Another connection of the same user, beside the one that may and after it.
second = connect()
other_connection("a second connection", *second)
third = connect()
third[1].Administrate()
third[0].close()
other_connection("a connection after the end of one that might", *connect())
print("DONE")
EOS
        boasts
        # And another user has to ask for oneself.
        expect 3 stranger ktracectl --no-ask-password list --all-users
        stranger ktracectl destroy victims
}

case_watch_rules() { # hear another user's watch with match rules for all signals
        defended_by
        ktracectl watch --all-users >root.json 2>root.err &
        started+=($!)
        within 20 grep -q 'waiting for notices' root.err || fail "$(cat root.err)"
        user gdbus monitor --system --dest org.ktrace1 >heard 2>&1 &
        started+=($!)
        user dbus-monitor --system "interface='org.ktrace1.Manager'" "member='Notified',eavesdrop='true'" \
                "path='/org/ktrace1'" "sender='org.ktrace1'" >heard.rules 2>&1 &
        started+=($!)
        within 20 grep -q 'is owned by' heard || skip "no gdbus: $(cat heard)"
        stranger ktracectl create victim -e raw_syscalls:sys_enter --scope own
        stranger ktracectl destroy victim
        within 20 grep -q '"name":"victim"' root.json || fail "root got nothing"
        sleep 1
        verdict "$(grep -c Notified heard || true)" "$(grep -c member=Notified heard.rules || true)" "signals"
}

case_watch_forged() { # report events of sessions to root's watch, in the name of the daemon
        defended_by
        ktracectl watch --all-users >root.json 2>root.err &
        started+=($!)
        within 20 grep -q 'waiting for notices' root.err || fail "$(cat root.err)"
        attack >said 2>&1 <<'EOS'
from attack import *
import dbus.lowlevel
NOTICE = dbus.Dictionary({"kind": "ended", "session": "0123456789abcdef", "name": "forged", "uid": 0, "code": "guard",
                          "reason": "forged"}, signature="sv")
for name in bus.list_names():
    if not name.startswith(":"):
        continue
    for path, interface, member, values in (
            ("/org/ktrace1", "org.ktrace1.Manager", "Notified", ("a{sv}", NOTICE)),
            ("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged",
             ("sss", "org.ktrace1", bus.get_unique_name(), bus.get_unique_name()))):
        m = dbus.lowlevel.SignalMessage(path, interface, member)
        m.append(*values[1:], signature=values[0])
        m.set_destination(name)
        bus.send_message(m)
bus.flush()
pause(1)
print("DONE")
EOS
        grep -q '^DONE' said || fail "the attack did not come to its end: $(cat said)"
        sleep 1
        verdict "$(grep -cE 'forged|daemon' root.json || true)" "forged lines"
}

case_watch_flood() { # [deep] make others wait, or the daemon grow, by 10000 calls of Watch and by deaf watches
        local before rss
        defended_by
        user ktracectl list >/dev/null
        before=$(daemon_pid)
        user touch flooding
        background user sh -c 'while [ -e flooding ]; do
                ktracectl -q create flood --scope own -e raw_syscalls:sys_enter && ktracectl -q destroy flood; done'
        attack >said 2>&1 <<'EOS'
from attack import *
import socket
call = json.dumps({"method": "org.ktrace1.Watch", "more": True}).encode() + b"\0"
socks = []
for i in range(60):
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect("/run/ktrace/org.ktrace1")
        sock.setblocking(False)
        sock.send(call * 100)
    except OSError as e:
        print(e)
    socks.append(sock)  # it is never read
for i in range(10000):
    m = dbus.lowlevel.MethodCallMessage("org.ktrace1", "/org/ktrace1", "org.ktrace1.Manager", "Watch")
    m.append(dbus.Dictionary({"all": i % 2 == 0}, signature="sv"), signature="a{sv}")
    bus.send_message(m)
    if i % 1000 == 0:
        bus.flush()
open("floods", "w").close()
pause(20)
print("DONE")
EOS
        grep -q '^DONE' said || fail "the attack did not come to its end: $(tail said)"
        within 30 stranger timeout 30 ktracectl list || fail "others wait"
        same "$before" "$(daemon_pid)" "the daemon"
        rss=$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$before/status")
        echo "RSS $rss kB"
        [ "$rss" -lt 65536 ] || fail "the daemon has grown to $rss kB"
        rm flooding
        wait "$BACKGROUND" || true
}

case_watch_stubborn() { # keep the daemon from applying new rules, or from ending, by a watch that reads nothing
        local begin
        defended_by
        AS_EXEC=exec user ktracectl --varlink watch >deaf 2>deaf.err &
        started+=($!)
        within 20 grep -q 'waiting for notices' deaf.err || fail "$(cat deaf.err)"
        kill -STOP $!
        user ktracectl create box --scope own -e raw_syscalls:sys_enter
        begin=$SECONDS
        mkdir -p "$CONFIG/policy.d"
        printf '{"rules": [{"name": "none", "deny": true, "subjects": [{"uid": %s}], "scopes": ["own"]}]}\n' \
                "$USER_UID" >"$CONFIG/policy.d/00-attack.json"
        expect 0 timeout 60 ktracectl policy reload
        within 20 user sh -c '! ktracectl list --json=short | jq -e "length > 0"' || fail "the session stays"
        timeout 60 systemctl stop ktraced.service || fail "the daemon does not end"
        echo "$((SECONDS - begin)) s"
        [ $((SECONDS - begin)) -lt 90 ] || fail "it took $((SECONDS - begin)) s"
}
