# SPDX-License-Identifier: LGPL-2.1-or-later
# Bad input: the exit status as designed, one line that names the thing, nothing left in tracefs.
E='-e raw_syscalls:sys_enter'

spec_refused() { # PATTERN JSON
        echo "$2" >spec.json
        refused 2 "$1" user ktracectl create bad --spec spec.json
}

case_usage() { # unknown verb, unknown option, no event: 2
        refused 2 'frobnicate: no such verb; see' user ktracectl frobnicate
        refused 2 "lst: no such verb, did you mean 'list'\?; see" user ktracectl lst
        refused 2 frobnicate user ktracectl record --frobnicate
        expect 2 user ktracectl record -o t.kts -- true
        [ "$(grep -c 'ktracectl record -e' err)" -ge 2 ] || fail "no two commands to try: $(cat err)"
        refused 2 '' user ktracectl
}

case_unknown_event() { # unknown event, and a glob without a match
        refused 1 nosuch:event ktracectl record -e nosuch:event -o t.kts -- true
        refused 1 'nosuch' ktracectl record -e 'nosuch:*' -o t.kts -- true
        # A user is not told whether what is not granted exists.
        refused 3 nosuch:event user ktracectl record -e nosuch:event -o t.kts -- true
        refused 3 'nosuch' user ktracectl record -e 'nosuch:*' -o t.kts -- true
        refused 3 'sched:sched_waking' user ktracectl record -e sched:sched_waking -o t.kts -- true
}

case_unknown_key() { # unknown spec key, duplicate key, not JSON
        spec_refused frob '{"events": ["raw_syscalls:sys_enter"], "scope": "own", "frob": 1}'
        spec_refused scope '{"events": ["raw_syscalls:sys_enter"], "scope": "own", "scope": "own"}'
        spec_refused ':2' '{"events": ["raw_syscalls:sys_enter"],
                scope: "own"}'
}

case_wrong_type() { # wrong type of a key
        spec_refused buffer-kb '{"events": ["raw_syscalls:sys_enter"], "scope": "own", "buffer-kb": "many"}'
        spec_refused events '{"events": 1, "scope": "own"}'
}

case_empty_events() { # an empty list of events
        spec_refused events '{"events": [], "scope": "own"}'
}

case_bad_name() { # a name with a slash
        refused 2 'name' user ktracectl create a/b $E --scope own
}

case_many_events() { # [asan] 10,000 events
        python3 -c 'import json; print(json.dumps({"scope": "own", "events": ["raw_syscalls:e%d" % i for i in range(10000)]}))' >many.json
        refused 2 'events' user ktracectl create many --spec many.json
}

case_buffer() { # [asan] a buffer of 0 or 10 TB
        refused 2 buffer user ktracectl record $E -b 0 -o t.kts -- true
        refused 2 buffer user ktracectl record $E -b 10000000000 -o t.kts -- true
}

case_bus_bad_type() { # [asan] the same over the bus, by a caller that is not ktracectl
        local manager="org.ktrace1 /org/ktrace1 org.ktrace1.Manager"
        ! user busctl call $manager CreateSession 'a{sv}' 2 scope s own frob s x 2>err || fail "taken"
        grep -q frob err || fail "$(cat err)"
        ! user busctl call $manager CreateSession 'a{sv}' 2 scope s own buffer-kb s x 2>err || fail "taken"
        grep -q buffer-kb err || fail "$(cat err)"
        ! user busctl call $manager CreateSession 'a{sv}' 3 scope s own events as 0 name s x 2>err || fail "taken"
        grep -q events err || fail "$(cat err)"
}

case_foreign_pid() { # a pid of another's, of root's, of nobody
        background stranger sleep 100
        refused 3 "$BACKGROUND" user ktracectl record $E -o t.kts -p "$BACKGROUND"
        refused 3 '1' user ktracectl record $E -o t.kts -p 1
        refused 1 '4194303' user ktracectl record $E -o t.kts -p 4194303
}

case_unfit_pid() { # the caller's own process that is not dumpable, or may gain privileges unguarded
        background user setpriv --no-new-privs "$TARGET" undumpable
        within 30 sh -c "[ \$(stat -c %u /proc/$BACKGROUND/stat) = 0 ]" || fail "it is dumpable"
        refused 3 "$BACKGROUND" user ktracectl record $E -o t.kts -p "$BACKGROUND"
        # A kernel with kprobes guards against it.
        [ ! -e /sys/kernel/tracing/kprobe_events ] || return 0
        background user sleep 100
        refused 3 "$BACKGROUND.*(NoNewPrivs|no_new_privs|privileges)" user ktracectl record $E -o t.kts -p "$BACKGROUND"
}

case_at_the_limit() { # one session more than a user may have
        i=0
        while user ktracectl create "limit$i" $E --scope own 2>err; do
                i=$((i + 1))
                [ $i -lt 40 ] || fail "no limit"
        done
        refused 1 'sessions' user ktracectl record $E -o t.kts -- true
        while [ $i -gt 0 ]; do
                i=$((i - 1))
                user ktracectl destroy "limit$i"
        done
}

case_name_taken() { # a name that the user has already
        user ktracectl create twice $E --scope own
        refused 1 twice user ktracectl create twice $E --scope own
        user ktracectl destroy twice
}

case_output_not_writable() { # output file not writable: told before the command runs
        refused 1 '/no-such-dir/t.kts' user ktracectl record $E -o /no-such-dir/t.kts -- touch ran
        refused 1 '/etc/t.kts' user ktracectl record $E -o /etc/t.kts -- touch ran
        [ ! -e ran ] || fail "the command ran"
}

case_sinks_of_the_wrong_kind() { # a directory, procfs, a device as output
        mkdir dir.kts
        refused 1 'dir.kts' user ktracectl record $E -o dir.kts -- touch ran
        refused 1 '/proc/self/comm' user ktracectl record $E -o /proc/self/comm --to kts -- touch ran
        [ ! -e ran ] || fail "the command ran"
}

case_disk_full() { # [asan] disk full while recording: 125, and the file is readable up to there
        mkdir small
        mount -t tmpfs -o "size=1m,uid=$USER_UID" small small
        expect 125 user ktracectl record -q $E -b 8192 -o small/t.kts -- "$TARGET" calls 200000 110
        grep -qi 'space' err || fail "stderr: $(cat err)"
        ktracectl convert small/t.kts --to json >all.json 2>err || true
        [ "$(grep -c sys_enter all.json)" -gt 1000 ] || fail "unreadable: $(head -c 500 err)"
        umount small
}

case_disk_full_converting() { # a disk too small for the other formats: the cause is named, and the recording is kept
        mkdir small
        mount -t tmpfs -o "size=300k,uid=$USER_UID" small small
        expect 0 user ktracectl record -q $E -o t.kts -- "$TARGET" calls 30000 110
        refused 1 'small/t.dat: .*No space left on device' user ktracectl convert t.kts -o small/t.dat
        same '' "$(ls -A small)" "files of a conversion that failed"
        umount small
        # The same for a limit on the size of files: no signal ends the recording.
        expect 125 user bash -c "ulimit -f 200; exec ktracectl record -q $E -o l.dat -- '$TARGET' calls 30000 110"
        grep -q 'l.dat: cannot be written: File too large; the recording is kept in l.dat.kts' err || fail "$(cat err)"
        [ -s l.dat.kts ] || fail "no recording is kept"
}

case_descriptors_closed() { # stdin, stdout or stderr closed: no message gets into a recording, and the command has them closed too
        local closed
        for closed in '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
                expect 0 user bash -c "exec ktracectl record $E -o t.kts -- '$TARGET' calls 10 110 $closed"
                expect 0 user ktracectl report t.kts
        done
        expect 0 user bash -c "exec ktracectl record -q $E -o t.kts -- sh -c 'ls -l /proc/\$\$/fd >fds' <&-"
        ! grep -q ' 0 -> ' fds || fail "the command has a stdin: $(cat fds)"
        refused 1 'standard output: cannot be written: it is closed' user bash -c "exec ktracectl record $E -o - -- touch ran >&-"
        [ ! -e ran ] || fail "the command ran"
        expect 1 user bash -c 'exec ktracectl list >&-'
}

case_command_missing() { # a command that cannot be run: what has been printed is not denied
        refused 127 "cannot run '/no-such-command': No such file or directory; no recording is kept" user ktracectl record $E -o t.dat -- /no-such-command
        [ ! -e t.dat ] || fail "a recording is kept"
        expect 127 user ktracectl record $E -o - -- /no-such-command
        grep -q sys_enter out || fail "nothing was printed"
        same "ktracectl: cannot run '/no-such-command': No such file or directory" "$(cat err)" message
}

case_disk_hangs() { # a disk that does not answer, under a recording: nobody else waits, and when it answers nothing is lost untold
        mkdir disk
        disk_to_freeze "$T/disk"
        trap disk_hangs_end EXIT
        background ktracectl record -a -b 64 -e raw_syscalls:sys_enter -f 'id == 1000' -o disk/t.kts
        within 30 is_running || fail "$(cat background.err)"
        "$TARGET" calls 500 1000
        sleep 0.3
        fsfreeze -f disk
        "$TARGET" calls 20000 1000
        soon ktracectl list
        soon ktracectl status
        expect 0 ktracectl record -q -a -e raw_syscalls:sys_enter -f 'id == 1002' -o other.kts -- "$TARGET" calls 3000 1002
        same 3000 "$(count other.kts '.fields.id == 1002')" "calls in a recording elsewhere"
        kill -INT "$BACKGROUND"
        sleep 1
        soon ktracectl list
        fsfreeze -u disk
        status=0
        wait "$BACKGROUND" || status=$?
        same 4 "$status" "status: $(cat background.err)"
        lost=$(sed -n 's/.* \([0-9,]*\) lost.*/\1/p' background.err | tr -d ,)
        same 20500 "$(($(count disk/t.kts '.fields.id == 1000') + lost))" "recorded and lost"
}
disk_hangs_end() {
        fsfreeze -u "$T/disk" 2>/dev/null || true
        leave_case
}

case_reader_stopped() { # the reader of a pipe is stopped: the command goes on, the loss is told
        mkfifo pipe
        chmod 666 pipe
        sleep 100 <pipe &
        started+=($!)
        expect 0 user timeout 60 ktracectl record -q $E -b 64 -o - --to kts -- "$TARGET" calls 300000 110 >pipe
}

case_not_a_stream() { # report of a file that is no stream, is empty, is not there
        echo hello >text
        refused 1 text user ktracectl report text
        : >empty
        refused 1 empty user ktracectl report empty
        refused 1 nowhere user ktracectl report nowhere
        head -c 100000 /dev/urandom >random.kts
        refused 1 random.kts user ktracectl report random.kts
}

case_no_bus() { # the bus is gone
        of_the_bus
        refused 1 'bus' user env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/no/bus ktracectl list
}

case_silent_fuse() { # a silent FUSE file as sink: only that session suffers
        [ -c /dev/fuse ] || skip "no /dev/fuse here"
        mkdir fuse
        chmod 777 fuse
        background "$SILENT_FUSE" "$T/fuse"
        server=$BACKGROUND
        within 20 grep -q mounted background.out || skip "FUSE cannot be mounted here: $(cat background.err)"
        user timeout -s KILL 80 ktracectl record $E -o fuse/file --to kts -- touch ran >silent.out 2>silent.err &
        hanging=$!
        sleep 1
        expect 0 user timeout 30 ktracectl record $E -o t.kts -- "$TARGET" calls 1000 110
        same 1000 "$(count t.kts '.fields.id == 110')" "the other session's events"
        within 30 no_instance || fail "the silent sink pins its instance"
        kill -9 "$server"
        wait "$hanging" || true
        umount -l fuse
}

case_silent_fuse_program() { # a silent FUSE file as program to be probed: only its user waits
        [ -c /dev/fuse ] || skip "no /dev/fuse here"
        [ -e "$TRACEFS/uprobe_events" ] || skip "this kernel has no uprobes"
        /usr/bin/python3 -c "import dbus" 2>/dev/null || skip "no python3 with dbus"
        # ktracectl would hang before it asks.
        cat >give.py <<'PY'
import dbus, os, socket, sys
bus = dbus.SystemBus()
manager = dbus.Interface(bus.get_object("org.ktrace1", "/org/ktrace1"), "org.ktrace1.Manager")
ticket, end = manager.OpenProbeFile()
file = os.open(sys.argv[1], os.O_RDONLY)
with socket.socket(fileno=end.take()) as s:
    socket.send_fds(s, [b"\0"], [file])
    try:
        manager.AddProbe({"name": "hang", "on": sys.argv[1] + ":0x10", "file": ticket})
    except dbus.DBusException as e:
        print(e.get_dbus_message(), flush=True)
PY
        mkdir fuse
        chmod 777 fuse
        install -o "$USER_UID" -g "$USER_UID" -m 755 "$PROBED" prog
        background "$SILENT_FUSE" "$T/fuse"
        server=$BACKGROUND
        within 20 grep -q mounted background.out || skip "FUSE cannot be mounted here: $(cat background.err)"
        user /usr/bin/python3 "$T/give.py" "$T/fuse/file" >silent.out 2>&1 &
        hanging=$!
        within 30 grep -q "its file system does not answer" silent.out || fail "$(cat silent.out)"
        expect 0 user timeout 30 ktracectl probes add fine --on ./prog:probed_add
        expect 0 user timeout 30 ktracectl probes remove fine
        kill -9 "$server"
        wait "$hanging" || true
        umount -l fuse
}
