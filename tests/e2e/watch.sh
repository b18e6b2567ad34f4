# SPDX-License-Identifier: LGPL-2.1-or-later
# ktracectl watch: what happens to all sessions of a user, and to nobody else's.

watch_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}

# watching FILE COMMAND...: starts a watch in the background and waits until it has begun. Its pid is in $WATCHER.
watching() {
        local file=$1
        shift
        AS_EXEC=exec "$@" >"$file" 2>"$file.err" &
        WATCHER=$!
        started+=("$WATCHER")
        within 20 grep -q 'waiting for notices' "$file.err" || fail "$(cat "$file.err")"
}
# ended_by SIGNAL: the watch ends with status 0.
ended_by() {
        local status=0
        kill -"$1" "$WATCHER"
        within 20 sh -c "! kill -0 $WATCHER" || fail "the watch continues"
        wait "$WATCHER" || status=$?
        same 0 "$status" "status of the watch"
}
# has FILE FILTER: whether the filter holds for an object of the file.
has() { jq -se "any(.[]; $2)" "$1"; }
has_back() { [ "$(jq -c 'select(.daemon) | .daemon' "$1" | tr '\n' ' ')" = '"gone" "back" ' ]; }

case_watch_limit() { # a session that a limit ends: its owner and root learn of it over both doors, others do not
        trap watch_limit_end EXIT
        local file
        mkdir -p "$CONFIG_DIR/policy.d"
        printf '{"rules": [{"name": "case", "subjects": [{"uid": %s}], "scopes": ["own"], "events": ["raw_syscalls:*"],
                "limits": {"max-event-rate": 1000}}]}\n' "$USER_UID" >"$CONFIG_DIR/policy.d/10-case.json"
        ktracectl policy reload
        background user setpriv --no-new-privs sh -c "while :; do $TARGET calls 100000 1000; done"
        watching bus user ktracectl watch
        watching varlink user ktracectl --varlink watch
        watching root ktracectl watch --all-users
        watching root.varlink ktracectl --varlink watch -a
        watching root.own ktracectl watch
        watching stranger stranger ktracectl watch
        user ktracectl create box --scope own -e raw_syscalls:sys_enter
        user ktracectl start box
        for file in bus varlink root root.varlink; do
                within 20 has "$file" '.state == "gone"' || fail "$file: $(cat "$file")"
                same 'state=configured state=starting state=running limit-hit=max-event-rate ended=limit state=gone ' \
                        "$(jq -r 'select(.kind != "lost-events") | "\(.kind)=\(.state // .limit // .code)"' "$file" |
                                tr '\n' ' ')" "$file"
                same "[\"box\",$USER_UID,16]" \
                        "$(jq -sc 'map([.name, .uid, (.session | length)]) | unique | .[]' "$file")" "whose"
        done
        [ ! -s stranger ] || fail "a stranger got $(cat stranger)"
        [ ! -s root.own ] || fail "without --all-users root got $(cat root.own)"
}
watch_limit_end() {
        rm -f "$CONFIG_DIR/policy.d/10-case.json"
        ktracectl policy reload || true
        watch_end
}

case_watch_losses() { # [asan] every lost event is in a sum, at most one in a second, and the last before the end
        trap watch_end EXIT
        local lost
        watching json ktracectl watch --kind lost-events,ended other box
        ktracectl create box -a -b 64 -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl create unseen -a -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start box
        "$TARGET" calls 1500000 1000
        ktracectl stop box
        lost=$(ktracectl --json=short show box | jq .statistics.lost)
        [ "$lost" -gt 0 ] || fail "nothing was lost"
        ktracectl destroy unseen
        ktracectl destroy box
        within 20 has json '.kind == "ended"' || fail "$(cat json)"
        same "$lost" "$(jq -s 'map(.lost // 0) | add' json)" "lost"
        same "$lost" "$(jq -s 'map(.total // 0) | max' json)" "total"
        same '["ended","lost-events"]' "$(jq -sc 'map(.kind) | unique' json)" "kinds"
        same '"box"' "$(jq -sc 'map(.name) | unique | .[]' json)" "sessions"
        # The first one at once, one in each second after it, and the rest at the end.
        same true "$(jq -s '(.[-1]."monotonic-nsec" - .[0]."monotonic-nsec") / 1000000000 + 2 >= length - 1' json)" \
                "pace: $(cat json)"
        same ended "$(tail -n 1 json | jq -r .kind)" "the last"
}

case_watch_hits() { # hits of a notify trigger in a fenced session, on any kernel
        trap watch_end EXIT
        watching json user ktracectl watch --kind notify
        user ktracectl record -q -o t.kts --trigger 'raw_syscalls:sys_enter if id == 1001 do notify' \
                -e raw_syscalls:sys_enter -f 'id == 1000' -- "$TARGET" calls 70 1001
        within 20 sh -c "jq -se 'map(.count) | add == 70' json" || fail "$(cat json)"
        same '[["raw_syscalls:sys_enter",0]]' "$(jq -sc 'map([.event, .trigger]) | unique' json)" "which"
}

case_watch_restart() { # the watch continues with the next daemon, over both doors, and reports the time between
        trap watch_end EXIT
        local file
        kept
        watching bus ktracectl watch
        watching varlink ktracectl --varlink watch
        restart_daemon
        for file in bus varlink; do
                within 30 has_back "$file" || fail "$file: $(cat "$file" "$file.err")"
        done
        # The watch itself is renewed after the report.
        within 20 heard_of bus || fail "bus: $(cat bus)"
        within 20 heard_of varlink || fail "varlink: $(cat varlink)"
        ended_by TERM
}
heard_of() { # FILE
        ktracectl create box -a -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl destroy box
        has "$1" '.kind == "ended"'
}

case_watch_output() { # text on a terminal, lines of JSON elsewhere; the end of the reader ends the watch
        trap watch_end EXIT
        local pid
        script -qfec "exec ktracectl watch" typescript >/dev/null 2>&1 </dev/null &
        started+=($!)
        within 20 grep -q 'waiting for notices' typescript || fail "$(cat typescript)"
        mkfifo pipe
        ktracectl watch >pipe 2>err &
        pid=$!
        started+=($pid)
        exec 7<pipe
        within 20 grep -q 'waiting for notices' err || fail "$(cat err)"
        ktracectl create box -a -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl destroy box
        read -r first <&7
        same '["state","box","configured"]' "$(jq -c '[.kind, .name, .state]' <<<"$first")" "the first line"
        exec 7<&-
        within 10 sh -c "! kill -0 $pid" || fail "the watch continues without a reader"
        within 10 grep -qaE '^[0-9]{4}-[0-9-]{5} [0-9:]{8}\.[0-9]{6} box state=configured' typescript ||
                fail "$(cat typescript)"
        grep -qa ' box ended code=destroyed reason="destroyed by its owner"' typescript || fail "$(cat typescript)"
}

case_watch_usage() { # wrong kinds are refused; ^C ends a watch with status 0; all sessions are not for everybody
        trap watch_end EXIT
        local kind
        for kind in lost '' ended, ,ended; do
                refused 2 'expected one or more of state, ended, .*, spool-waits; got ' ktracectl watch --kind "$kind"
        done
        refused 3 'polkit|another user|authentication' stranger ktracectl watch --all-users
        refused 3 'polkit|another user|authentication' stranger ktracectl --varlink watch -a
        watching json ktracectl watch
        ended_by TERM
        python3 - <<'END' || fail "^C"
import signal, subprocess, sys
watch = subprocess.Popen(["ktracectl", "watch"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
assert b"waiting" in watch.stderr.readline()
watch.send_signal(signal.SIGINT)
assert watch.wait(10) == 0
END
}

case_watch_deaf() { # [deep] a watcher that reads nothing delays no other; each missed notice is counted in its place
        trap watch_end EXIT
        cat >t.py <<'END'
import json, os, socket

def connect():
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(os.environ["KTRACE_VARLINK_ADDRESS"][len("unix:"):])
    return sock, sock.makefile("rb")

def send(door, method, **call):
    door[0].sendall(json.dumps({"method": f"org.ktrace1.{method}", **call}).encode() + b"\0")

def receive(door):
    text = b""
    while not text.endswith(b"\0"):
        text += door[1].read(1)
    return json.loads(text[:-1])["parameters"]

def call(door, method, **parameters):
    send(door, method, parameters=parameters)
    return receive(door)

N = 500
deaf, control = connect(), connect()
send(deaf, "Watch", more=True)
receive(deaf)
session = call(control, "CreateSession", spec={
    "name": "n" * 64, "scope": "system", "mode": "flight",
    "events": [{"name": "raw_syscalls:sys_enter", "filter": "id == 1000"}]})["id"]
for i in range(N):
    call(control, "Start", session=session)
    call(control, "Stop", session=session)
heard = []
while not heard or sum(one.get("dropped", 1) for one in heard) < 1 + 4 * N:
    heard.append(receive(deaf)["notice"])
dropped = [one["dropped"] for one in heard if "dropped" in one]
assert len(dropped) == 1 and dropped[0] > 0, dropped
assert [one["state"] for one in heard[:5]] == ["configured", "starting", "running", "stopping", "stopped"], heard[:5]
assert heard[-1] == {"dropped": dropped[0]}, heard[-1]
call(control, "Destroy", session=session)
assert [receive(deaf)["notice"]["kind"] for i in range(2)] == ["ended", "state"]
END
        KTRACE_VARLINK_ADDRESS=${KTRACE_VARLINK_ADDRESS:-unix:/run/ktrace/org.ktrace1} timeout 120 python3 t.py ||
                fail "status $?"
}
