# SPDX-License-Identifier: LGPL-2.1-or-later
# The daemon is killed or restarted: which sessions continue, and which errors the others report. Where a service
# manager keeps descriptors (the guest), streams also continue.

restart_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        files_end
}
manager() { service_manager || skip "no service manager keeps the sockets of streams"; }
all_run() { ktracectl list --json=short | jq -e "[.[] | select(.state == \"running\")] | length == $1"; }
state_of() { ktracectl --json=short show "$1" | jq -r .state; }
calls() { "$TARGET" calls "$1" "$2"; }
# recorder OPTION...: a flight recorder `box` of all processes, for two system calls that no other program makes.
recorder() {
        ktracectl create box --mode flight --scope system -b 256 \
                -e raw_syscalls:sys_enter -f 'id >= 1000 && id <= 1001' "$@"
        ktracectl start box
}
has() { count "$1" ".fields.id == $2"; }
# records_until_stop USEC: a user's recording of a process that makes a call every USEC until the file `stop` exists.
records_until_stop() {
        recording user ktracectl record -q -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts -- \
                "$TARGET" until stop "$1"
}
# rule KEYS: a rule for the user, in force from now on.
rule() {
        mkdir -p "$CONFIG_DIR/policy.d"
        printf '{"rules": [{"name": "case", "subjects": [{"uid": %s}], "events": ["raw_syscalls:*"], %s}]}\n' \
                "$USER_UID" "$1" >"$CONFIG_DIR/policy.d/10-case.json"
        ktracectl policy reload
}
# called_process: a process of the user that makes calls on command: called N NUMBER. Its pid is in $BACKGROUND.
called_process() {
        mkfifo commands answers
        chmod 666 commands answers
        background user setpriv --no-new-privs sh -c \
                'while read -r n nr; do "$0" calls "$n" "$nr"; echo done >&3; done <commands 3>answers' "$TARGET"
        exec 7>commands 8<answers
}
called() { echo "$1 $2" >&7 && read -r _ <&8; }

case_restart_flight() { # [asan] a snapshot has the events before, during and after the time without a daemon
        trap restart_end EXIT
        local pid
        recorder
        calls 100 1000
        pid=$(daemon_pid)
        kill -KILL "$pid"
        calls 10 1000
        within 30 another "$pid" || fail "no daemon started"
        same running "$(state_of box)" "state"
        calls 1 1000
        expect 0 ktracectl snapshot box -o t.kts
        same 111 "$(has t.kts 1000)" "calls"
        expect 0 ktracectl snapshot box -o u.kts
        same 111 "$(has u.kts 1000)" "calls of the next snapshot"
        ktracectl stop box
        killed
        same stopped "$(state_of box)" "state"
        calls 5 1000
        ktracectl start box
        calls 7 1000
        expect 0 ktracectl snapshot box -o v.kts
        [ "$(has v.kts 1000)" -ge 7 ] || fail "$(has v.kts 1000) calls after the second start"
        ktracectl destroy box
}

case_restart_lifetime_unit() { # a unit's session survives a killed daemon, but not the end of the unit
        trap restart_end EXIT
        lives_in kt-life.service 0
        recorder --lifetime unit:kt-life.service
        killed
        same running "$(state_of box)" "state"
        pid=$(daemon_pid)
        kill -STOP "$pid"
        kill "$BACKGROUND"
        kill -KILL "$pid"
        within 30 another "$pid" || fail "no daemon started"
        within 20 no_instance || fail "the session is still there without its unit"
}

case_restart_saved() { # a service that runs a saved session reconnects to the next daemon
        trap 'rm -rf "$CONFIG_DIR/sessions.d"; restart_end' EXIT
        mkdir -p "$CONFIG_DIR/sessions.d"
        echo '{"mode": "flight", "scope": "system", "buffer-kb": 64, "events": ["sched:sched_process_exec"]}' \
                >"$CONFIG_DIR/sessions.d/box.json"
        background ktracectl saved --config-dir="$CONFIG_DIR" run box
        within 20 all_run 1 || fail "the session does not run: $(cat background.err)"
        killed
        same running "$(state_of box)" "state"
        sleep 1
        kill -TERM "$BACKGROUND"
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        within 20 no_instance || fail "the instance is still there"
}

case_restart_snapshots() { # [deep guest] the next daemon's snapshot repeats the events of the previous snapshot
        manager
        trap restart_end EXIT
        recorder
        calls 100 1000
        expect 0 ktracectl snapshot box -o t.kts
        killed
        calls 5 1000
        expect 0 ktracectl snapshot box -o u.kts
        same '100 105' "$(has t.kts 1000) $(has u.kts 1000)" "calls"
        ktracectl clear box
        killed
        calls 3 1000
        expect 0 ktracectl snapshot box -o v.kts
        same 3 "$(has v.kts 1000)" "calls after it was cleared"
        ktracectl destroy box
}

case_restart_off() { # after a restart, switched-off events and unstarted sessions are as before
        trap restart_end EXIT
        ktracectl create box --mode flight --scope system -b 256 \
                -e raw_syscalls:sys_enter -f 'id == 1000' -e raw_syscalls:sys_exit -f 'id == 1000'
        user ktracectl create mine --scope own -b 64 --lifetime linger -e raw_syscalls:sys_enter
        killed
        same configured "$(state_of box)" "state"
        # Settings that the session has not made yet are not reported as interference.
        echo 1 >"$TRACEFS/instances/ktrace-$(user ktracectl list --json=short | jq -r '.[0].id')/tracing_on"
        sleep 0.5
        same configured "$(user ktracectl --json=short show mine | jq -r .state)" "state of what is judged"
        user ktracectl destroy mine
        ktracectl start box
        ktracectl set box raw_syscalls:sys_exit off
        killed
        calls 4 1000
        expect 0 ktracectl snapshot box -o t.kts
        same '4 0' "$(count t.kts '.event == "sys_enter"') $(count t.kts '.event == "sys_exit"')" "events"
        ktracectl set box raw_syscalls:sys_exit on
        calls 3 1000
        expect 0 ktracectl snapshot box -o t.kts
        same '7 3' "$(count t.kts '.event == "sys_enter"') $(count t.kts '.event == "sys_exit"')" "events"
        ktracectl destroy box
}

case_restart_rules() { # a restart ends a session that new rules forbid, and the journal says so
        trap restart_end EXIT
        rule '"scopes": ["system"], "processes": "any"'
        expect 0 user ktracectl create box --mode flight --scope system -b 64 -e raw_syscalls:sys_enter -f 'id == 1000'
        user ktracectl start box
        killed
        same running "$(user ktracectl --json=short show box | jq -r .state)" "state under the same rules"
        rm "$CONFIG_DIR/policy.d/10-case.json"
        killed
        same '[]' "$(user ktracectl list --json=short)" "sessions"
        within 20 no_instance || fail "the instance is still there"
}

case_restart_garbage() { # [asan] the daemon ignores and removes broken state files
        trap restart_end EXIT
        local state pid
        recorder
        state=$STATE_DIR
        cp "$state"/*.json kept.json
        head -c 200 kept.json >"$state/00000000deadbeef.json"
        echo '{"version": 1}' >"$state/00000000deadbee0.json"
        echo '{"version": 99}' >"$state/00000000deadbee1.json"
        cp kept.json "$state/not-an-id.json"
        jq '.owner = {}' kept.json >"$state/00000000deadbee2.json"
        mkdir "$TRACEFS/instances/ktrace-00000000deadbee2"
        killed
        same running "$(state_of box)" "state"
        same 1 "$(ktracectl list --json=short | jq length)" "sessions"
        n_instances 1 || fail "$(ls "$TRACEFS/instances")"
        same 1 "$(ls "$state" | wc -l)" "files: $(ls "$state")"
        ktracectl destroy box
        same 0 "$(ls "$state" | wc -l)" "files: $(ls "$state")"
}

case_restart_owner_gone() { # a session ends if its client left while no daemon was running
        trap restart_end EXIT
        background user ktracectl record -e raw_syscalls:sys_enter -o t.kts -- sleep 60
        within 30 is_running || fail "the recording did not start: $(cat background.err)"
        kill -STOP "$(daemon_pid)"
        pkill -9 -x -P "$BACKGROUND" ktracectl || kill -9 "$BACKGROUND"
        killed
        within 20 no_instance || fail "the instance is still there"
        same '[]' "$(user ktracectl list --json=short)" "sessions left"
}

case_restart_record() { # [deep guest] a recording continues over three restarts without a lost or duplicate event
        manager
        trap restart_end EXIT
        local i
        records_until_stop 2000
        for i in 1 2 3; do
                sleep 0.5
                killed
        done
        all_called t.kts
        prints . ktracectl report t.kts --receipt || fail "no receipt"
}

# killed_at_the_end STATE: makes recordings until three were killed: the daemon is killed when the session is in STATE.
# Another user makes the same calls all the time, and none of them may be recorded.
killed_at_the_end() {
        local hits=0 ends=$((SECONDS + 30))
        AS_EXEC=exec stranger "$TARGET" until never 2000 >/dev/null &
        started+=("$!")
        while [ "$hits" -lt 3 ] && [ "$SECONDS" -lt "$ends" ]; do
                recording user ktracectl record -q -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts -- \
                        "$TARGET" paced 500 2000
                ! killed_when "$1" || hits=$((hits + 1))
                within 30 sh -c "! kill -0 $RECORDING 2>/dev/null" ||
                        fail "the recording does not end: $(cat background.err)"
                wait "$RECORDING" || fail "status $?: $(cat background.err)"
                same 500 "$(count t.kts '.event == "sys_enter" and .comm == "target"')" \
                        "calls, by name: $(cat background.err)"
                same stopped "$(ktracectl report --receipt t.kts | grep -o 'code: .*' | cut -d' ' -f2)" \
                        "end code of the stream"
                within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
        done
        [ "$hits" -gt 0 ] || skip "no recording was $1 when the daemon was killed"
}

case_restart_destroying() { # a recording that was ending when the daemon was killed is complete
        trap restart_end EXIT
        kept
        killed_at_the_end stopped
}

case_restart_ending() { # the next daemon finishes the removal of a session; its stream is complete
        trap restart_end EXIT
        kept
        killed_at_the_end ending
        within 20 nothing_kept || fail "files: $(ls "$STATE_DIR")"
}

case_restart_removing() { # the next daemon removes an instance whose session was destroyed before the kill
        trap restart_end EXIT
        kept
        local id
        ktracectl create gone --scope own -e raw_syscalls:sys_enter
        id=$(ktracectl list --json=short | jq -r '.[0].id')
        exec 8<"$TRACEFS/instances/ktrace-$id/tracing_on" # rmdir fails
        expect 0 ktracectl destroy gone
        killed
        [ -d "$TRACEFS/instances/ktrace-$id" ] || fail "the instance could be removed"
        same '[]' "$(ktracectl list --json=short)" "the list"
        expect 0 ktracectl create gone --scope own -e raw_syscalls:sys_enter
        expect 1 ktracectl verify
        grep -q "ktrace-$id" err out || fail "not found: $(cat out err)"
        exec 8<&-
        expect 0 ktracectl destroy gone
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
        within 20 nothing_kept || fail "files: $(ls "$STATE_DIR")"
}

nothing_kept() { [ -z "$(ls "$STATE_DIR")" ]; }

case_restart_stopping() { # the next daemon finishes a stop; recordings and snapshots are complete
        trap restart_end EXIT
        kept
        local hits=0 ends
        killed_at_the_end stopping
        ends=$((SECONDS + 35))
        while [ "$hits" = 0 ] && [ "$SECONDS" -lt "$ends" ]; do
                recorder
                calls 7 1000
                ktracectl stop box 2>/dev/null &
                BACKGROUND=$!
                ! killed_when stopping || hits=$((hits + 1))
                wait "$BACKGROUND" || true
                calls 5 1000
                same stopped "$(state_of box)" "state"
                expect 0 ktracectl snapshot box -o box.kts
                same 7 "$(has box.kts 1000)" "calls before it was stopped"
                ktracectl start box
                calls 3 1000
                expect 0 ktracectl snapshot box -o box.kts
                same 10 "$(has box.kts 1000)" "calls before it was stopped, and since the next start"
                ktracectl destroy box
        done
        [ "$hits" -gt 0 ] || skip "no flight recorder was being stopped when the daemon was killed"
}

case_restart_resizing() { # a buffer whose size was changing has its old size and quota after a restart
        trap restart_end EXIT
        local hits=0 ends=$((SECONDS + 35)) size used
        user ktracectl create box --scope own -b 64 --lifetime linger -e raw_syscalls:sys_enter
        size=$(cat "$TRACEFS"/instances/ktrace-*/buffer_size_kb)
        used=$(used_kb)
        while [ "$hits" -lt 3 ] && [ "$SECONDS" -lt "$ends" ]; do
                user ktracectl set box buffer-kb 16384 2>/dev/null &
                BACKGROUND=$!
                ! killed_when wants-kb || hits=$((hits + 1))
                if wait "$BACKGROUND"; then # the change was complete
                        user ktracectl set box buffer-kb 64
                fi
                same "$size $used" "$(cat "$TRACEFS"/instances/ktrace-*/buffer_size_kb) $(used_kb)" "sizes"
        done
        [ "$hits" -gt 0 ] || skip "no buffer was being changed when the daemon was killed"
        user ktracectl destroy box
        within 20 nothing_is_charged || fail "$(used_kb) kB are in use"
}
nothing_is_charged() { [ "$(used_kb)" = 0 ]; }
used_kb() { user ktracectl --json=short status | jq '.limits["buffer-kb"]'; }

case_restart_flight_recording() { # record --flight takes its last snapshot from the next daemon
        trap restart_end EXIT
        kept
        local hits=0 n file ends=$((SECONDS + 40))
        while [ "$hits" -lt 3 ] && [ "$SECONDS" -lt "$ends" ]; do
                rm -f t*.kts
                background ktracectl record --flight -a -e raw_syscalls:sys_enter -f 'id == 1000' -o t.kts -- \
                        "$TARGET" calls 100 1000
                ! killed_when stopped || hits=$((hits + 1))
                wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
                n=0
                for file in t*.kts; do
                        n=$((n + $(has "$file" 1000)))
                done
                # If the kernel swaps buffers, events that were swapped out when the daemon was killed are in the
                # snapshot after the next only. Here no other snapshot follows, so the loss is reported.
                if ! [ -e "$TRACEFS/snapshot" ] || ! grep -q 'has let its worker go' background.err; then
                        same 100 "$n" "calls: $(cat background.err)"
                fi
        done
        [ "$hits" -gt 0 ] || skip "no recording was stopped when the daemon was killed"
}

case_restart_hist_command() { # [guest] hist gets its table from the next daemon
        # Without systemd the worker that counts ends with its daemon.
        [ -e "$TRACEFS/events/raw_syscalls/sys_enter/hist" ] || service_manager ||
                skip "this kernel has no histograms"
        trap restart_end EXIT
        kept
        background ktracectl --json=short hist -a -e raw_syscalls:sys_enter -f 'id == 1000' --key id -- \
                sh -c '"$0" calls 5 1000; : >counted; while [ ! -e go ]; do sleep 0.05; done' "$TARGET"
        within 20 test -e counted || fail "the session does not run: $(cat background.err)"
        kill -STOP "$(daemon_pid)"
        : >go
        sleep 0.5
        killed
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        same 5 "$(jq .hits background.out)" "calls: $(cat background.err)"
}

case_restart_stream_left() { # without systemd a stream ends with its daemon, and the reader is informed
        ! service_manager || skip "systemd keeps streams here"
        trap restart_end EXIT
        local status=0
        ktracectl create box -a -e raw_syscalls:sys_enter -f 'id == 1000'
        background ktracectl stream box -o t.kts
        within 20 test -s t.kts || fail "no stream: $(cat background.err)"
        ktracectl start box
        calls 5 1000
        killed
        wait "$BACKGROUND" || status=$?
        same 4 "$status" "status: $(cat background.err)"
        grep -q 'ktraced has let its worker go' background.err || fail "not reported: $(cat background.err)"
        same 'running 5' "$(state_of box) $(has t.kts 1000)" "session, and calls"
}

case_restart_systemctl() { # [guest] systemctl restart keeps sessions, systemctl stop ends them
        manager
        trap restart_end EXIT
        records_until_stop 2000
        recorder
        calls 10 1000
        systemctl restart ktraced.service
        calls 10 1000
        expect 0 ktracectl snapshot box -o u.kts
        same 20 "$(has u.kts 1000)" "calls"
        all_called t.kts
        systemctl stop ktraced.service
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
        same '[]' "$(ktracectl list --json=short)" "sessions"
}

case_restart_marks() { # [deep guest] marks that were written without a daemon are in the stream, in order
        manager
        trap restart_end EXIT
        cat >marks.py <<'EOS'
import array, dbus, fcntl, os, termios, time
bus = dbus.SystemBus()
manager = dbus.Interface(bus.get_object("org.ktrace1", "/org/ktrace1"), "org.ktrace1.Manager")
spec = {"scope": "own", "events": dbus.Array(["sched:sched_process_exec"])}
id, path = manager.CreateSession(dbus.Dictionary(spec, signature="sv"))
session = dbus.Interface(bus.get_object("org.ktrace1", path), "org.ktrace1.Session")
stream = session.OpenStream(dbus.Dictionary({}, signature="sv")).take()
session.Start()
marker = session.OpenMarker().take()
os.write(marker, b"one")
print(id, flush=True)
while not os.path.exists("killed"):
    time.sleep(0.05)
os.write(marker, b"two")
while not os.path.exists("there"):
    time.sleep(0.05)
os.write(marker, b"three")
unread = array.array("i", [1])
while unread[0] > 0: # a D-Bus call would be handled before the pipe
    fcntl.ioctl(marker, termios.FIONREAD, unread)
    time.sleep(0.05)
session = dbus.Interface(dbus.SystemBus(private=True).get_object("org.ktrace1", path), "org.ktrace1.Session")
session.Mark("four")
time.sleep(1)
session.Stop()
session.Destroy()
with open("t.kts", "wb") as out:
    while data := os.read(stream, 65536):
        out.write(data)
EOS
        background user python3 marks.py
        within 20 test -s background.out || fail "$(cat background.err)"
        local pid
        pid=$(daemon_pid)
        kill -KILL "$pid"
        : >killed
        within 30 another "$pid" || fail "no daemon started"
        : >there
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        same 'one two three four' \
                "$(ktracectl convert t.kts --to json | jq -r 'select(.event == "print") | .fields.buf' | xargs)" "marks"
}

case_restart_tampered() { # [guest] a change of a fenced session while no daemon was running ends it
        manager
        trap restart_end EXIT
        local pid instance
        records_until_stop 2000
        instance=$(echo "$TRACEFS"/instances/ktrace-*)
        kill -STOP "$(daemon_pid)"
        echo 0 >"$instance/events/raw_syscalls/sys_enter/filter"
        killed
        : >stop
        wait "$RECORDING" && fail "the recording succeeded" || true
        grep -qE 'interference|changed|gone' background.err || fail "not reported: $(cat background.err)"
        within 20 no_instance || fail "the instance is still there"
}

case_restart_guard() { # [guest] without a daemon the kernel's guard still ends a trace when a command gains privileges
        manager
        command -v su >/dev/null || skip "no su"
        trap restart_end EXIT
        local pid
        rule '"scopes": ["command"], "allow-setuid": true'
        recording user ktracectl record -q --allow-setuid -e raw_syscalls:sys_enter -o t.kts -- \
                sh -c 'while [ ! -e go ]; do sleep 0.1; done; echo wrong | su root -c true; touch done; sleep 3'
        pid=$(daemon_pid)
        kill -STOP "$pid"
        : >go
        within 40 test -e done || fail "$(cat background.err)"
        kill -KILL "$pid"
        within 30 another "$pid" || fail "no daemon started"
        wait "$RECORDING" || true
        # No call of su itself: it opens the shadow file, in a call with root's credentials.
        same 0 "$(count t.kts '.comm == "su" and .fields.id == 257' || true)" "calls of su"
        within 20 no_instance || fail "the instance is still there"
}

case_restart_guard_later() { # [deep guest] a session that starts after a restart has a guard, and sees changes of it
        [ -e "$TRACEFS/kprobe_events" ] || skip "the kernel has no kprobes"
        trap restart_end EXIT
        local guard
        user ktracectl create early --scope own -b 64 --lifetime linger -e raw_syscalls:sys_enter
        killed
        same configured "$(user ktracectl --json=short show early | jq -r .state)" "state"
        expect 0 user ktracectl start early
        guard=$(echo "$TRACEFS"/instances/ktrace-*/events/ktrace_guard/commit_creds/trigger)
        guard=$(grep -l '^traceoff' $guard) || fail "no guard"
        echo '!traceoff' >>"$guard"
        within 20 sh -c '! ktracectl list --json=short | grep -q early' || fail "the session goes on without its guard"
}

case_restart_many() { # [deep guest] sixteen sessions survive twenty kills of the daemon without a loss
        manager
        trap restart_end EXIT
        local i pid
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
                ktracectl create "box$i" --mode flight --scope system -b 16 \
                        -e raw_syscalls:sys_enter -f "id == $((1000 + i))"
                ktracectl start "box$i"
        done
        records_until_stop 1000
        within 30 all_run 16 || fail "the recording did not start: $(cat background.err)"
        for i in $(seq 20); do
                calls 1 $((1000 + i % 15 + 1))
                pid=$(daemon_pid)
                [ "$pid" = 0 ] || kill -KILL "$pid" 2>/dev/null || true
                sleep "0.$((i % 7))"
                # A client waits 20 s for the next daemon. On a slow machine this may be too short.
                [ $((i % 4)) != 0 ] || within 30 ktracectl status || fail "no daemon started"
        done
        within 30 ktracectl status || fail "no daemon started"
        same 16 "$(ktracectl list --json=short | jq length)" \
                "sessions: $(journalctl -b -u ktraced.service -o cat | grep -i 'end' | tail -n 5)"
        for i in 1 15; do
                expect 0 ktracectl snapshot "box$i" -o s.kts
                [ "$(has s.kts $((1000 + i)))" -ge 1 ] || fail "box$i has none"
        done
        all_called t.kts
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
                ktracectl destroy "box$i"
        done
}

case_restart_caught() { # [deep guest] a snapshot that a trigger took is kept for the next daemon
        [ -e "$TRACEFS/snapshot" ] || skip "the kernel has no snapshots"
        trap restart_end EXIT
        local pid
        recorder --trigger 'raw_syscalls:sys_enter if id == 1001 do snapshot'
        calls 5 1000
        pid=$(daemon_pid)
        kill -KILL "$pid"
        calls 1 1001
        calls 3 1000
        within 30 another "$pid" || fail "no daemon started"
        expect 0 ktracectl snapshot box -o t.kts
        same '5 1' "$(has t.kts 1000) $(has t.kts 1001)" "before and at the moment"
        expect 0 ktracectl snapshot box -o u.kts
        [ "$(has u.kts 1000)" -ge 3 ] || fail "after it: $(has u.kts 1000)"
        ktracectl stop box
        ktracectl clear box
        ktracectl start box
        calls 2 1000
        calls 1 1001
        calls 9 1000
        ktracectl stop box
        killed
        expect 0 ktracectl snapshot box -o v.kts
        same '2 1' "$(has v.kts 1000) $(has v.kts 1001)" "before and at the second moment"
        ktracectl destroy box
}

case_restart_window() { # [deep guest] a trigger window stays open or closed over a restart, and its triggers work
        manager
        trap restart_end EXIT
        called_process
        expect 0 user ktracectl create box --lifetime linger --scope "pids:$BACKGROUND" -e raw_syscalls:sys_enter \
                --trigger "raw_syscalls:sys_enter if id == 1001 do start" \
                --trigger "raw_syscalls:sys_exit if id == 1002 do stop"
        background user ktracectl stream box -o t.kts
        within 20 test -s t.kts || fail "no stream"
        expect 0 user ktracectl start box
        called 10 1000
        killed
        called 10 1000
        called 1 1001
        called 7 1000
        killed
        called 2 1000
        called 1 1002
        called 9 1000
        expect 0 user ktracectl destroy box
        wait "$BACKGROUND" || fail "stream: $?: $(cat background.err)"
        same '9 1' "$(has t.kts 1000) $(has t.kts 1002)" "calls in the window"
}

case_restart_hist() { # [guest] a histogram keeps counting over a restart, and each hit is notified once
        manager
        trap restart_end EXIT
        cat >spec.json <<'EOS'
{"triggers": [{"when": "raw_syscalls:sys_enter if id == 1000", "do": "hist", "keys": ["id"]},
              {"when": "raw_syscalls:sys_enter if id == 1001", "do": "notify"}]}
EOS
        ktracectl create box -a --spec spec.json
        background ktracectl --json stream box --notify
        within 20 grep -q waiting background.err || fail "$(cat background.err)"
        ktracectl start box
        calls 5 1000
        calls 2 1001
        within 20 test -s background.out || fail "no notification"
        killed
        calls 6 1000
        calls 3 1001
        expect 0 ktracectl --json=short hist box
        same 11 "$(jq .hits out)" "calls"
        within 20 sh -c 'jq -se "map(.count) | add >= 5" background.out' || fail "$(cat background.out background.err)"
        sleep 0.5 # no further hit is reported
        same 5 "$(jq -s 'map(select(.kind == "notify") | .count) | add' background.out)" "hits that were reported"
        ktracectl destroy box
}

# own_box: a session of the user that counts the calls of called_process.
own_box() {
        manager
        trap restart_end EXIT
        called_process
        user ktracectl create box --scope "pids:$BACKGROUND" \
                --trigger 'raw_syscalls:sys_enter if id == 1000 do hist id' \
                --trigger 'raw_syscalls:sys_enter if id == 1001 do notify' --lifetime linger
        user ktracectl start box
        called 5 1000
}
# own_hits FILTER: whether jq's FILTER is true of the histogram.
own_hits() { user ktracectl --json=short hist box | jq -e "$1"; }

case_restart_hist_own() { # [deep guest] a histogram of own processes counts on without a daemon
        own_box
        local pid
        within 20 own_hits '.hits == 5' || fail "calls before: $(user ktracectl --json=short hist box)"
        pid=$(daemon_pid)
        kill -KILL "$pid"
        called 6 1000
        within 30 another "$pid" || fail "no daemon started"
        called 2 1000
        within 20 own_hits '.hits == 13 and (.paused | not)' || fail "calls: $(user ktracectl --json=short hist box)"
        user ktracectl hist box --clear
        called 3 1000
        background user ktracectl stream box -o t.kts
        within 20 test -s t.kts || fail "no stream after the restart: $(cat background.err)"
        expect 0 user ktracectl --json=short hist box
        same 3 "$(jq .hits out)" "calls since it was cleared"
        # If the counting worker is killed, its counts are lost: the session ends with this reason.
        kill -KILL "$(ktracectl --json=short status | jq -e '.daemon.consumers[0].pid')"
        within 20 no_instance || fail "the session continues without its counts: $(ktracectl list)"
}

case_restart_hist_own_early() { # [deep guest] calls before the first read are counted or reported as lost
        own_box
        local pid
        pid=$(daemon_pid)
        kill -KILL "$pid"
        called 6 1000
        within 30 another "$pid" || fail "no daemon started"
        called 2 1000
        within 20 own_hits '.hits + (.lost // 0) == 13' || fail "calls: $(user ktracectl --json=short hist box)"
        called 4 1000
        within 20 own_hits '.hits >= 4 and .hits + (.lost // 0) == 17' ||
                fail "later calls: $(user ktracectl --json=short hist box)"
}

# bus_lost_end: ends the case with a bus, also if the case has failed.
bus_lost_end() {
        busctl status >/dev/null 2>&1 || bus_starts
        restart_end
}

case_restart_bus_lost() { # recordings continue without the system bus; Varlink works; the daemon reconnects
        of_the_bus
        local pid door='env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/no/bus ktracectl --varlink' stream id i
        kept
        trap bus_lost_end EXIT
        ktracectl list >/dev/null
        pid=$(daemon_pid)
        id=$(ktracectl create disk --spool -a -e raw_syscalls:sys_enter -f 'id == 1000')
        ktracectl start disk
        ktracectl create box -a -b 256 -e raw_syscalls:sys_enter -f 'id == 1001'
        $door stream box -o s.kts 2>stream.err &
        stream=$!
        started+=("$stream")
        within 20 test -s s.kts || fail "no stream: $(cat stream.err)"
        ktracectl start box
        recording $door record -q -a -e raw_syscalls:sys_enter -f 'id == 1002' -o t.kts
        within 20 all_run 3 || fail "$(ktracectl list)"
        user ktracectl record -q -e raw_syscalls:sys_enter -o lost.kts -- sleep 100 2>lost.err &
        started+=("$!")
        within 20 $door list || fail "the socket does not answer"
        within 20 all_run 4 || fail "$(ktracectl list)"
        bus_calls
        for i in 1 2; do
                bus_ends
                bus_calls
                # A session whose client was on the bus ends, as if the client had left.
                within 20 door_runs 3 || fail "$($door list)"
                expect 0 $door status
                refused 3 'the connection to the system bus is lost: try again' \
                        user $door create all -a -e raw_syscalls:sys_enter
                $door mark box "without a bus $i"
                bus_starts
                within 20 on_the_bus || fail "the daemon does not join the bus again"
                same "$pid" "$(daemon_pid)" "the daemon"
                bus_calls
                expect 0 ktracectl list
        done
        ktracectl destroy box
        wait "$stream" || fail "the stream: $(cat stream.err)"
        same '500 2' "$(has s.kts 1001) $(count s.kts '.event == "print"')" "calls and marks in the stream"
        kill -INT "$RECORDING"
        wait "$RECORDING" || fail "the recording: $(cat background.err)"
        same 500 "$(has t.kts 1002)" "calls in the recording"
        ktracectl stop disk
        ktracectl destroy disk
        within 20 spooled_well "$id" || fail "$(ktracectl spool list)"
        ktracectl spool fetch "$id" -o d.kts
        same 500 "$(has d.kts 1000)" "calls on the disk"
        ktracectl spool remove "$id"
}
bus_calls() { calls 100 1000 && calls 100 1001 && calls 100 1002; }
door_runs() { # N: this many sessions run, as Varlink reports
        env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/no/bus ktracectl --varlink list --json=short |
                jq -e "[.[] | select(.state == \"running\")] | length == $1"
}
on_the_bus() { busctl --auto-start=no call org.ktrace1 /org/ktrace1 org.ktrace1.Manager ListSessions; }
spooled_well() { # ID: the recording has ended without a loss
        ktracectl spool list --json=short | jq -e ".[] | select(.id == \"$1\") | .state == \"ended\" and .lost == 0"
}

case_restart_version() { # [deep] a session that another version of ktraced saved ends with a reason
        trap restart_end EXIT
        local version
        for version in 0 2 99; do
                recorder
                jq ".version = $version" "$STATE_DIR"/*.json >kept
                [ "$(wc -l <kept)" -gt 1 ] || fail "no state"
                kill -STOP "$(daemon_pid)"
                cp kept "$(echo "$STATE_DIR"/????????????????.json)"
                killed
                same '[]' "$(ktracectl list --json=short)" "sessions"
                within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
                same 0 "$(ls "$STATE_DIR" | wc -l)" "files: $(ls "$STATE_DIR")"
        done
}

case_restart_linger() { # [deep] a lingering session keeps the rest of its time over a restart
        trap restart_end EXIT
        ktracectl create box --mode flight --scope system -b 64 --lifetime linger:24 \
                -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start box
        sleep 10
        killed
        same running "$(state_of box)" "state"
        within 20 sh -c "! ktracectl show box" || fail "the session lingers too long"
}

case_restart_kills_busy() { # [deep] a hundred kills (guest: twenty) while sessions change leave no orphan
        trap restart_end EXIT
        local i pid kills=100
        ! service_manager || kills=20 # a slow machine
        ktracectl create calm --mode flight --scope system -b 64 -e raw_syscalls:sys_enter -f 'id == 1001'
        ktracectl start calm
        calls 7 1001
        (set +e; while [ ! -e enough ]; do
                ktracectl create busy --mode flight --scope system -b 16 \
                        -e raw_syscalls:sys_enter -f 'id == 1000' -e raw_syscalls:sys_exit -f 'id == 1000'
                ktracectl start busy
                ktracectl set busy buffer-kb 64
                ktracectl snapshot busy -o b.kts
                ktracectl set busy raw_syscalls:sys_exit off
                ktracectl stop busy
                ktracectl destroy busy
        done) >/dev/null 2>&1 &
        local busy=$!
        started+=("$busy")
        for ((i = 0; i < kills && SECONDS < 100; i++)); do
                pid=$(daemon_pid 2>/dev/null || true)
                [ "${pid:-0}" = 0 ] || kill -KILL "$pid" 2>/dev/null || true
                sleep "0.$((i * 37 % 50 + 10))"
        done
        touch enough
        wait "$busy" || true
        within 30 ktracectl status || fail "no daemon started"
        ! ktracectl show busy >/dev/null 2>&1 || ktracectl destroy busy
        same '["calm"]' "$(ktracectl list --json=short | jq -c 'map(.name)')" "sessions"
        within 20 n_instances 1 || fail "orphans: $(ls "$TRACEFS/instances")"
        expect 0 ktracectl snapshot calm -o t.kts
        same 7 "$(has t.kts 1001)" "calls"
        ktracectl destroy calm
}

case_restart_consumers_killed() { # [deep guest] a killed stream worker ends only its own session, with a reason
        manager
        trap restart_end EXIT
        local i pid
        recorder
        calls 3 1000
        for i in 1 2 3 4 5 6 7 8 9 10; do
                background ktracectl record -q --scope system -e raw_syscalls:sys_enter -f 'id == 1001' -o t.kts
                within 20 all_run 2 || fail "the recording did not start: $(cat background.err)"
                within 20 worker || fail "no worker: $(ktracectl --json status)"
                calls 100 1001
                sleep "0.$((i % 4))"
                kill -KILL "$(worker)"
                wait "$BACKGROUND" && fail "the recording succeeded" || true
                grep -q . background.err || fail "no error was reported"
                within 20 all_run 1 || fail "$(ktracectl list)"
                [ ! -s t.kts ] || ktracectl report t.kts >/dev/null 2>&1 || [ $? -le 4 ] ||
                        fail "the stream cannot be read"
        done
        expect 0 ktracectl snapshot box -o u.kts
        same 3 "$(has u.kts 1000)" "calls"
        ktracectl destroy box
}
worker() { ktracectl --json=short status | jq -e '.daemon.consumers[0].pid // empty'; }

case_restart_refused() { # a session that the kernel refused leaves no state for the next daemon
        refused 2 'there is no nobody-made-it' ktracectl create gone --scope system --instance nobody-made-it
        same '' "$(ls "$STATE_DIR" | grep -E '^[0-9a-f]{16}.json$')" "what is kept of it"
}
