# SPDX-License-Identifier: LGPL-2.1-or-later
# Flight recorders: a snapshot has the last events, and nothing waits for its reader.

flight_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}

# recorder NAME [KB]: of three system calls that no other program makes, of all processes.
recorder() {
        trap flight_end EXIT
        ktracectl create "$1" --mode flight --scope system -b "${2:-256}" -e raw_syscalls:sys_enter \
                -f 'id >= 1000 && id <= 1002'
        ktracectl start "$1"
}
calls() { "$TARGET" calls "$1" "$2"; }
# has FILE NR: counts the calls of this number in the file.
has() { count "$1" ".fields.id == $2"; }

case_flight_repeated() { # [deep guest] a snapshot does not stop the trace; the next snapshot has the same events again
        recorder box
        calls 100 1000
        expect 0 ktracectl snapshot box -o one.kts
        same 100 "$(has one.kts 1000)" "calls before the first"
        calls 50 1001
        expect 0 ktracectl snapshot box -o two.kts
        same '100 50' "$(has two.kts 1000) $(has two.kts 1001)" "calls before the second"
        expect 0 ktracectl snapshot box -o three.kts
        same '100 50' "$(has three.kts 1000) $(has three.kts 1001)" "calls before the third"
        same running "$(ktracectl --json=short show box | jq -r .state)" "state"
        ktracectl stop box
        expect 0 ktracectl snapshot box -o four.kts
        same '100 50' "$(has four.kts 1000) $(has four.kts 1001)" "calls before the stop"
        ktracectl destroy box
}

case_flight_overwrites() { # a full flight recorder drops its oldest events; the newest are complete and in order
        local n
        recorder box 64
        calls 20000 1000
        calls 7 1001
        expect 0 ktracectl snapshot box -o t.kts
        n=$(has t.kts 1000)
        same 7 "$(has t.kts 1001)" "the newest"
        [ "$n" -gt 100 ] && [ "$n" -lt 20000 ] || fail "$n of the oldest"
        same 0 "$(ktracectl convert t.kts --to json | jq -s 'map(select(.time)) | [.[:-1], .[1:]] | transpose |
                map(select(.[0].time > .[1].time)) | length')" "out of order"
        ! grep -q lost err || fail "$(cat err)"
        # What is new fills the buffer, and again none is missing at its end.
        calls 20000 1001
        calls 9 1002
        expect 0 ktracectl snapshot box -o u.kts
        same 9 "$(has u.kts 1002)" "the newest of the second"
        [ "$(has u.kts 1001)" -gt 100 ] || fail "$(has u.kts 1001) of the second"
        ktracectl destroy box
}

case_flight_at_once() { # several snapshots at the same time are all complete
        local i pids=()
        recorder box
        calls 500 1000
        for i in 1 2 3; do
                ktracectl snapshot box -o "$i.kts" 2>"err.$i" &
                pids+=($!)
        done
        for i in 0 1 2; do wait "${pids[$i]}" || fail "status $?: $(cat err.*)"; done
        for i in 1 2 3; do same 500 "$(has $i.kts 1000)" "calls in $i"; done
        ktracectl destroy box
}

case_flight_stalled_reader() { # a snapshot reader that stops delays neither other readers nor the end of the session
        recorder box 4096
        calls 200000 1000
        install -d "$T.door" # root's own: in the user's directory no FIFO is used
        mkfifo "$T.door/pipe"
        background sleep 100 <>"$T.door/pipe"
        background ktracectl snapshot box -o "$T.door/pipe" --to kts
        within 20 sh -c 'ktracectl status --json=short >/dev/null; sleep 0.5'
        calls 3 1001
        expect 0 timeout 30 ktracectl snapshot box -o t.kts
        same 3 "$(has t.kts 1001)" "calls of the second reader"
        timeout 30 ktracectl destroy box || fail "status $?"
}

case_flight_reader_leaves() { # [smoke asan] readers that leave at once cost later snapshots no event
        /usr/bin/python3 -c "import dbus" 2>/dev/null || skip "no python3 with dbus"
        recorder box
        calls 500 1000
        expect 0 ktracectl snapshot box -o t.kts
        cat >leave.py <<'EOS'
import dbus, os, sys
session = dbus.Interface(dbus.SystemBus().get_object("org.ktrace1", sys.argv[1]), "org.ktrace1.Session")
for _ in range(8):
    while True:
        try:
            fd = session.Snapshot(dbus.Dictionary({}, signature="sv")).take()
            break
        except dbus.DBusException as error:
            assert "being taken" in str(error), error
    os.close(fd)
EOS
        calls 3 1001
        expect 0 /usr/bin/python3 leave.py "/org/ktrace1/session/$(ktracectl list --json=short | jq -r '.[0].id')"
        calls 2 1002
        expect 0 ktracectl snapshot box -o t.kts
        same '500 3 2' "$(has t.kts 1000) $(has t.kts 1001) $(has t.kts 1002)" "calls"
        ktracectl destroy box
}

# Stops the worker before it gets the rings, and kills it soon after it goes on.
case_flight_worker_killed() { # [deep] a worker that is killed at any point of a snapshot costs later ones at most a gap
        recorder box 4096
        calls 20000 1000
        expect 0 ktracectl snapshot box -o t.kts
        cat >kill.py <<'EOS'
import os, signal, subprocess, sys, time
title = b"ktrace-consumer: " + sys.argv[1].encode()
def worker(snapshot):
    while snapshot.poll() is None:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if open(f"/proc/{pid}/cmdline", "rb").read().startswith(title):
                    return int(pid)
            except OSError:
                pass
    raise ProcessLookupError
n_killed = 0
for i in range(60):
    subprocess.run([sys.argv[2], "calls", "20", "1001"], check=True)
    snapshot = subprocess.Popen(["ktracectl", "snapshot", "box", "-o", "killed.kts"], stderr=subprocess.DEVNULL)
    try:
        pid = worker(snapshot)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.2) # the daemon opens the rings
        os.kill(pid, signal.SIGCONT)
        time.sleep(i % 20 * 0.0003)
        os.kill(pid, signal.SIGKILL)
        n_killed += 1
    except ProcessLookupError:
        pass # it was faster
    snapshot.wait()
print(n_killed)
EOS
        expect 0 /usr/bin/python3 kill.py "$(ktracectl list --json=short | jq -r '.[0].id')" "$TARGET"
        local killed
        killed=$(cat out)
        expect 0 ktracectl snapshot box -o t.kts
        same 20000 "$(has t.kts 1000)" "calls before the first worker was killed"
        figure "calls of 1200, while $killed workers were killed" "$(has t.kts 1001)"
        [ "$killed" -gt 5 ] || fail "$killed workers were killed"
        [ "$(has t.kts 1001)" -gt 1000 ] || fail "$(has t.kts 1001) of 1200 calls"
        ktracectl destroy box
}

case_flight_formats() { # a snapshot can be saved as trace.dat, text and JSON
        recorder box
        calls 5 1000
        expect 0 ktracectl snapshot box -o t.dat
        same 5 "$(trace-cmd report -i t.dat 2>/dev/null | grep -c 'NR 1000')" "in trace-cmd"
        grep -q 't.dat: 5 events' err || fail "$(cat err)"
        expect 0 ktracectl snapshot box -o t.kts
        grep -q 't.kts: 5 events' err || fail "$(cat err)"
        expect 0 ktracectl snapshot box
        same 5 "$(grep -c 'NR 1000' out)" "printed"
        ktracectl destroy box
}

case_flight_to_own_file() { # a D-Bus caller can have a snapshot written to its own file
        /usr/bin/python3 -c "import dbus" 2>/dev/null || skip "no python3 with dbus"
        recorder box
        calls 5 1000
        cat >take.py <<'EOS'
import dbus, os, socket, struct, sys
bus = dbus.SystemBus()
session = dbus.Interface(bus.get_object("org.ktrace1", sys.argv[1]), "org.ktrace1.Session")
s = socket.socket(fileno=session.Snapshot(dbus.Dictionary({"sink": True}, signature="sv")).take())
socket.send_fds(s, [b"x"], [os.open("t.kts", os.O_WRONLY | os.O_CREAT)])
for final in (0, 1):
    error, last = struct.unpack_from("<iI", s.recv(4096))
    assert (error, last) == (0, final), (error, last)
EOS
        expect 0 /usr/bin/python3 take.py "/org/ktrace1/session/$(ktracectl list --json=short | jq -r '.[0].id')"
        same 5 "$(has t.kts 1000)" "calls"
        sed -i 's/"sink": True/"sinc": True/' take.py
        expect 1 /usr/bin/python3 take.py "/org/ktrace1/session/$(ktracectl list --json=short | jq -r '.[0].id')"
        grep -q 'UnknownKey.*sinc' err || fail "$(cat err)"
        ktracectl destroy box
}

case_readme_flight() { # [guest smoke] README: the last events, with a mark among them
        trap flight_end EXIT
        ktracectl create box --mode flight -a -b 4096 -e sched:sched_switch
        ktracectl start box
        ktracectl mark box 'here it began'
        sleep 0.2
        expect 0 ktracectl snapshot box -o before.dat
        same 1 "$(count before.dat '.event == "print" and .fields.buf == "here it began"')" "marks"
        [ "$(count before.dat '.event == "sched_switch"')" -gt 0 ] || fail "no events"
        ktracectl destroy box
        expect 143 ktracectl record --flight -o last.dat -e raw_syscalls:sys_enter -- sh -c 'kill $$'
        [ "$(count last.dat '.event == "sys_enter" and .fields.id == 62')" = 1 ] ||
                [ "$(uname -m)" != x86_64 ] || fail "no kill"
}

case_flight_fenced() { # a snapshot of a user's command has its last events and those of its children only
        background sh -c "while :; do $TARGET calls 100 1000; done"
        expect 3 user ktracectl record --flight -o t.kts -e raw_syscalls:sys_enter -f 'id == 1000' -- \
                sh -c "$TARGET calls 100 1000; $TARGET calls 50 1000 & wait; exit 3"
        same 150 "$(has t.kts 1000)" "calls"
        expect 137 user ktracectl record --flight -o t.dat -e raw_syscalls:sys_enter -f 'id == 1000' -- \
                sh -c "$TARGET calls 20 1000; kill -KILL \$\$"
        same 20 "$(has t.dat 1000)" "calls before the signal"
}

case_flight_fenced_unborn() { # [guest] a child from before the window is left out and counted; its parent is recorded
        expect 0 user ktracectl record --flight -b 64 -o t.kts -e raw_syscalls:sys_enter -f 'id >= 1000 && id <= 1001' \
                -- \
                sh -c "$TARGET calls 60000 1000; exec $TARGET calls 7 1001"
        same '0 7' "$(has t.kts 1000) $(has t.kts 1001)" "calls of the child and of the command"
        [ "$(grep -aoE '"foreign":[0-9]+' t.kts | tail -n 1 | cut -d: -f2)" -gt 100 ] || fail "not counted"
}

case_flight_fenced_repeated() { # [asan] later snapshots of a user's session also have the events of the first
        trap flight_end EXIT
        mkfifo go
        chmod 666 go
        background user setpriv --no-new-privs bash -c "exec 3<>go
                while read -r n call <&3; do $TARGET calls \$n \$call; echo; done"
        user ktracectl create mine --mode flight -p "$BACKGROUND" -e raw_syscalls:sys_enter \
                -f 'id >= 1000 && id <= 1002'
        refused 1 'not been started' user ktracectl snapshot mine -o t.kts
        user ktracectl start mine
        echo 10 1000 >go
        within 30 reported_lines 1 || fail "no calls"
        expect 0 user ktracectl snapshot mine -o one.kts
        same 10 "$(has one.kts 1000)" "calls before the first"
        echo 5 1001 >go
        within 30 reported_lines 2 || fail "no calls"
        expect 0 user ktracectl snapshot mine -o two.kts
        same '10 5' "$(has two.kts 1000) $(has two.kts 1001)" "calls before the second"
        user ktracectl destroy mine
}
reported_lines() { [ "$(wc -l <background.out)" -ge "$1" ]; }

case_flight_refused() { # a flight recorder refuses stream, a stream refuses snapshot, other users find neither
        recorder box
        refused 1 'flight recorder' ktracectl stream box
        ktracectl create plain --scope system -e sched:sched_process_exec
        refused 1 'mode flight' ktracectl snapshot plain -o t.kts
        refused 2 'mode: "fight" is not known' ktracectl create bad --mode fight --scope system \
                -e sched:sched_process_exec
        refused 1 'no session has this name' user ktracectl snapshot box -o t.kts
        ktracectl destroy box
        ktracectl destroy plain
}

case_flight_record_exit() { # [asan] record --flight writes the last events of a command, even of a killed one
        local status=0 format
        expect 3 ktracectl record --flight -o t.kts -e raw_syscalls:sys_enter -f 'id >= 1000' \
                -- sh -c "$TARGET calls 100 1000; exit 3"
        same 100 "$(has t.kts 1000)" "calls"
        same 0 "$(ktracectl list --json=short | jq length)" "sessions"
        for format in dat json txt; do
                ktracectl record -q --flight --snapshot-on exit -o "t.$format" -e raw_syscalls:sys_enter \
                        -f 'id == 1000' -- \
                        sh -c "$TARGET calls 50 1000; kill -KILL \$\$" 2>err || status=$?
                same 137 "$status" "status"
        done
        same 50 "$(trace-cmd report -i t.dat 2>/dev/null | grep -c 'NR 1000')" "in trace.dat"
        same 50 "$(grep -c 'NR 1000' t.txt)" "in text"
        same 50 "$(jq -c 'select(.event)' t.json | wc -l)" "in JSON"
        expect 0 ktracectl record --flight -o - -e raw_syscalls:sys_enter -f 'id == 1000' -- "$TARGET" calls 7 1000
        same 7 "$(grep -c 'NR 1000' out)" "printed"
}

case_flight_record_signal() { # each SIGUSR1 to record --flight writes one snapshot to a new file
        trap flight_end EXIT
        local n
        recording ktracectl record --flight --snapshot-on SIGUSR1 -a -o t.kts -e raw_syscalls:sys_enter \
                -f 'id >= 1000 && id <= 1002'
        for n in 1 2 3; do
                calls 10 $((999 + n))
                kill -USR1 "$RECORDING"
                within 30 sh -c "[ \$(grep -c ' events' background.err) = $n ]" ||
                        fail "no snapshot $n: $(cat background.err)"
        done
        calls 10 1000
        ends_well
        same '10 0' "$(has t.kts 1000) $(has t.kts 1001)" "the first"
        same '10 10 0' "$(has t.1.kts 1000) $(has t.1.kts 1001) $(has t.1.kts 1002)" "the second"
        same '10 10 10' "$(has t.2.kts 1000) $(has t.2.kts 1001) $(has t.2.kts 1002)" "the third"
        [ ! -e t.3.kts ] || fail "a fourth"
        recording ktracectl record --flight --snapshot-on SIGUSR1 -a -o none.kts -e raw_syscalls:sys_enter
        ends_well
        [ ! -e none.kts ] || fail "an unexpected file"
        grep -q 'no snapshot was asked for' background.err || fail "$(cat background.err)"
}

case_flight_record_both() { # record --flight with a command takes a snapshot on SIGUSR1 and at the end
        trap flight_end EXIT
        mkfifo go
        recording ktracectl record --flight --snapshot-on SIGUSR1 --snapshot-on exit -o t.dat \
                -e raw_syscalls:sys_enter -f 'id == 1000' -- \
                sh -c "$TARGET calls 10 1000; read line <$T/go; $TARGET calls 10 1000"
        within 30 recorded 10 || fail "not recorded"
        kill -USR1 "$RECORDING"
        within 30 grep -q 't.dat: 10 events' background.err || fail "$(cat background.err)"
        echo >go
        wait "$RECORDING" || fail "status $?"
        same '10 20' "$(has t.dat 1000) $(has t.1.dat 1000)" "calls"
}

case_flight_record_event() { # [guest] record --snapshot-on EVENT keeps the first hit and the events before it
        trap flight_end EXIT
        [ -e "$TRACEFS/events/raw_syscalls/sys_enter/hist" ] && [ -e "$TRACEFS/snapshot" ] ||
                skip "this kernel has no histograms or no snapshot buffers"
        # The command waits until each snapshot is reported.
        expect 0 ktracectl record --flight --snapshot-on 'raw_syscalls:sys_enter if id == 1001 || id == 1003' \
                -b 256 -o t.kts -e raw_syscalls:sys_enter -f 'id >= 1000 && id <= 1003' -- \
                sh -c "$TARGET calls 50 1000; $TARGET calls 1 1001; $TARGET calls 60000 1002
                        until grep -q 't.kts: ' err; do sleep 0.1; done
                        $TARGET calls 1 1003; until grep -q 't.1.kts: ' err; do sleep 0.1; done"
        same '50 1 0 0' "$(has t.kts 1000) $(has t.kts 1001) $(has t.kts 1002) $(has t.kts 1003)" "the first moment"
        # The second is taken when its notice comes. It begins with what the first one left: of a CPU with few calls
        # that is the first moment.
        [ "$(has t.1.kts 1003)" = 1 ] && [ "$(has t.1.kts 1002)" -gt 100 ] ||
                fail "the second: $(has t.1.kts 1003) $(has t.1.kts 1002)"
        [ ! -e t.2.kts ] || fail "a third"
        # Without a condition: the first hit.
        expect 0 ktracectl record --flight --snapshot-on sched:sched_process_exec -o e.kts -e sched:sched_process_exec \
                -- \
                sh -c '/bin/true; until grep -q "e.kts: " err; do sleep 0.1; done'
        [ "$(count e.kts '.event == "sched_process_exec"')" -ge 1 ] || fail "no exec"
}

case_flight_record_short() { # [deep guest] record --snapshot-on saves a hit shortly before the end of the command once
        trap flight_end EXIT
        [ -e "$TRACEFS/events/raw_syscalls/sys_enter/hist" ] && [ -e "$TRACEFS/snapshot" ] ||
                skip "this kernel has no histograms or no snapshot buffers"
        local n
        for n in 1 2 3; do
                expect 0 ktracectl record --flight --snapshot-on 'raw_syscalls:sys_enter if id == 1001' -b 256 \
                        -o "t$n.kts" \
                        -e raw_syscalls:sys_enter -f 'id >= 1000 && id <= 1002' -- "$TARGET" calls 1 1001
                same 1 "$(has "t$n.kts" 1001)" "the moment"
                [ ! -e "t$n.1.kts" ] || fail "a second snapshot: $(cat err)"
        done
        expect 0 ktracectl record --flight --snapshot-on 'raw_syscalls:sys_enter if id == 1001' -b 256 -o none.kts \
                -e raw_syscalls:sys_enter -f 'id >= 1000 && id <= 1002' -- "$TARGET" calls 1 1000
        [ ! -e none.kts ] || fail "a snapshot without its moment"
        grep -q 'no snapshot was asked for' err || fail "$(cat err)"
}

case_flight_record_refused() { # record --snapshot-on refuses a mistake in the event, and requires --flight
        refused 2 'SYSTEM:EVENT' ktracectl record --flight --snapshot-on SIGUSR2 -o t.kts -e raw_syscalls:sys_enter \
                -- true
        expect 2 user ktracectl record --flight --snapshot-on 'sched:sched_process_exec if nosuch == 1' -o t.kts \
                -e sched:sched_process_exec -- true
        local place='--snapshot-on "sched:sched_process_exec if nosuch == 1" column 29'
        grep -qF "sched:sched_process_exec: $place: no field \"nosuch\"" err ||
                fail "$(cat err)"
        same '                              ^' "$(sed -n 3p err)" "the caret"
        refused 2 'requires --flight' ktracectl record --snapshot-on exit -o t.kts -e raw_syscalls:sys_enter -- true
        refused 2 'twice' ktracectl record --flight --mode stream -o t.kts -e raw_syscalls:sys_enter -- true
        refused 127 'cannot run' ktracectl record --flight -o t.kts -e raw_syscalls:sys_enter -- /no/such
        [ ! -e t.kts ] || fail "a file"
}
