# SPDX-License-Identifier: LGPL-2.1-or-later
# The main path: an ordinary user records a command.
GETPPID=110
GETUID=102
SCHED_YIELD=24
ENTER='.event == "sys_enter"'

# ls may fail in a directory: the status of record is that of the command.
record_readme() {
        local status=0
        user ls -R /usr/share >/dev/null 2>&1 || status=$?
        expect $status user ktracectl record -e 'sched:sched_process_*' -e raw_syscalls:sys_enter -o t.dat \
                -- ls -R /usr/share
}

case_readme_record_dat() { # [guest smoke] README: record -o t.dat -- ls -R, then report
        record_readme
        expect 0 user ktracectl report t.dat
        [ "$(grep -c 'sys_enter: ' out)" -gt 1000 ] || fail "few events: $(wc -l <out)"
        grep -q 'sched_process_exec: .*filename=.*/ls' out || fail "no exec of ls"
        awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\.[0-9]+:$/) {
                t = $i + 0; if (t < last) exit 1; last = t; break } }' \
                out || fail "not in time order"
}

case_trace_cmd_reads_dat() { # [asan] trace-cmd report shows the same events and fields of our .dat as our report
        record_readme
        user ktracectl report --raw t.dat | grep -E '^ +.*\[[0-9]{3}\]' | tr -s ' ' | sort >ours
        user trace-cmd report t.dat 2>/dev/null | sed -Ef "$here/without-flags.sed" |
                grep -E '^ +.*\[[0-9]{3}\]' | tr -s ' ' | sort >theirs
        same "$(wc -l <theirs)" "$(wc -l <ours)" "event lines"
        [ "$(wc -l <ours)" -gt 1000 ] || fail "few events"
        cmp ours theirs || fail "$(diff ours theirs | head -20)"
}

case_readme_convert_json() { # [asan] README: convert --to json | jq
        record_readme
        user ktracectl convert t.dat --to json | jq . >pretty
        same "$(count t.dat true)" "$(user ktracectl report t.dat |
                grep -cE '^ +.*\[[0-9]{3}\]')" "events in JSON and text"
}

case_readme_record_live() { # README: record -o - prints events during the recording
        background user ktracectl record -e raw_syscalls:sys_enter -o - -- "$TARGET" until stop 50000
        within 20 grep -q 'sys_enter: ' background.out || fail "no text before the end: $(cat background.err)"
        : >stop
        within 20 sh -c "! kill -0 $BACKGROUND" || fail "the recording did not end with its command"
}


case_slow_trace() { # [asan] a reader of a slow trace gets its events during the recording
        user ktracectl record -q -e raw_syscalls:sys_enter -o - -- "$TARGET" until stop 50000 | python3 -c '
import sys
n = 0
for line in sys.stdin:
        n += " NR 110 " in line
        if n == 20: # or it never ends
                open("stop", "w").close()
sys.exit(n < 20)' || fail "it has ended without its reader"
}

case_complete() { # a recording has every event of the command exactly once
        expect 0 user ktracectl record -b 8192 -e raw_syscalls:sys_enter -o t.kts -- "$TARGET" calls 20000 $GETPPID
        same 20000 "$(count t.kts "$ENTER and .fields.id == $GETPPID")" "getppid events"
}

case_first_syscall() { # [guest] a recording contains the first system call after exec
        expect 0 user ktracectl record -e sched:sched_process_exec -e raw_syscalls:sys_enter -o t.kts \
                -- "$TARGET" calls 1 $GETPPID
        # A C program begins with brk(0), number 12.
        same 12 "$(ktracectl convert t.kts --to json |
                jq -s '(map(.event == "sched_process_exec") | index(true)) as $i | .[$i + 1:] |
                        map(select(.event == "sys_enter"))[0].fields.id')" "first system call"
}

case_children() { # a recording contains the command's children
        expect 0 user ktracectl record -b 8192 -e raw_syscalls:sys_enter -o t.kts -- \
                sh -c "$TARGET calls 3000 $SCHED_YIELD & $TARGET calls 3000 $SCHED_YIELD; wait"
        same 6000 "$(count t.kts ".fields.id == $SCHED_YIELD")" "events of the children"
        same 2 "$(ktracectl convert t.kts --to json | jq "select(.fields.id? == $SCHED_YIELD) | .pid" | sort -u |
                wc -l)" "children"
}

case_nobody_else() { # a recording contains no other process of the same user or of root
        background user "$TARGET" calls 100000000 $GETUID
        background "$TARGET" calls 100000000 $GETUID
        expect 0 user ktracectl record -b 8192 -e raw_syscalls:sys_enter -o t.kts -- "$TARGET" calls 5000 $GETPPID
        same 5000 "$(count t.kts ".fields.id == $GETPPID")" "own events"
        same 0 "$(count t.kts ".fields.id == $GETUID")" "others' events"
}

case_root_and_user() { # [asan] root's -a and a user's session at the same time record only their own events
        recording ktracectl record -a -e sched:sched_switch -o root.kts
        expect 0 user ktracectl record -b 8192 -e raw_syscalls:sys_enter -o user.kts -- "$TARGET" calls 5000 $GETPPID
        kill -INT "$BACKGROUND"
        wait "$BACKGROUND" || fail "root's recording ended with $?: $(cat background.err)"
        same 5000 "$(count user.kts ".fields.id == $GETPPID")" "the user's events"
        same 0 "$(count user.kts '.event != "sys_enter"')" "foreign events of the user's"
        same 0 "$(count root.kts '.event != "sched_switch"')" "foreign events of root's"
        [ "$(ktracectl convert root.kts --to json |
                jq -n '[inputs | select(.event != null) | .pid] | unique | length')" -gt 3 ] ||
                fail "root's trace is not system-wide"
}

case_status_of_command() { # record exits with the status of the command
        expect 7 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- sh -c 'exit 7'
        expect 143 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- sh -c 'kill -TERM $$'
        expect 127 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- /no/such/program
        touch plain
        expect 126 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- ./plain
}

case_interrupt() { # ^C ends a recording with success
        recording ktracectl record -a -e sched:sched_process_exec -o t.kts
        /bin/true
        ends_well
        [ "$(count t.kts true)" -gt 0 ] || fail "nothing recorded"
        same stopped "$(ktracectl convert t.kts --to json | jq -r "select(.end != null) | .end.code")" \
                "the end frame's code"
}

case_pids() { # -p records an own process without new privileges
        background user setpriv --no-new-privs "$TARGET" paced 2000 50000
        process=$BACKGROUND
        recording user ktracectl record -e raw_syscalls:sys_enter -o t.kts -p "$process"
        ends_well 20
        [ "$(count t.kts ".pid == $process and .fields.id == $GETPPID")" -gt 3 ] || fail "few events"
        same 0 "$(count t.kts ".pid != $process")" "others' events"
}

case_threads() { # [guest] -p records every thread of a process
        background user setpriv --no-new-privs "$TARGET" threads 5
        within 20 sh -c "[ \$(ls /proc/$BACKGROUND/task | wc -l) = 6 ]" || fail "no threads"
        user ktracectl create threads -e raw_syscalls:sys_enter -p "$BACKGROUND" --lifetime linger
        user ktracectl start threads
        id=$(session_id threads)
        for tid in /proc/"$BACKGROUND"/task/*; do
                grep -qx "${tid##*/}" "$TRACEFS/instances/ktrace-$id/set_event_pid" ||
                        fail "thread ${tid##*/} is not listed"
        done
        grep -qx 4194304 "$TRACEFS/instances/ktrace-$id/set_event_pid" || fail "no sentinel"
        user ktracectl destroy threads
}

case_set_uid_child() { # [guest smoke] a set-uid program in a recorded command gains no privileges
        install -m 4755 /usr/bin/id suid-id
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- ./suid-id -u
        same "$USER_UID" "$(cat out)" "effective uid"
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- grep NoNewPrivs /proc/self/status
        grep -q '1$' out || fail "no_new_privs is not set"
}

case_kts_cut() { # [asan] a truncated .kts is readable up to its last whole frame, and report says what is missing
        expect 0 user ktracectl record -b 8192 -e raw_syscalls:sys_enter -o t.kts -- "$TARGET" calls 5000 $GETPPID
        size=$(stat -c %s t.kts)
        head -c 17 t.kts >cut.kts
        refused 1 metadata user ktracectl report cut.kts
        for at in $((size / 4)) $((size / 2)) $((size - 1)); do
                head -c "$at" t.kts >cut.kts
                expect 4 user ktracectl report cut.kts
                [ -s err ] || fail "cut at $at of $size: nothing was said"
        done
}

case_session_by_hand() { # [guest] create, start, show, list, status, stop and destroy work on one session
        user ktracectl create hand -e raw_syscalls:sys_enter --scope own
        same configured "$(user ktracectl list --json=short | jq -r '.[0].state')" state
        background user setpriv --no-new-privs "$TARGET" paced 100 50000
        user ktracectl start hand
        same running "$(user ktracectl list --json=short | jq -r '.[0].state')" state
        user ktracectl show hand >/dev/null
        user ktracectl status hand >/dev/null
        user ktracectl stop hand
        same stopped "$(user ktracectl list --json=short | jq -r '.[0].state')" state
        user ktracectl destroy hand
        same '[]' "$(user ktracectl list --json=short)" "sessions left"
}

case_stream_worker_killed() { # [guest asan] a stream whose worker was killed is reported as incomplete
        trap 'exec 9>&-; leave_case' EXIT
        local pid worker status=0
        ktracectl create box -a -b 8192 -e raw_syscalls:sys_enter -f 'id == 1000'
        mkfifo slow
        exec 9<>slow # a reader has it open and reads nothing yet
        ktracectl stream box -o - --to kts >slow 2>stream.err &
        pid=$!
        within 20 pgrep -x ktrace-consumer >/dev/null || fail "no worker"
        worker=$(pgrep -n -x ktrace-consumer)
        ktracectl start box
        "$TARGET" calls 60000 1000
        ktracectl destroy box
        kill -KILL "$worker" || true # or the daemon has lost its patience already
        exec 8<slow
        cat <&8 >t.kts 8<&- 9>&- & # it ends when the stream's end is closed
        exec 8<&- 9>&-
        wait "$pid" || status=$?
        same 4 "$status" "status: $(cat stream.err)"
        same 1 "$(grep -c 'standard output: the stream has no end: cut after' stream.err)" "lines: $(cat stream.err)"
        # A reader that ends with ^C is not reported as cut.
        ktracectl create box -a -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start box
        ktracectl stream box -o u.kts 2>stream.err &
        pid=$! status=0
        within 20 test -s u.kts
        kill -INT "$pid"
        wait "$pid" || status=$?
        same 0 "$status" "status: $(cat stream.err)"
        ktracectl destroy box
}

case_events_verb() { # events lists the events that the caller may use
        user ktracectl events --no-legend >user.events
        ktracectl events --no-legend >root.events
        grep -q raw_syscalls:sys_enter user.events || fail "no raw_syscalls:sys_enter for the user"
        [ "$(wc -l <root.events)" -gt "$(wc -l <user.events)" ] || fail "root sees no more than the user"
        prints args user ktracectl events raw_syscalls:sys_enter -v || fail "no fields"
}

case_events_word() { # events WORD searches names and fields; a refused name gets similar granted names
        has() { user ktracectl events --no-legend "$1" >found && grep -qx "$2" found ||
                fail "events $1: $(cat found)"; }
        has openat syscalls:sys_enter_openat
        has sched:sched_sw sched:sched_switch
        has sched_process sched:sched_process_exec
        has prev_comm sched:sched_switch
        ! grep -q sched_waking found || fail "an event that is not granted"
        same sched:sched_switch "$(user ktracectl --json=short events -v prev_comm | jq -r '.[].name')" "-v of a word"
        ! user ktracectl events common_pid >found 2>&1 || fail "every event has common_pid: $(head -3 found)"
        refused 1 'did you mean sched:sched_switch\?' user ktracectl events sched_swich
        refused 1 'zz\*: no event that you may use matches' user ktracectl events 'zz*'
        refused 3 'did you mean syscalls:sys_enter_openat or syscalls:sys_exit_openat\?' \
                user ktracectl record -e openat -o t.kts -- true
        refused 3 'did you mean sched:sched_switch\?' user ktracectl record -e sched_swich -o t.kts -- true
        refused 3 "did you mean 'sched:\\*'\\?" user ktracectl record -e sched -o t.kts -- true
        [ ! -e t.kts ] || fail "a file of a recording that was refused"
}
