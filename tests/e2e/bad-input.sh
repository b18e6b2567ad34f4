# SPDX-License-Identifier: LGPL-2.1-or-later
# Bad input: the documented exit status, one line that names the mistake, and nothing is left in tracefs.
E='-e raw_syscalls:sys_enter'

spec_refused() { # PATTERN JSON
        echo "$2" >spec.json
        refused 2 "$1" user ktracectl create bad --spec spec.json
}

case_usage() { # an unknown verb, an unknown option and a missing event fail with status 2
        refused 2 'frobnicate: no such verb; see' user ktracectl frobnicate
        refused 2 "lst: no such verb, did you mean 'list'\?; see" user ktracectl lst
        refused 2 frobnicate user ktracectl record --frobnicate
        expect 2 user ktracectl record -o t.kts -- true
        [ "$(grep -c 'ktracectl record -e' err)" -ge 2 ] || fail "no two commands to try: $(cat err)"
        refused 2 '' user ktracectl
}

case_unknown_event() { # an unknown event and a glob without a match are refused
        refused 1 nosuch:event ktracectl record -e nosuch:event -o t.kts -- true
        refused 1 'nosuch' ktracectl record -e 'nosuch:*' -o t.kts -- true
        # The error is the same if an event that is not granted exists.
        refused 3 nosuch:event user ktracectl record -e nosuch:event -o t.kts -- true
        refused 3 'nosuch' user ktracectl record -e 'nosuch:*' -o t.kts -- true
        refused 3 'sched:sched_waking' user ktracectl record -e sched:sched_waking -o t.kts -- true
}

case_unknown_key() { # an unknown key, a duplicate key and a spec that is not JSON are refused
        spec_refused frob '{"events": ["raw_syscalls:sys_enter"], "scope": "own", "frob": 1}'
        spec_refused scope '{"events": ["raw_syscalls:sys_enter"], "scope": "own", "scope": "own"}'
        spec_refused ':2' '{"events": ["raw_syscalls:sys_enter"],
                scope: "own"}'
}

case_wrong_type() { # a key with a value of the wrong type is refused
        spec_refused buffer-kb '{"events": ["raw_syscalls:sys_enter"], "scope": "own", "buffer-kb": "many"}'
        spec_refused events '{"events": 1, "scope": "own"}'
}

case_empty_events() { # an empty list of events is refused
        spec_refused events '{"events": [], "scope": "own"}'
}

case_bad_name() { # a session name with a slash is refused
        refused 2 'NAME: "a/b"' user ktracectl create a/b $E --scope own
}

# said_in_words COMMAND: for each line `STATUS^LINE^ARGUMENTS` of stdin, COMMAND ARGUMENTS prints LINE first. LINE may
# begin and end with `*`. ARGUMENTS may be on a line of their own. The message must not contain keys of the spec.
said_in_words() {
        local command=$1 status line arguments
        local specs='(events|probes|triggers|functions|args|key)\[|max-bytes'
        specs+='|: (scope|where|filter|name|on|buffer-kb)( column|:)'
        while IFS=^ read -r status line arguments; do
                [ -n "$arguments" ] || IFS= read -r arguments
                eval "expect $status $command $arguments"
                # shellcheck disable=SC2254 # a pattern
                case $(head -n 1 err) in
                "ktracectl: "$line) ;;
                *) fail "$command $arguments: $(cat err)" ;;
                esac
                ! grep -qE "$specs" err ||
                        fail "$command $arguments: a word that was not typed: $(cat err)"
        done
}

case_options_in_words() { # an error about an option of record or create names the option and its value
        touch t.kts
        echo '{"mode": "flight"}' >s.json
        said_in_words "ktracectl record -o t.kts" <<'TABLE'
1^-e "nosuch:event": no such event; *^-e nosuch:event -- true
1^-e "nosuch": no such event; *^-e nosuch -- true
2^-e: "a:b:c" contains more than one *^-e sched:sched_switch -e a:b:c -- true
2^raw_syscalls:sys_enter: -f "x == 1" column 1: no field "x"; *^
-e sched:sched_switch -e raw_syscalls:sys_enter -f 'x == 1' -- true
2^raw_syscalls:sys_enter: -f column 6: expected a value, *^
-e raw_syscalls:sys_enter -f 'id == 1' -e raw_syscalls:\* -f 'id ==' -- true
2^-f: "" is empty: *^-e raw_syscalls:sys_enter -f '' -- true
2^raw_syscalls:sys_enter: --where "x == 1" column 1: no field *^-e raw_syscalls:sys_enter --where 'x == 1' -- true
2^--where: "" is empty: *^-e raw_syscalls:sys_enter --where '' -- true
1^--probe "nosuch": no such probe; *^--probe nosuch -- true
2^--probe: "a b" is not the name *^--probe 'a b' -- true
1^--trigger "nosuch:x do stop": no such event; *^-e raw_syscalls:sys_enter --trigger 'nosuch:x do stop' -- true
2^--trigger "raw_syscalls:sys_enter do frob": "frob" is not known: *^
-e raw_syscalls:sys_enter --trigger 'raw_syscalls:sys_enter do frob' -- true
2^raw_syscalls:sys_enter: --trigger "raw_syscalls:sys_enter if x == 1 do stop" column 27: *^
-e raw_syscalls:sys_enter --trigger 'raw_syscalls:sys_enter if x == 1 do stop' -- true
2^--trigger: snapshot on *^-e raw_syscalls:sys_enter --trigger 'raw_syscalls:sys_enter do snapshot' -- true
1^--snapshot-on "nosuch:x": no such event; *^-e raw_syscalls:sys_enter --flight --snapshot-on nosuch:x -- true
2^--flight: given twice: *^--spec s.json -e raw_syscalls:sys_enter --flight -- true
2^--scope "frob" is not known: *^-e raw_syscalls:sys_enter --scope frob
2^--scope "pids:x": expected a pid^-e raw_syscalls:sys_enter --scope pids:x
1^--scope "cgroup:/nosuch": no process *^-e raw_syscalls:sys_enter --scope cgroup:/nosuch
1^-u "nosuch": no process *^-e raw_syscalls:sys_enter -u nosuch
2^-u "no such": a unit's name *^-e raw_syscalls:sys_enter -u 'no such'
2^-p "1,x": expected a pid after ','^-e raw_syscalls:sys_enter -p 1 -p x
2^-p "1,1": pid 1 twice: *^-e raw_syscalls:sys_enter -p 1,1
1^-p: process 4194303 does not exist^-e raw_syscalls:sys_enter -p 1,4194303
1^--scope: process 4194303 does not exist^-e raw_syscalls:sys_enter --scope pids:4194303
2^-a and -u exclude each other^-a -u x -e raw_syscalls:sys_enter
2^-p and --scope exclude each other^-p 1 --scope own -e raw_syscalls:sys_enter
2^--buffer: 0 is less than the minimum of 8^-e raw_syscalls:sys_enter -b 0 -- true
1^--clock: nosuch is unknown to the kernel, *^-e raw_syscalls:sys_enter --clock nosuch -- true
2^--mode: "frob" is not known: *^-e raw_syscalls:sys_enter --mode frob -- true
2^--lifetime: "linger:x" has no time: *^-e raw_syscalls:sys_enter --lifetime linger:x -- true
2^--cpus: 3-1 runs backwards: write 1-3^-e raw_syscalls:sys_enter --cpus 3-1 -- true
2^--tracer: "frob" is not known: *^-a --tracer frob --function x
2^--tracer "function": records functions of every process: *^--tracer function --function x -- true
2^--function: "a b" is neither *^-a --tracer function --function 'a b'
2^--function: require a tracer: *^-a --function x -e raw_syscalls:sys_enter
2^--instance: "a/b" contains characters *^-a --instance a/b
2^--instance "nosuch": it records *^--scope own --instance nosuch
2^--stacktrace: would change *^-a --instance nosuch --stacktrace
2^--allow-setuid: is for *^-a -e raw_syscalls:sys_enter --allow-setuid
TABLE
        said_in_words "user ktracectl create box" <<'TABLE'
2^-e: none given: *^--scope own
2^--scope: missing: *^-e raw_syscalls:sys_enter
2^--scope "command": missing: *^-e raw_syscalls:sys_enter --scope command
1^--buffer: 999999 is over your limit *^--scope own -e raw_syscalls:sys_enter -b 999999
1^--spool "100G": 107374182400 is over your limit *^--scope own -e raw_syscalls:sys_enter --spool=100G
2^--spool: 1 is not from *^--scope own -e raw_syscalls:sys_enter --spool=1
2^--spool: a flight recorder *^--scope own -e raw_syscalls:sys_enter --spool --mode flight
3^-e "sched:sched_waking": not granted by *^--scope own -e sched:sched_waking
3^-e "sched:sched_w\*": not granted by *^--scope own -e sched:sched_w\*
2^--lifetime "client": a session *^--scope own -e raw_syscalls:sys_enter --lifetime client
3^--stacktrace: *^--scope own -e raw_syscalls:sys_enter --stacktrace
TABLE
        refused 2 'NAME: "0123456789abcdef" looks like' user ktracectl create 0123456789abcdef $E --scope own
}

case_options_in_words_others() { # an error about an option of another verb names the option and its value
        said_in_words "ktracectl hist -a" <<'TABLE'
1^-e "nosuch:x": no such event; *^-e nosuch:x --key id
2^-f: "" is empty: *^-e raw_syscalls:sys_enter --key id -f ''
2^--key: "id": is already a key^-e raw_syscalls:sys_enter --key id --key id
2^--value: "nosuch": raw_syscalls:sys_enter has no such field: *^-e raw_syscalls:sys_enter --key id --value nosuch
2^--sort: "nosuch": is neither *^-e raw_syscalls:sys_enter --key id --sort nosuch
2^--size: 99999999 is more than the maximum *^-e raw_syscalls:sys_enter --key id --size 99999999
2^--buffer: 1 is less *^-e raw_syscalls:sys_enter --key id -b 1
2^-a and --scope exclude each other^-e raw_syscalls:sys_enter --key id --scope x
TABLE
        said_in_words "ktracectl probes add" <<'TABLE'
2^NAME: "a b": expected letters, *^'a b' --on vfs_read
1^probe x: --on "nosuch": this kernel has no such function, *^x --on nosuch
2^probe x: --on "a b": expected FUNCTION, *^x --on 'a b'
2^--on "": it is empty^x --on ''
1^--on: "/nosuch": No such file or directory^x --on /nosuch:main
2^probe x: ARG "a b" column 3: *^x --on vfs_read 'a b'
1^--event: "nosuch:x": no such event; *^x --event nosuch:x id
2^--to: missing: *^x --from raw_syscalls:sys_enter
2^probe x: --key "nosuch" column 1: *^x --from raw_syscalls:sys_enter --to raw_syscalls:sys_exit --key nosuch \$latency
2^--key: more than 3, *^
x --from raw_syscalls:sys_enter --to raw_syscalls:sys_exit --key id --key id --key id --key id \$latency
2^probe x: --raw "frob" column 1: *^x --raw frob
2^--about "a?b": byte 2 is not printable text^x --on vfs_read --about $'a\nb'
TABLE
        said_in_words ktracectl <<'TABLE'
1^nosuch: no session has this name or id; *^stream nosuch
1^nosuch: no session has this name or id; *^snapshot nosuch
2^t.xyz: no format *--to*^stream nosuch -o t.xyz
2^*--to*^snapshot nosuch --to frob
TABLE
        echo '{"scope": "own", "events": ["nosuch:x"], "frob": 1}' >s.json
        refused 1 's.json:1:[0-9]*: unknown key "frob"' user ktracectl saved check s.json
}

case_many_events() { # [asan] a spec with 10,000 events is refused
        python3 -c 'import json
print(json.dumps({"scope": "own", "events": ["raw_syscalls:e%d" % i for i in range(10000)]}))' >many.json
        refused 2 'events' user ktracectl create many --spec many.json
}

case_buffer() { # [asan] a buffer size of 0 or 10 TB is refused
        refused 2 '--buffer: 0' user ktracectl record $E -b 0 -o t.kts -- true
        refused 2 '--buffer: 10000000000' user ktracectl record $E -b 10000000000 -o t.kts -- true
}

case_bus_bad_type() { # [asan] a D-Bus caller that sends wrong types gets the same errors as ktracectl
        local manager="org.ktrace1 /org/ktrace1 org.ktrace1.Manager"
        ! user busctl call $manager CreateSession 'a{sv}' 2 scope s own frob s x 2>err || fail "accepted"
        grep -q frob err || fail "$(cat err)"
        ! user busctl call $manager CreateSession 'a{sv}' 2 scope s own buffer-kb s x 2>err || fail "accepted"
        grep -q buffer-kb err || fail "$(cat err)"
        ! user busctl call $manager CreateSession 'a{sv}' 3 scope s own events as 0 name s x 2>err || fail "accepted"
        grep -q events err || fail "$(cat err)"
}

case_foreign_pid() { # -p with the pid of another user, of root, or of no process is refused
        background stranger sleep 100
        refused 3 "$BACKGROUND" user ktracectl record $E -o t.kts -p "$BACKGROUND"
        refused 3 '1' user ktracectl record $E -o t.kts -p 1
        refused 1 '4194303' user ktracectl record $E -o t.kts -p 4194303
}

case_unfit_pid() { # -p refuses an own process that is not dumpable or that may gain privileges
        background user setpriv --no-new-privs "$TARGET" undumpable
        within 30 sh -c "[ \$(stat -c %u /proc/$BACKGROUND/stat) = 0 ]" || fail "it is dumpable"
        refused 3 "$BACKGROUND" user ktracectl record $E -o t.kts -p "$BACKGROUND"
        # With kprobes the guard protects against this.
        [ ! -e /sys/kernel/tracing/kprobe_events ] || return 0
        background user sleep 100
        refused 3 "$BACKGROUND.*(NoNewPrivs|no_new_privs|privileges)" user ktracectl record $E -o t.kts -p "$BACKGROUND"
}

case_at_the_limit() { # a user cannot create more sessions than the limit
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

case_name_taken() { # a second session with the same name of the same user is refused
        user ktracectl create twice $E --scope own
        refused 1 twice user ktracectl create twice $E --scope own
        user ktracectl destroy twice
}

case_output_not_writable() { # an output file that cannot be written is reported before the command runs
        refused 1 '/no-such-dir/t.kts' user ktracectl record $E -o /no-such-dir/t.kts -- touch ran
        refused 1 '/etc/t.kts' user ktracectl record $E -o /etc/t.kts -- touch ran
        [ ! -e ran ] || fail "the command ran"
}

case_sinks_of_the_wrong_kind() { # a directory, a file of procfs and a device are refused as output
        mkdir dir.kts
        refused 1 'dir.kts' user ktracectl record $E -o dir.kts -- touch ran
        refused 1 '/proc/self/comm' user ktracectl record $E -o /proc/self/comm --to kts -- touch ran
        [ ! -e ran ] || fail "the command ran"
}

case_disk_full() { # [asan] a full disk ends record with status 125; the file is readable up to there
        mkdir small
        mount -t tmpfs -o "size=1m,uid=$USER_UID" small small
        expect 125 user ktracectl record -q $E -b 8192 -o small/t.kts -- "$TARGET" calls 200000 110
        grep -qi 'space' err || fail "stderr: $(cat err)"
        ktracectl convert small/t.kts --to json >all.json 2>err || true
        [ "$(grep -c sys_enter all.json)" -gt 1000 ] || fail "unreadable: $(head -c 500 err)"
        umount small
}

case_disk_full_converting() { # if the disk is too small for another format, the error says so; the .kts is kept
        mkdir small
        mount -t tmpfs -o "size=300k,uid=$USER_UID" small small
        expect 0 user ktracectl record -q $E -o t.kts -- "$TARGET" calls 30000 110
        refused 1 'small/t.dat: .*No space left on device' \
                user ktracectl convert t.kts --compression none -o small/t.dat
        same '' "$(ls -A small)" "files of a conversion that failed"
        umount small
        # The same with a limit on the file size: the signal does not end the recording.
        expect 125 user bash -c "ulimit -f 200
                exec ktracectl record -q $E --compression none -o l.dat -- '$TARGET' calls 30000 110"
        grep -q 'l.dat: cannot be written: File too large; the recording is kept in l.dat.kts' err || fail "$(cat err)"
        [ -s l.dat.kts ] || fail "no recording is kept"
}

case_descriptors_closed() { # with stdin, stdout or stderr closed, no message gets into a recording
        local closed
        for closed in '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
                expect 0 user bash -c "exec ktracectl record $E -o t.kts -- '$TARGET' calls 10 110 $closed"
                expect 0 user ktracectl report t.kts
        done
        expect 0 user bash -c "exec ktracectl record -q $E -o t.kts -- sh -c 'ls -l /proc/\$\$/fd >fds' <&-"
        ! grep -q ' 0 -> ' fds || fail "the command has a stdin: $(cat fds)"
        refused 1 'standard output: cannot be written: it is closed' \
                user bash -c "exec ktracectl record $E -o - -- touch ran >&-"
        [ ! -e ran ] || fail "the command ran"
        expect 1 user bash -c 'exec ktracectl list >&-'
}

case_command_missing() { # a command that cannot be run fails with status 127; no recording is kept
        refused 127 "cannot run '/no-such-command': No such file or directory; no recording is kept" \
                user ktracectl record $E -o t.dat -- /no-such-command
        [ ! -e t.dat ] || fail "a recording is kept"
        expect 127 user ktracectl record $E -o - -- /no-such-command
        grep -q sys_enter out || fail "nothing was printed"
        same "ktracectl: cannot run '/no-such-command': No such file or directory" "$(cat err)" message
}

case_disk_hangs() { # a disk that hangs delays only its own recording; lost events are reported
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
        expect 0 ktracectl record -q -a -e raw_syscalls:sys_enter -f 'id == 1002' -o other.kts \
                -- "$TARGET" calls 3000 1002
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

case_reader_stopped() { # if the reader of a pipe stops, the command continues and lost events are reported
        mkfifo pipe
        chmod 666 pipe
        sleep 100 <pipe &
        started+=($!)
        expect 0 user timeout 60 ktracectl record -q $E -b 64 -o - --to kts -- "$TARGET" calls 300000 110 >pipe
}

case_not_a_stream() { # report refuses a missing file, an empty file and a file that is not a stream
        echo hello >text
        refused 1 text user ktracectl report text
        : >empty
        refused 1 empty user ktracectl report empty
        refused 1 nowhere user ktracectl report nowhere
        head -c 100000 /dev/urandom >random.kts
        refused 1 random.kts user ktracectl report random.kts
}

case_no_bus() { # without a system bus ktracectl fails with an error
        of_the_bus
        refused 1 'bus' user env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/no/bus ktracectl list
}

case_silent_fuse() { # a FUSE file that does not answer blocks only the session that writes to it
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
        within 30 no_instance || fail "the silent sink keeps its instance"
        kill -9 "$server"
        wait "$hanging" || true
        umount -l fuse
}

case_silent_fuse_program() { # a FUSE file that does not answer blocks only the user who wants a probe in it
        [ -c /dev/fuse ] || skip "no /dev/fuse here"
        [ -e "$TRACEFS/uprobe_events" ] || skip "this kernel has no uprobes"
        /usr/bin/python3 -c "import dbus" 2>/dev/null || skip "no python3 with dbus"
        # ktracectl would hang before it calls the daemon.
        mkdir fuse
        chmod 777 fuse
        install -o "$USER_UID" -g "$USER_UID" -m 755 "$PROBED" prog
        background "$SILENT_FUSE" "$T/fuse"
        server=$BACKGROUND
        within 20 grep -q mounted background.out || skip "FUSE cannot be mounted here: $(cat background.err)"
        user /usr/bin/python3 - hang "$T/fuse/file:0x10" "$T/fuse/file" <"$here/give-probe.py" >silent.out 2>&1 &
        hanging=$!
        within 30 grep -q "its file system does not answer" silent.out || fail "$(cat silent.out)"
        expect 0 user timeout 30 ktracectl probes add fine --on ./prog:probed_add
        expect 0 user timeout 30 ktracectl probes remove fine
        kill -9 "$server"
        wait "$hanging" || true
        umount -l fuse
}
