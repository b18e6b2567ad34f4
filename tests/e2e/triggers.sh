# SPDX-License-Identifier: LGPL-2.1-or-later
# Triggers: what the kernel does at an event, with the events before, at and after it counted.

triggers_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}
ENTER=raw_syscalls:sys_enter EXIT=raw_syscalls:sys_exit
# made WHO NAME ARGUMENT...: starts a session of own processes, or of all processes for root, with a target in it.
# No other program makes its system calls.
made() {
        local who=$1 name=$2
        shift 2
        trap triggers_end EXIT
        background "$who" ktracectl create "$name" "$@"
        wait "$BACKGROUND" || fail "$(cat background.err)"
        expect 0 "$who" ktracectl start "$name"
}
# A shell of the user's that makes the calls on command, so that the session knows the process at its
# start.
caller() {
        mkfifo commands answers
        chmod 666 commands answers
        background user setpriv --no-new-privs \
                sh -c 'while read -r n nr; do "$0" calls "$n" "$nr"; echo done >&3; done <commands 3>answers' "$TARGET"
        CALLER=$BACKGROUND
        exec 7>commands 8<answers
}
calls() {
        echo "$1 $2" >&7
        read -r _ <&8
}
has() { count "$1" ".fields.id == $2"; }
# recorded_by WHO NAME: saves the stream up to now in t.kts.
streamed() {
        rm -f t.kts
        background "$1" ktracectl stream "$2" -o t.kts
        STREAM=$BACKGROUND
        within 20 test -s t.kts || fail "no stream: $(cat background.err)"
}
finished() {
        expect 0 "$1" ktracectl destroy "$2"
        wait "$STREAM" || fail "stream: $?: $(cat background.err)"
}

case_trigger_window_own() { # in a user's session one event opens the window and another closes it
        caller
        made user box --scope "pids:$CALLER" -e $ENTER \
                --trigger "$ENTER if id == 1001 do start" --trigger "$EXIT if id == 1002 do stop"
        windows() { expect 0 user ktracectl --json=short show box && jq -c '[.windows[].open]' out; }
        streamed user box
        same '[false]' "$(windows)" "the window at first"
        calls 10 1000
        calls 1 1001
        calls 7 1000
        same '[true]' "$(windows)" "the open window"
        expect 0 user ktracectl status box
        grep -q 'Windows: raw_syscalls:sys_enter open' out || fail "$(cat out)"
        calls 1 1002
        same '[false]' "$(windows)" "the window at last"
        calls 9 1000
        finished user box
        same '7 1' "$(has t.kts 1000) $(has t.kts 1002)" "calls in the window"
}

case_trigger_window_all() { # in a trace of all processes one event opens the window and another closes it
        trap triggers_end EXIT
        ktracectl create box --scope system -e $ENTER -f 'id >= 1000 && id <= 1002' \
                --trigger "$ENTER if id == 1001 do start" --trigger "$EXIT if id == 1002 do stop"
        streamed root box
        ktracectl start box
        same 0 "$(cat "$TRACEFS"/instances/ktrace-*/tracing_on)" "tracing_on at first"
        refused 1 'triggers have closed its window' ktracectl mark box 'not now'
        same '[false]' "$(ktracectl --json=short show box | jq -c '[.windows[].open]')" "the window at first"
        "$TARGET" calls 10 1000
        "$TARGET" calls 1 1001
        "$TARGET" calls 7 1000
        "$TARGET" calls 1 1002
        "$TARGET" calls 9 1000
        finished root box
        same '7 1' "$(has t.kts 1000) $(has t.kts 1002)" "calls in the window"
}
root() { "$@"; }

case_trigger_switches() { # triggers turn an event on and off repeatedly; start begins as configured
        caller
        made user box --scope "pids:$CALLER" -e $ENTER --off \
                --trigger "$ENTER if id == 1001 do enable $ENTER times 1" \
                --trigger "$EXIT if id == 1002 do disable $ENTER"
        streamed user box
        calls 3 1000
        same '[{"left":1,"trigger":0}]' "$(user ktracectl --json=short show box | jq -cS .left)" \
                "what is left of the count"
        calls 1 1001
        same '[{"left":0,"trigger":0}]' "$(user ktracectl --json=short show box | jq -cS .left)" \
                "what is left of the count"
        calls 5 1000
        calls 1 1002
        calls 4 1000
        calls 1 1001
        calls 6 1000
        expect 0 user ktracectl stop box
        expect 0 user ktracectl start box
        calls 2 1000
        calls 1 1001
        calls 8 1000
        expect 0 user ktracectl stop box
        calls 1 1001
        calls 7 1000
        finished user box
        same '13 1' "$(has t.kts 1000) $(has t.kts 1002)" "calls while it was on"
}

case_trigger_set() { # [asan] set opens and closes a window by hand until the next trigger
        caller
        made user box --scope "pids:$CALLER" -e $ENTER --off --trigger "$EXIT if id == 1002 do disable $ENTER"
        streamed user box
        calls 3 1000
        expect 0 user ktracectl set box $ENTER on
        calls 5 1000
        calls 1 1002
        calls 4 1000
        expect 0 user ktracectl set box $ENTER on
        calls 2 1000
        expect 0 user ktracectl set box $ENTER off
        calls 9 1000
        finished user box
        same 7 "$(has t.kts 1000)" "calls while it was on"
}

case_trigger_loop() { # two events that switch each other do not disturb the session, and stop works
        caller
        made user box --scope "pids:$CALLER" -e $ENTER -e $EXIT --off \
                --trigger "$ENTER do enable $EXIT" --trigger "$EXIT do disable $ENTER"
        streamed user box
        calls 1000 1000
        expect 0 user ktracectl stop box
        calls 1000 1001
        finished user box
        same 0 "$(has t.kts 1001)" "calls after the stop"
        [ "$(has t.kts 1000)" -gt 0 ] || fail "nothing recorded"
}

case_trigger_of_lifetimes() { # sched_process_exit takes a trigger with a condition, although it takes no filter
        caller
        made user box --scope "pids:$CALLER" -e $ENTER --trigger 'sched:sched_process_exit if comm == "target" do start'
        streamed user box
        calls 5 1000
        calls 7 1001
        sleep 1.5
        same running "$(user ktracectl --json=short show box | jq -r .state)" "state"
        finished user box
        same '0 7' "$(has t.kts 1000) $(has t.kts 1001)" "calls before and after the first end"
        same 0 "$(count t.kts '.event == "sched_process_exit"')" "records of what is only a trigger's"
}

case_trigger_foreign() { # [guest] a user's session ends if another program adds or removes a trigger
        local instance
        caller
        for change in '!disable_event:raw_syscalls:sys_enter' traceon:1; do
                made user box --scope "pids:$CALLER" -e $ENTER --trigger "$EXIT if id == 1002 do disable $ENTER"
                instance=$(echo "$TRACEFS"/instances/ktrace-*)
                sleep 0.3
                echo "$change" >>"$instance/events/raw_syscalls/sys_exit/trigger"
                within 20 sh -c '! ktracectl list --json=short | jq -e "any(.state == \"running\")"' ||
                        fail "it goes on after $change"
                user ktracectl destroy box || true
                within 20 no_instance || fail "the instance is still there"
        done
}

case_trigger_explained() { # policy explain and show print the triggers
        trap triggers_end EXIT
        echo '{"scope": "own", "events": ["raw_syscalls:sys_enter"],
                "triggers": [{"when": "raw_syscalls:sys_exit if id == 1", "do": "stop"}]}' >s.json
        expect 0 user ktracectl policy explain s.json
        grep -q 'Triggers: raw_syscalls:sys_exit if .*id == 1.* do stop' out || fail "$(cat out)"
        expect 0 user ktracectl create box --spec s.json
        expect 0 user ktracectl show box --json=short
        same '{"do":"stop","when":"raw_syscalls:sys_exit if id == 1"}' "$(jq -cS '.spec.triggers[0]' out)" "the trigger"
        same '["raw_syscalls:sys_enter"]' "$(jq -c .events out)" "events that are recorded"
}

case_trigger_refused() { # an impossible trigger is refused with its place, and nothing changes
        trap triggers_end EXIT
        try() { # STATUS MESSAGE ARGUMENT...
                local status=$1 message=$2
                shift 2
                refused "$status" "$message" user ktracectl create bad --scope own -e $ENTER "$@"
                within 20 no_instance || fail "an instance is left"
        }
        try 2 'times: 0 is less than the minimum' --trigger "$ENTER do stop times 0"
        try 2 '--trigger "raw_syscalls:\* do stop": .*is not one event' --trigger "raw_syscalls:* do stop"
        try 2 'not printable' --trigger "$ENTER if id
== 1 do stop"
        # A caret is below the column.
        expect 2 user ktracectl create bad --scope own -e $ENTER --trigger "$ENTER if nosuch == 1 do stop"
        grep -q 'column 27: no field "nosuch"' err || fail "$(cat err)"
        try 3 'sched:sched_waking do stop": not granted' --trigger "sched:sched_waking do stop"
        try 2 "--trigger \"$ENTER do enable $EXIT\": $EXIT is not an event of the session" \
                --trigger "$ENTER do enable $EXIT"
        try 2 'sched:sched_process_fork stays on' -e sched:sched_process_fork \
                --trigger "$ENTER do disable sched:sched_process_fork"
        local other='--trigger "raw_syscalls:sys_enter if id == 1 do stop"'
        try 2 "== 2 do start\": start on .*excludes stop of $other there" \
                --trigger "$ENTER if id == 1 do stop" --trigger "$ENTER if id == 2 do start"
        try 2 'join their filters with ||' --trigger "$ENTER if id == 1 do stop" --trigger "$ENTER if id == 2 do stop"
        try 2 '--trigger: snapshot on .*requires mode flight' --trigger "$ENTER do snapshot"
        try 3 'do stacktrace": stacktrace: kernel addresses are cut' --trigger "$ENTER do stacktrace"
        try 3 'do stop": it can describe tasks' -e sched:sched_switch \
                --trigger 'sched:sched_switch if next_pid == 1 do stop'
        try 3 'do hist next_pid": sched:sched_switch can describe tasks' -e sched:sched_switch \
                --trigger 'sched:sched_switch do hist next_pid'
        try 2 'do hist args": "args": is neither a number nor a text' --trigger "$ENTER do hist args"
        try 2 'do hist nosuch": "nosuch": raw_syscalls:sys_enter has no such field' --trigger "$ENTER do hist nosuch"
        try 1 'turns all .* events of the session on or off.* at most 32' -e 'syscalls:sys_enter_*' \
                --trigger "$ENTER do stop"
        # shellcheck disable=SC2046 # 65 of them
        try 2 'more than 64' $(yes -- "--trigger=$ENTER" | head -n 65)
        # In the order of the file.
        echo '{"scope": "own",
                "events": [{"name": "raw_syscalls:sys_enter", "triggers": [{"when": "id == 1", "do": "stop"}]}],
                "triggers": [{"when": "raw_syscalls:sys_enter if id == 2", "do": "start"}]}' >two.json
        refused 2 'triggers\[0\]: start on .*excludes stop of events\[0\].triggers\[0\] there' user ktracectl create \
                bad --spec two.json
        jq 'del(.triggers)' two.json >one.json
        refused 2 'do start": start on .*excludes stop of events\[0\].triggers\[0\] there' user ktracectl create bad \
                --spec one.json --trigger "$ENTER if id == 2 do start"
        other='--trigger "raw_syscalls:sys_enter do notify times 0"'
        refused 2 "^ktracectl: $other, times: 0 is less than the minimum" \
                user ktracectl create bad --spec one.json --trigger "$ENTER do notify times 0"
        jq -nc '{scope: "own", events: ["raw_syscalls:sys_enter"],
                triggers: [range(1000) | {when: "raw_syscalls:sys_enter", do: "notify"}]}' >many.json
        refused 2 'triggers: more than 64 in a session' user ktracectl create bad --spec many.json
        if [ ! -e "$TRACEFS/events/sched/sched_switch/hist" ]; then
                refused 1 'this kernel has no histograms' ktracectl create bad --scope system --mode flight -e $ENTER \
                        --trigger "$ENTER do hist id"
        fi
        if [ ! -e "$TRACEFS/snapshot" ]; then
                refused 1 'this kernel has no snapshot buffers' ktracectl create bad --scope system --mode flight \
                        -e $ENTER --trigger "$ENTER do snapshot"
        fi
        within 20 no_instance || fail "an instance is left"
}

# Cases for kernels that support these triggers.
needs_snapshots() { [ -e "$TRACEFS/snapshot" ] || skip "the kernel has no snapshot buffers"; }

case_trigger_snapshot() { # [deep guest] a snapshot trigger keeps the events around the hit, whatever follows
        needs_snapshots
        trap triggers_end EXIT
        ktracectl create box --mode flight --scope system -b 64 -e $ENTER -f 'id >= 1000 && id <= 1002' \
                --trigger "$ENTER if id == 1001 do snapshot"
        ktracectl start box
        "$TARGET" calls 5 1000
        "$TARGET" calls 1 1001
        "$TARGET" calls 20000 1002
        "$TARGET" calls 1 1001
        expect 0 ktracectl snapshot box -o moment.kts
        same '5 1 0' "$(has moment.kts 1000) $(has moment.kts 1001) $(has moment.kts 1002)" \
                "before, at and after the moment"
        "$TARGET" calls 3 1000
        expect 0 ktracectl snapshot box -o later.kts
        [ "$(has later.kts 1002)" -gt 100 ] || fail "later calls: $(has later.kts 1002)"
        [ "$(has later.kts 1000)" -ge 3 ] || fail "the newest: $(has later.kts 1000)"
        # After a new start the next hit takes a snapshot.
        ktracectl stop box
        ktracectl clear box
        ktracectl start box
        "$TARGET" calls 2 1000
        "$TARGET" calls 1 1001
        "$TARGET" calls 4 1002
        expect 0 ktracectl snapshot box -o second.kts
        same '2 1 0' "$(has second.kts 1000) $(has second.kts 1001) $(has second.kts 1002)" "the second moment"
        expect 0 ktracectl snapshot box -o whole.kts
        same '2 1 4' "$(has whole.kts 1000) $(has whole.kts 1001) $(has whole.kts 1002)" "both sides of it"
        ktracectl destroy box
}

case_trigger_snapshot_own_record() { # [guest] a snapshot contains the event that triggered it, also without a condition
        needs_snapshots
        trap triggers_end EXIT
        ktracectl create box --mode flight --scope system -b 64 -e sched:sched_process_exec \
                --trigger 'sched:sched_process_exec do snapshot'
        ktracectl start box
        /bin/true
        expect 0 ktracectl snapshot box -o moment.kts
        [ "$(count moment.kts '.event == "sched_process_exec"')" -ge 1 ] || fail "no exec in the moment"
        ktracectl destroy box
}

case_trigger_snapshot_own() { # [guest smoke] a snapshot trigger of own processes ignores hits of other users
        needs_snapshots
        caller
        made user box --mode flight --scope "pids:$CALLER" -b 256 -e $ENTER --trigger "$ENTER if id == 1001 do snapshot"
        calls 5 1000
        "$TARGET" calls 1 1001
        calls 1 1001
        calls 2000 1002
        "$TARGET" calls 3 1000
        expect 0 user ktracectl snapshot box -o moment.kts
        same '5 1 0' "$(has moment.kts 1000) $(has moment.kts 1001) $(has moment.kts 1002)" \
                "before, at and after the moment"
        expect 0 user ktracectl snapshot box -o whole.kts
        same '5 1 2000' "$(has whole.kts 1000) $(has whole.kts 1001) $(has whole.kts 1002)" "both sides of it"
        expect 0 user ktracectl destroy box
}

case_doc_connection_drops() { # [guest] ktrace-session(5), dropped connections: the events around each drop
        needs_snapshots
        [ -e "$TRACEFS/events/tcp/tcp_destroy_sock" ] || skip "the kernel has no such event"
        trap triggers_end EXIT
        section ktrace-session.5 'The connection that drops' | sed -n '1,/^}$/p' >drops.json
        cat >app <<'EOS'
#!/usr/bin/python3
# Two connects elsewhere, the connection, its loss, four attempts without a listener, the fifth succeeds, three more
# elsewhere.
import errno, os, socket
def elsewhere(n):
    for i in range(n):
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("127.0.0.1", 9))
def listener():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 5432))
    s.listen()
    return s
def attempt():
    s = socket.socket()
    return s, s.connect_ex(("127.0.0.1", 5432))
elsewhere(2)
server = listener()
client, error = attempt()
assert error == 0
peer, _ = server.accept()
peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
peer.close()
server.close()
client.close()
for i in range(4):
    s, error = attempt()
    assert error == errno.ECONNREFUSED
    s.close()
server = listener()
client, error = attempt()
assert error == 0
elsewhere(3)
EOS
        chmod +x app
        ip link set lo up 2>/dev/null || true
        expect 0 ktracectl create drops --spec drops.json
        expect 0 ktracectl start drops
        expect 0 ./app
        expect 0 ktracectl snapshot drops -o before.dat
        expect 0 ktracectl snapshot drops -o whole.dat
        in_state() { count "$1" ".event == \"inet_sock_set_state\" and .fields.newstate == $2"; }
        connects() { count "$1" '.event == "sys_enter_connect"'; }
        same '1 0' "$(in_state before.dat 1) $(connects before.dat)" \
                "before the drop: connections that were up, attempts"
        same '2 5' "$(in_state whole.dat 1) $(connects whole.dat)" "both sides of it"
        ktracectl destroy drops
}

case_doc_window() { # ktrace-session(5), a window in an own program
        [ -e "$TRACEFS/events/syscalls/sys_enter_read" ] || skip "the kernel has no events of system calls"
        section ktrace-session.5 "A window in one's own program" | sed -n '1,/^}$/p' >window.json
        cat >program <<'EOS'
#!/usr/bin/python3
import os
f = os.open("program", os.O_RDONLY)
def reads(n):
    for i in range(n):
        os.read(f, 4001)
reads(20)
os.fsync(f)
reads(7)
os.sync()
reads(30)
EOS
        chmod +x program
        expect 0 user ktracectl record -q --spec window.json -o window.kts -- ./program
        same 7 "$(count window.kts '.fields.count == 4001')" "reads between fsync and sync"
}

case_trigger_stacktrace() { # a stack trace follows the event with a stacktrace trigger, up to its count
        trap triggers_end EXIT
        ktracectl create box --scope system -e $ENTER -f 'id >= 1000 && id <= 1002' \
                --trigger "$ENTER if id == 1001 do stacktrace times 2"
        streamed root box
        ktracectl start box
        "$TARGET" calls 3 1000
        "$TARGET" calls 5 1001
        finished root box
        same '3 5 2' "$(has t.kts 1000) $(has t.kts 1001) $(count t.kts '.event == "kernel_stack"')" "calls and stacks"
        same 2 "$(ktracectl convert t.kts --to json | jq -c 'select(.event)' | grep -A1 \
                '"id":1001' | grep -c kernel_stack)" "stacks after their calls"
}
