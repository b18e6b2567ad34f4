# SPDX-License-Identifier: LGPL-2.1-or-later
# ktracectl --varlink: every verb works over the socket as over the bus, also without a bus. Cases use the bus unless
# they say otherwise. (Any other case runs over Varlink too: TAP_DOOR, tap.sh.)

varlink_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}
# shellcheck disable=SC2086 # the word splits
# The daemon makes the socket. Here the bus starts the daemon; in the guest systemd does.
begin() {
        trap varlink_end EXIT
        ktracectl list >/dev/null
}
# alike STATUS AS COMMAND...: the status and output of ktracectl are the same over D-Bus and Varlink.
alike() {
        local status=$1 who=$2
        shift 2
        expect "$status" "$who" ktracectl "$@"
        timeless <out >bus.out
        mv err bus.err
        expect "$status" "$who" ktracectl --varlink "$@"
        timeless <out >varlink.out
        cmp bus.out varlink.out || fail "over Varlink ktracectl $* says: $(diff bus.out varlink.out)"
        cmp bus.err err || fail "over Varlink ktracectl $* says: $(diff bus.err err)"
}
timeless() { sed -e '/"now-nsec"/d' -e 's/[0-9.]* s back//'; }
root() { ${AS_EXEC:-} "$@"; }
no_bus='env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/no/bus'
calls() { "$TARGET" calls "$1" "$2"; }

case_varlink_listings() { # over Varlink lists, show, explain and resolve print the same bytes as over D-Bus
        begin
        user ktracectl create mine --scope own -e raw_syscalls:sys_enter
        ktracectl create box -a -b 256 -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start box
        calls 10 1000
        ktracectl stop box
        alike 0 root list
        alike 0 root list --json
        alike 0 user list --json=short
        alike 0 root show box --json
        alike 0 root status box
        alike 0 user show mine --json
        alike 0 root events 'sched:*' --json
        alike 0 user events --no-legend
        alike 0 user events -v 'raw_syscalls:*'
        alike 0 root probes list --json
        alike 0 user probes list --json
        printf '{"events": [{"name": "sched:sched_switch"}], "scope": "own"}' >spec.json
        alike 0 user policy explain spec.json --json
        printf '{"events": [{"name": "sched:sched_waking"}], "scope": "own"}' >spec.json
        alike 3 user policy explain spec.json
        alike 0 root policy explain spec.json --json
        same "$(ktracectl status --json=short | jq -c '.limits | keys')" \
                "$(ktracectl --varlink status --json=short | jq -c '.limits | keys')" "limits"
        user ktracectl --varlink destroy mine
        ktracectl --varlink destroy box
}

case_varlink_refusals() { # over Varlink errors have the same words and status as over D-Bus
        begin
        ktracectl create box -a -e raw_syscalls:sys_enter
        alike 1 root show none
        alike 1 user stop box
        alike 1 user show "$(ktracectl list --json=short | jq -r '.[0].id')"
        alike 1 root snapshot box -o x.kts
        alike 1 root mark box text
        alike 1 user events 'no:such*'
        alike 1 root create y -a -e no:such
        alike 2 root create y -a -e raw_syscalls:sys_enter -f 'id =='
        alike 3 user create y -a -e sched:sched_switch
        alike 1 root create box -a -e raw_syscalls:sys_enter
        alike 3 user --no-ask-password policy reload
        alike 3 user --no-ask-password list --all-users
        alike 1 root hist box
        alike 1 root probes remove none
        ktracectl destroy box
}

case_varlink_session() { # [asan] a session works over Varlink from create to destroy, without any bus
        begin
        id=$($no_bus ktracectl --varlink create mine -a -e raw_syscalls:sys_enter -f 'id == 1000')
        $no_bus ktracectl --varlink start mine
        $no_bus ktracectl --varlink stream mine -o t.kts 2>stream.err &
        local reader=$!
        started+=("$reader")
        within 20 test -s t.kts || fail "no stream: $(cat stream.err)"
        $no_bus ktracectl --varlink mark mine 'between two doors'
        calls 500 1000
        $no_bus ktracectl --varlink set mine raw_syscalls:sys_enter off
        calls 50 1000
        $no_bus ktracectl --varlink stop "$id"
        $no_bus ktracectl --varlink destroy mine
        wait "$reader" || fail "$(cat stream.err)"
        same 500 "$(count t.kts '.fields.id == 1000')" "calls"
        same 1 "$(count t.kts '.event == "print"')" "marks"
        $no_bus ktracectl --varlink create box --mode flight -a -b 256 -e raw_syscalls:sys_enter -f 'id == 1001'
        $no_bus ktracectl --varlink start box
        calls 20 1001
        $no_bus ktracectl --varlink snapshot box -o s.dat
        same 20 "$(count s.dat '.fields.id == 1001')" "calls in the snapshot"
        $no_bus ktracectl --varlink clear box
        calls 3 1001
        $no_bus ktracectl --varlink snapshot box -o - --to kts >s.kts
        same 3 "$(count s.kts '.fields.id == 1001')" "calls in the snapshot by a pipe"
        $no_bus ktracectl --varlink destroy box
}

case_varlink_record() { # record works over Varlink as over D-Bus: events, status, signals, snapshots, errors
        begin
        local status=0
        user $no_bus ktracectl --varlink record -e raw_syscalls:sys_enter -f 'id == 1000' -o t.kts -- \
                "$TARGET" calls 3000 1000 2>err || status=$?
        same 0 "$status" "status"
        same 3000 "$(count t.kts '.fields.id == 1000')" "calls"
        grep -q 'events.*none lost' err || fail "$(cat err)"
        expect 7 user $no_bus ktracectl --varlink record -e raw_syscalls:sys_enter -o t.dat -- sh -c 'exit 7'
        expect 0 user $no_bus ktracectl --varlink -q record -e raw_syscalls:sys_enter -f 'id == 1000' -o - --to text \
                -- \
                "$TARGET" calls 5 1000
        same 5 "$(grep -c 'NR 1000' out)" "lines"
        expect 0 $no_bus ktracectl --varlink record --flight -e raw_syscalls:sys_enter -f 'id == 1000' -o f.kts \
                -- "$TARGET" calls 9 1000
        same 9 "$(count f.kts '.fields.id == 1000')" "calls in the snapshot"
        background $no_bus ktracectl --varlink record -a -e raw_syscalls:sys_enter -f 'id == 1000' -o i.kts
        within 30 is_running || fail "$(cat background.err)"
        calls 10 1000
        kill -INT "$BACKGROUND"
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        same 10 "$(count i.kts '.fields.id == 1000')" "calls until ^C"
        alike 3 user record -a -e sched:sched_switch -o x.kts
        alike 127 user record -e raw_syscalls:sys_enter -o x.kts -- ./no-such-command
        # A session that its owner destroys elsewhere has ended early.
        background $no_bus ktracectl --varlink record -a -e raw_syscalls:sys_enter -f 'id == 1000' -o e.kts
        within 30 is_running || fail "$(cat background.err)"
        ktracectl destroy "$(ktracectl list --json=short | jq -r '.[0].id')"
        status=0
        wait "$BACKGROUND" || status=$?
        [ -s e.kts ] || fail "nothing is kept: $(cat background.err)"
}

case_varlink_notify() { # notifications arrive over Varlink, with the same exit statuses as over D-Bus
        begin
        ktracectl create box --mode flight -a -b 64 -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start box
        $no_bus ktracectl --varlink --json stream box --notify >json 2>json.err &
        local listener=$! status=0
        started+=("$listener")
        within 20 grep -q 'waiting for notifications' json.err || fail "$(cat json.err)"
        ktracectl snapshot box -o s.kts
        within 20 grep -q snapshot json || fail "nothing is reported"
        ktracectl destroy box
        wait "$listener" || status=$?
        same 0 "$status" "status"
        same true "$(jq -s 'map(.sequence) == [range(1; length + 1)]' json)" "sequence numbers"
}

case_varlink_nobody() { # a missing socket, a dead socket and a bad address each give one line that names it
        refused 1 '/no/socket: No such file.*ktraced.socket' env KTRACE_VARLINK_ADDRESS=unix:/no/socket \
                ktracectl --varlink list
        python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("dead")'
        refused 1 'dead: Connection refused' env KTRACE_VARLINK_ADDRESS="unix:$T/dead" ktracectl --varlink list
        refused 1 'KTRACE_VARLINK_ADDRESS: expected unix:PATH' env KTRACE_VARLINK_ADDRESS=tcp:1 ktracectl --varlink list
        # A server that reads the call and closes.
        python3 - <<'EOP' &
import socket
import os
s = socket.socket(socket.AF_UNIX); s.bind("deaf"); s.listen(); s.settimeout(60); os.rename("deaf", "rude")
c, _ = s.accept(); c.recv(100)
EOP
        within 20 test -S rude || fail "no socket"
        refused 1 'rude closed the connection without a reply to ListSessions' \
                env KTRACE_VARLINK_ADDRESS="unix:$T/rude" ktracectl --varlink list
}

case_varlink_early() { # without a bus ktracectl uses Varlink by itself, and cannot ask for a password
        begin
        ktracectl create box -a -e raw_syscalls:sys_enter
        expect 0 unshare -m sh -c 'mkdir -p /run/dbus && mount -t tmpfs none /run/dbus &&
                exec env -u DBUS_SYSTEM_BUS_ADDRESS ktracectl list'
        grep -q box out || fail "$(cat out)"
        # DBUS_SYSTEM_BUS_ADDRESS has precedence.
        refused 1 '/no/bus' unshare -m sh -c 'mount -t tmpfs none /run/dbus &&
                exec env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/no/bus ktracectl list'
        ktracectl destroy box
}

# died: kills the daemon and waits for the next one.
died() {
        local pid
        pid=$(daemon_pid)
        kill -KILL "$pid"
        within 20 sh -c "! kill -0 $pid 2>/dev/null" || fail "not killed"
        within 30 answers "$pid" || fail "no daemon started"
}
answers() { ktracectl status >/dev/null && [ "$(daemon_pid)" != "$1" ]; }

case_varlink_daemon_killed() { # a killed daemon ends a recording over Varlink with one line; notifications continue
        begin
        local status=0
        ktracectl create box --mode flight -a -b 64 -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start box
        $no_bus ktracectl --varlink --json stream box --notify >json 2>json.err &
        local listener=$!
        started+=("$listener")
        within 20 grep -q 'waiting for notifications' json.err || fail "$(cat json.err)"
        background $no_bus ktracectl --varlink -q record -a -e raw_syscalls:sys_enter -f 'id == 1001' -o r.kts
        within 30 sh -c 'ktracectl list --json=short | jq -e "map(select(.state == \"running\")) | length == 2"' ||
                fail "$(cat background.err)"
        calls 40 1001
        died
        wait "$BACKGROUND" || status=$?
        same 1 "$status" "status of the recording"
        same 1 "$(wc -l <background.err)" "lines: $(cat background.err)"
        grep -q 'ktraced hung up' background.err || fail "$(cat background.err)"
        same 40 "$(count r.kts '.fields.id == 1001')" "calls"
        kill -0 "$listener" || fail "the listener has ended: $(cat json.err)"
        within 20 has_snapshot || fail "nothing is reported: $(cat json.err)"
        ktracectl destroy box
        status=0
        wait "$listener" || status=$?
        same 0 "$status" "status of the listener: $(cat json.err)"
}
has_snapshot() {
        ktracectl snapshot box -o s.kts
        grep -q snapshot json
}
