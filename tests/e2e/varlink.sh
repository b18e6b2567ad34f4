# SPDX-License-Identifier: LGPL-2.1-or-later
# The Varlink socket with raw messages, from processes of real users.

# door: waits for the socket, and writes the module door.py into the current directory.
door() {
        user ktracectl status >/dev/null
        export VARLINK=${STATE_DIR%/state}/org.ktrace1 GETPPID=110 PYTHONDONTWRITEBYTECODE=1
        [ -S "$VARLINK" ] || fail "no socket: $VARLINK"
        chmod 755 .
        cat >door.py <<'EOS'
import array, fcntl, json, os, socket, sys, time

OWN = {"scope": "own", "events": ["raw_syscalls:sys_enter"]}

class Door:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(os.environ["VARLINK"])
        self.got = b""

    def send(self, method, parameters, **flags):
        call = {"method": "org.ktrace1." + method, "parameters": parameters, **flags}
        self.socket.sendall(json.dumps(call).encode() + b"\0")

    def receive(self):
        """parameters, error, does more follow; descriptors are in self.fds"""
        self.fds = []
        while b"\0" not in self.got:
            data, control, _, _ = self.socket.recvmsg(65536, 1024)
            if not data:
                raise EOFError
            for _, _, fds in control:
                self.fds += array.array("i", fds)
            self.got += data
        text, self.got = self.got.split(b"\0", 1)
        message = json.loads(text)
        return message.get("parameters", {}), message.get("error"), message.get("continues", False)

    def call(self, method, **parameters):
        self.send(method, parameters)
        return self.receive()[:2]

    def do(self, method, **parameters):
        result, error = self.call(method, **parameters)
        if error:
            sys.exit(f"{method}: {error}: {result}")
        return result
EOS
}

# lower LIMIT VALUE: sets a limit until the end of the case.
lower() {
        cp "$CONFIG_DIR/ktraced.json" before.json
        trap lower_end EXIT
        jq --arg key "$1" --argjson value "$2" '.[$key] = $value' before.json >"$CONFIG_DIR/ktraced.json"
        ktracectl policy reload
}
lower_end() {
        cat before.json >"$CONFIG_DIR/ktraced.json"
        ktracectl policy reload || true
        leave_case
}

case_varlink_raw_session() { # a session works with raw Varlink messages, and its stream is complete
        door
        expect 0 user setpriv --no-new-privs python3 - <<'EOS'
from door import *
d = Door()
id = d.do("CreateSession", spec=OWN)["id"]
assert d.do("OpenStream", session=id) == {"pipe": 0}, "index of the pipe"
stream, = d.fds
assert d.do("GetMetadata", session=id) == {"metadata": 0}
metadata, = d.fds
assert "events" in json.loads(os.pread(metadata, 1 << 20, 0)), "metadata"
assert fcntl.fcntl(metadata, 1034), "not sealed"
d.do("Start", session=id)
for _ in range(5000):
    os.getppid()
d.do("Stop", session=id)
assert d.do("Describe", session=id)["session"]["state"] == "stopped"
assert d.do("ListSessions")["sessions"][0] | {"name": ""} == {
    "id": id, "name": "", "uid": os.getuid(), "state": "stopped"}
d.send("Destroy", {"session": id})
with open("t.kts", "wb") as out:
    while data := os.read(stream, 65536):
        out.write(data)
assert d.receive()[1] is None
EOS
        same 5000 "$(count t.kts ".fields.id == $GETPPID")" "calls"
        within 20 no_instance || fail "the instance is still there"
}

case_varlink_stranger() { # another user's session gets the same answer as a missing one
        door
        user ktracectl create mine -e raw_syscalls:sys_enter --scope own
        id=$(session_id mine)
        cat >strange.py <<'EOS'
from door import *
d = Door()
more = {"changes": {"buffer-kb": 64}, "text": "x", "name": ""}
takes = {"Configure": "changes", "Mark": "text", "GetHistogram": "name"}
for method in ("Start Stop Destroy OpenStream OpenSink Configure Clear Mark OpenMarker Snapshot Describe "
               "GetStatistics GetHistogram GetMetadata Subscribe").split():
    parameters = {"session": sys.argv[1]}
    if method in takes:
        parameters[takes[method]] = more[takes[method]]
    d.send(method, parameters, **({"more": True} if method == "Subscribe" else {}))
    print(method, d.receive(), len(d.fds))
print(d.call("GetSession", id=sys.argv[1]), d.do("ListSessions"))
EOS
        expect 0 stranger python3 strange.py "$id"
        sed "s/$id/ID/" out >known
        expect 0 stranger python3 strange.py 0123456789abcdef
        same "$(cat known)" "$(sed 's/0123456789abcdef/ID/' out)" "answers about a session and about none"
        same 16 "$(grep -c 'org.ktrace1.NoSuchSession' known)" "refusals"
        same 16 "$(grep -c '"ID": no such session: ListSessions returns yours' known)" "refusals that name it"
        # root reaches all sessions.
        expect 0 python3 - "$id" <<'EOS'
from door import *
assert Door().do("Describe", session=sys.argv[1])["session"]["name"] == "mine"
EOS
        user ktracectl destroy mine
}

case_varlink_same_errors() { # errors have the same names and words as on the bus
        door
        for spec in '{"scope": "all"}' '{"scope": "own", "evnts": []}' '{"scope": "own", "events": ["no:such"]}' \
                '{"scope": "own", "events": ["raw_syscalls:sys_enter"], "buffer-kb": 1}'; do
                echo "$spec" >spec.json
                status=0
                user ktracectl create x --spec spec.json 2>by-bus || status=$?
                [ "$status" != 0 ] || fail "accepted: $spec"
                user python3 - "$spec" >by-socket <<'EOS' || fail "accepted over Varlink: $spec"
from door import *
answer, error = Door().call("CreateSession", spec=json.loads(sys.argv[1]))
assert error.startswith("org.ktrace1.")
print(answer["reason"])
EOS
                # The client checks a file first. Its message contains the same words.
                grep -qF "$(cut -c1-60 by-socket)" by-bus || fail "$(cat by-bus) / $(cat by-socket)"
        done
}

case_varlink_client_gone() { # lifetime client: a closed connection or a killed client ends the session
        door
        background user python3 -c '
from door import *
d, other = Door(), Door()
id = d.do("CreateSession", spec=OWN)["id"]
kept = d.do("CreateSession", spec=OWN | {"lifetime": "linger", "name": "kept"})["id"]
other.send("Subscribe", {"session": id}, more=True)
print(other.receive(), flush=True)
d.socket.close()
while True:
    news, error, more = other.receive()
    print(news, error, more, flush=True)
    if not more:
        break
d = Door()
print("again", d.do("CreateSession", spec=OWN), flush=True)
time.sleep(60)'
        within 20 grep -q again background.out || fail "$(cat background.out background.err)"
        grep -q "'ended': {'code': 'client-gone', 'reason': 'its creator closed the connection'}} None True" \
                background.out ||
                fail "not reported: $(cat background.out)"
        grep -q "'state': 'gone'} None False" background.out || fail "no last one: $(cat background.out)"
        within 20 n_instances 2 || fail "$(instances) instances"
        kill -9 "$BACKGROUND"
        within 20 n_instances 1 || fail "killed, and its session is still there"
        user ktracectl destroy kept
}

case_varlink_two_doors() { # limits count D-Bus and Varlink calls of a user together
        door
        lower max-sessions-per-uid 2
        user ktracectl create one -e raw_syscalls:sys_enter --scope own
        expect 0 user python3 - <<'EOS'
from door import *
d = Door()
d.do("CreateSession", spec=OWN | {"name": "two", "lifetime": "linger"})
print(d.call("CreateSession", spec=OWN))
print(d.call("CreateSession", spec=OWN | {"name": "one"}))
EOS
        grep -q 'max-sessions-per-uid.*org.ktrace1.LimitReached' out || fail "$(cat out)"
        refused 1 'max-sessions-per-uid' user ktracectl create three -e raw_syscalls:sys_enter --scope own
        stranger ktracectl create mine -e raw_syscalls:sys_enter --scope own
        stranger ktracectl destroy mine
        user ktracectl destroy one
        user ktracectl destroy two
}

case_varlink_flood() { # [asan] a flood on the socket uses up the user's time on the bus too, and delays nobody else
        door
        lower max-call-usec-per-sec 100000
        user ktracectl create mine -e raw_syscalls:sys_enter --scope own
        background user python3 -c '
from door import *
doors = [Door() for _ in range(8)]
for d in doors:
    d.socket.setblocking(False)
call = json.dumps({"method": "org.ktrace1.ListEvents", "parameters": {"glob": "*"}}).encode() + b"\0"
n = 0
end = time.monotonic() + 80
while time.monotonic() < end:
    for d in doors:
        try:
            d.socket.send(call)
            n += 1
        except BlockingIOError:
            pass
        try:
            while d.socket.recv(1 << 20):
                pass
        except BlockingIOError:
            pass
    if n > 100:
        open("busy", "w").close()'
        within 20 test -e busy || fail "$(cat background.err)"
        begun=$(date +%s%N)
        stranger ktracectl list >/dev/null
        took=$((($(date +%s%N) - begun) / 1000000))
        [ "$took" -lt 10000 ] || fail "a stranger waited for $took ms"
        within 60 refuses_over_bus || fail "still served over D-Bus: $(head -3 said)"
        kill -9 "$BACKGROUND"
        within 20 user ktracectl destroy mine
}

# refuses_over_bus: whether one of the user's calls fails because of the limit.
refuses_over_bus() {
        for _ in $(seq 100); do
                user busctl call org.ktrace1 /org/ktrace1 org.ktrace1.Manager ListSessions >/dev/null 2>said || break
        done
        grep -q 'max-call-usec-per-sec' said
}

case_varlink_long_specs() { # specs of a user that take long to check do not delay root by a second
        door
        background user python3 -c '
from door import *
spec = {"scope": "own", "events": [{"name": "syscalls:*", "filter": f"common_pid == {n}"} for n in range(100)]}
call = json.dumps({"method": "org.ktrace1.CheckSession", "parameters": {"spec": spec}}).encode() + b"\0"
doors = [Door() for _ in range(4)]
end = time.monotonic() + 80
while time.monotonic() < end:
    for d in doors:
        d.socket.sendall(call)
    open("busy", "w").close()
    for d in doors:
        result, error, _ = d.receive()
        if not error and result["decision"]["allowed"]:
            sys.exit("8192 pairs were no limit")'
        within 20 test -e busy || fail "$(cat background.err)"
        # While they are judged: the rest of the time their user has had its share.
        for _ in $(seq 5); do
                python3 -c '
from door import *
door = Door()
begin = time.monotonic()
door.do("GetLimits")
door.do("CheckSession", spec={"scope": "system", "events": ["sched:sched_switch"]})
took = time.monotonic() - begin
took < 2 or sys.exit(f"root waited for {took} s")' || fail "root waited"
        done
        kill -0 "$BACKGROUND" || fail "$(cat background.err)"
        kill -9 "$BACKGROUND"
}

case_varlink_restart() { # [guest] a restart closes connections: client sessions end, lingering sessions continue
        service_manager || skip "needs a service manager that keeps descriptors"
        door
        trap 'systemctl reset-failed ktraced.service 2>/dev/null || true; leave_case' EXIT
        since=$(date +%s)
        background user setpriv --no-new-privs python3 -c '
from door import *
d = Door()
d.do("CreateSession", spec=OWN | {"name": "mine"})
d.do("Start", session=d.do("CreateSession", spec=OWN | {"name": "kept", "lifetime": "linger:1h"})["id"])
print("made", flush=True)
try:
    d.receive()
except (EOFError, ConnectionResetError):
    print("over", flush=True)
d = Door()
print([s["name"] for s in d.do("ListSessions")["sessions"]], flush=True)'
        within 20 grep -q made background.out || fail "$(cat background.err)"
        systemctl restart ktraced.service
        within 20 grep -q '\[' background.out || fail "$(cat background.out background.err)"
        within 20 n_instances 1 || fail "$(instances) instances"
        same kept "$(user ktracectl list --json=short | jq -r '.[].name')" "sessions left"
        within 20 sh -c "journalctl -u ktraced.service --since=@$since |
                grep -q \"its creator's connection has ended\"" ||
                fail "not reported: $(journalctl -u ktraced.service --since=@"$since" | tail -5)"
        user ktracectl destroy kept
}
