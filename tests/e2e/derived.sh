# SPDX-License-Identifier: LGPL-2.1-or-later
# Probes on events: they record what the events contain, for users who may trace the events.

event_probes() { # the rest of the case is for kernels that have them
        ktracectl probes add tried --event sched:sched_switch next_pid 2>err ||
                skip "this kernel has no event probes: $(cat err)"
        ktracectl probes remove tried
}

# refuses_field COLUMN PATTERN EVENT ARG: the definition is refused with the reason and a caret below the column.
refuses_field() {
        local column=$1 pattern=$2
        expect 2 ktracectl probes add bad --event "$3" -- "$4"
        head -n 1 err | matches -E -- "$pattern" || fail "no '$pattern': $(cat err)"
        same "$(printf '%*s^' $((column + 1)) '')" "$(tail -n 1 err)" "the caret below $4"
}

case_event_probe_mistakes() { # each mistake in an event probe is reported with its place, on every kernel
        refuses_field 1 'sched_switch has no field next_pod: did you mean next_pid' sched:sched_switch next_pod
        refuses_field 1 'common_pid' sched:sched_switch common_pid
        refuses_field 13 'next_comm is text' sched:sched_switch 'next_comm : u8'
        refuses_field 1 'the kernel takes numbers and text' raw_syscalls:sys_enter args
        refused 1 'did you mean sched:sched_switch' ktracectl probes add bad --event sched:sched_swich next_pid
        refused 1 'no such event' ktracectl probes add bad --event no:such_event x
        refused 2 'expected SYSTEM:EVENT, such as sched:sched_switch; did you mean sched:sched_switch\?' \
                ktracectl probes add bad --event sched_switch next_pid
        refused 2 'expected SYSTEM:EVENT' ktracectl probes add bad --event 'sched:*' next_pid
        refused 2 'is itself a probe' ktracectl probes add bad --event ktrace_u0:other x
        refused 2 'not together with' ktracectl probes add bad --event sched:sched_switch --on vfs_read next_pid
        refused 2 'an event does not return' ktracectl probes add bad --event sched:sched_switch --return next_pid
        ! prints '"bad"' ktracectl --json probes list || fail "a probe is defined"
}

case_event_probe_values() { # [guest] an event probe records the same numbers and texts as the event
        event_probes
        ktracectl probes add mine --event syscalls:sys_enter_openat 'name = filename : user' dfd 'flags : x32' '$comm'
        ktracectl probes add gone --event sched:sched_process_exit 'who = pid' comm
        echo text >a-file
        expect 0 ktracectl record -q --probe mine --probe gone -e sched:sched_process_exit -o t.kts -- cat a-file
        same 1 "$(count t.kts '.event == "mine" and .fields.name == "a-file" and .fields.dfd == -100 and
                .fields.comm == "cat"')" "opens of a-file"
        same 1 "$(count t.kts '.event == "gone" and .fields.comm == "cat" and .fields.who == .pid')" "ends of cat"
        same "$(ktracectl convert t.kts --to json |
                jq -c 'select(.event == "sched_process_exit") | [.fields.pid, .fields.comm]')" \
                "$(ktracectl convert t.kts --to json |
                jq -c 'select(.event == "gone") | [.fields.who, .fields.comm]')" "the probe beside its event"
        expect 0 ktracectl record -q --probe mine -f 'name == "a-file"' -o f.kts -- cat a-file
        prints 'mine: .* name="a-file" dfd=-100 flags=0x' ktracectl report t.kts || fail "$(ktracectl report t.kts)"
        ktracectl probes list -v >list
        grep -q 'e:ktrace_u0/mine syscalls.sys_enter_openat name=$filename:ustring' list || fail "$(cat list)"
        ktracectl probes remove mine
        ktracectl probes remove gone
        ! grep -q ktrace_u "$TRACEFS/dynamic_events" || fail "$(cat "$TRACEFS/dynamic_events")"
}

case_event_probe_of_users() { # [deep guest] a user can put event probes on granted events and gets no hidden field
        refused 3 'not granted' user ktracectl probes add bad --event sched:sched_waking pid
        sed s/sched_waking/NAME/ err >first
        expect 3 user ktracectl probes add bad --event sched:no_such_event pid
        same "$(cat first)" "$(sed s/no_such_event/NAME/ err)" "the words"
        expect 3 user ktracectl --no-ask-password probes add bad --event syscalls:sys_enter_openat 'filename : user'
        event_probes
        same "ktrace_u$USER_UID:mine" "$(user ktracectl probes add mine --event raw_syscalls:sys_enter id)" "event"
        background stranger sh -c 'while cat /etc/hostname >/dev/null; do :; done'
        expect 0 user ktracectl record -q --probe mine -e raw_syscalls:sys_enter -o t.kts -- true
        [ "$(count t.kts '.event == "mine"')" -gt 10 ] || fail "no calls"
        same "$(ktracectl convert t.kts --to json | jq -c 'select(.event == "sys_enter") | [.pid, .fields.id]')" \
                "$(ktracectl convert t.kts --to json |
                jq -c 'select(.event == "mine") | [.pid, .fields.id]')" "the probe beside its event"
        # The copy has no next_pid: a user sees it only in records about own tasks, which cannot be checked in a copy.
        same "ktrace_u$USER_UID:to" "$(user ktracectl probes add to --event sched:sched_switch next_pid)" "event"
        refused 3 'next_pid of sched:sched_switch is not granted whole' user ktracectl record --probe to -o /dev/null \
                -- true
        user ktracectl probes remove to
        user ktracectl probes remove mine
}

copy_end() {
        ktracectl destroy box 2>/dev/null || true
        ktracectl probes remove copy || true
        leave_case
}

case_event_probe_alone() { # [guest smoke] an event probe whose event is not recorded is not reported as interference
        event_probes
        trap copy_end EXIT
        ktracectl probes add copy --event sched:sched_process_exec pid
        ktracectl create box --scope system --probe copy
        ktracectl start box
        sleep 0.5
        /bin/true
        same 0 "$(ktracectl --json=short show box | jq .statistics.interference)" "interference"
        same running "$(ktracectl --json=short show box | jq -r .state)" "state"
        [ "$(ktracectl --json=short show box | jq .statistics.recorded)" -gt 0 ] || fail "nothing was recorded"
}

pairs() { # the rest of the case is for kernels that have synthetic events
        [ -e "$TRACEFS/synthetic_events" ] || skip "this kernel has no pairs of events"
}

# reported STATUS PATTERN COMMAND...: the command fails with the status and the message.
reported() {
        expect "$1" "${@:3}"
        head -n 1 err | matches -E -- "$2" || fail "no '$2': $(cat err)"
}

# refuses_pair COLUMN PATTERN KEY ARG: the definition is refused with the reason and a caret below the column.
refuses_pair() {
        local column=$1 pattern=$2
        expect 2 ktracectl probes add bad --from sched:sched_waking --to sched:sched_switch --key "$3" -- "$4"
        head -n 1 err | matches -E -- "$pattern" || fail "no '$pattern': $(cat err)"
        same "$(printf '%*s^' $((column + 1)) '')" "$(tail -n 1 err)" "the caret below $3 or $4"
}

case_pair_mistakes() { # each mistake in a pair of events is reported with its place, on every kernel
        local both='--from sched:sched_waking --to sched:sched_switch'
        refuses_pair 7 'next_comm is char\[16\]: a key must be a number|next_comm is char' 'pid = next_comm' '$latency'
        refuses_pair 7 'pid has 4 bytes and a sign, prev_state has 8' 'pid = prev_state' '$latency'
        refuses_pair 7 'sched_switch has no field next_pod: did you mean next_pid' 'pid = next_pod' '$latency'
        refuses_pair 1 'sched_switch has no field pid' 'pid' '$latency'
        refuses_pair 6 'sched_waking has no field pri0: did you mean prio' 'pid = next_pid' 'from.pri0'
        refuses_pair 1 'expected from.FIELD, to.FIELD or \$latency' 'pid = next_pid' 'prio'
        refuses_pair 12 'a number of ns, or of us with : us' 'pid = next_pid' '$latency : string'
        refuses_pair 4 'already has common_pid of the second event' 'pid = next_pid' 'to.common_pid'
        refused 2 'they use nothing of the first event' ktracectl probes add bad $both \
                --key 'pid = next_pid' to.next_comm
        refused 2 'key: more than 3' ktracectl probes add bad $both --key a --key b --key c --key d '$latency'
        refused 2 'key: missing' ktracectl probes add bad $both '$latency'
        refused 2 'to: missing' ktracectl probes add bad --from sched:sched_waking --key pid '$latency'
        refused 2 'ARG: missing' ktracectl probes add bad $both --key 'pid = next_pid'
        reported 2 'has the same field' ktracectl probes add bad $both --key 'pid = next_pid' \
                --key 'pid = prev_pid' '$latency'
        reported 2 'is called prio too' ktracectl probes add bad $both --key 'pid = next_pid' '$latency' from.prio \
                'prio = to.next_prio'
        reported 2 'is already in ARG "\$latency"' ktracectl probes add bad $both --key 'pid = next_pid' '$latency' \
                'x = $latency'
        refused 1 'did you mean sched:sched_switch' ktracectl probes add bad --from sched:sched_waking \
                --to sched:sched_swich --key pid '$latency'
        refused 1 'no such probe' ktracectl probes add bad --from nothing --to sched:sched_switch --key pid '$latency'
        refused 2 'not together with' ktracectl probes add bad $both --on vfs_read --key 'pid = next_pid' '$latency'
        # A pointer from a program, which the kernel would follow without a check.
        reported 2 'to any address' ktracectl probes add bad --from syscalls:sys_enter_openat \
                --to syscalls:sys_exit_openat \
                --key common_pid from.filename
        ktracectl probes add one $both --key 'pid = next_pid' '$latency'
        refused 2 'made of events itself: name one of those' ktracectl probes add bad --from one \
                --to sched:sched_switch --key 'pid' '$latency'
        ktracectl probes remove one
        ! prints '"bad"' ktracectl --json probes list || fail "a probe is defined"
}

nothing_paired() { # no event, no trigger of ours is in the kernel
        ! grep -q 'synthetic/ktrace_' "$TRACEFS/dynamic_events" || fail "$(cat "$TRACEFS/dynamic_events")"
}

case_pair_latency() { # [guest smoke] a pair of events shows the duration of each call once, with the fields of both
        pairs
        ktracectl probes add slept --from syscalls:sys_enter_clock_nanosleep --to syscalls:sys_exit_clock_nanosleep \
                --key common_pid 'took = $latency' 'flags = from.flags' 'ret = to.ret'
        ktracectl probes add slept_us --from syscalls:sys_enter_clock_nanosleep --to syscalls:sys_exit_clock_nanosleep \
                --key common_pid '$latency : us'
        expect 0 ktracectl record -q --probe slept --probe slept_us -e syscalls:sys_enter_clock_nanosleep \
                -e syscalls:sys_exit_clock_nanosleep -o t.kts -- sh -c 'for t in 0.05 0.1 0.2 0.3; do sleep $t; done'
        ktracectl convert t.kts --to json >t.json
        same 4 "$(jq -c 'select(.event == "slept")' t.json | wc -l)" "calls"
        same 4 "$(jq -c 'select(.event == "slept_us")' t.json | wc -l)" "calls in us"
        # A sleep may be longer than requested. The records of both events contain its real length.
        same '[true,true,true,true]' "$(jq -cs 'map(select(.event == "slept") | .fields.took / 1e6) |
                [., [50, 100, 200, 300]] | transpose | map(.[0] >= .[1] and .[0] < 20000)' t.json)" \
                "how long they slept: $(jq -cs 'map(select(.event == "slept") | .fields.took)' t.json)"
        same "$(jq -cs 'map(select(.event == "slept") | .fields.took / 1000 | floor | . / 1000 | floor)' t.json)" \
                "$(jq -cs 'map(select(.event == "slept_us") | .fields.latency / 1000 | floor)' t.json)" "ns and us"
        same '[0]' "$(jq -cs 'map(select(.event == "slept") | .fields.ret) | unique' t.json)" "results"
        # The difference between the times of both events.
        same "$(jq -cs '[.[] | select(.event == "sys_enter_clock_nanosleep")] as $from | [.[] |
                select(.event == "sys_exit_clock_nanosleep")] |
                [range(length) as $i | .[$i].ts - $from[$i].ts]' t.json)" \
                "$(jq -cs 'map(select(.event == "slept") | .fields.took)' t.json)" "what lies between the two events"
        prints 'slept: +took=[0-9]+ flags=0 ret=0' ktracectl report t.kts || fail "$(ktracectl report t.kts)"
        nothing_paired
        ktracectl probes remove slept
        ktracectl probes remove slept_us
}

case_pair_flight() { # [guest] a snapshot of a flight recorder has its own pairs and those of the previous snapshot
        pairs
        trap pair_flight_end EXIT
        ktracectl probes add slept --from syscalls:sys_enter_clock_nanosleep --to syscalls:sys_exit_clock_nanosleep \
                --key common_pid 'took = $latency'
        ktracectl create box --mode flight -a --probe slept
        ktracectl start box
        sleep 0.3 &
        local first=$!
        wait $first
        expect 0 ktracectl snapshot box -o one.kts
        sleep 0.5 &
        local second=$!
        wait $second
        expect 0 ktracectl snapshot box -o two.kts
        ktracectl destroy box
        same 1 "$(count one.kts ".event == \"slept\" and .pid == $first and .fields.took > 299000000")" \
                "of the first, before"
        same 1 "$(count two.kts ".event == \"slept\" and .pid == $first and .fields.took > 299000000")" \
                "of the first, again"
        same 1 "$(count two.kts ".event == \"slept\" and .pid == $second and .fields.took > 499000000")" "of the second"
        nothing_paired
}
pair_flight_end() {
        ktracectl destroy box 2>/dev/null || true
        ktracectl probes remove slept || true
        leave_case
}

case_pair_carried() { # [guest] texts and numbers of the first event of a pair are recorded with the second
        pairs
        kprobes_of_pairs
        ktracectl probes add opening --on do_sys_openat2 filename how.flags:x64 dfd
        ktracectl probes add opened --on do_sys_openat2 --return '$retval'
        ktracectl probes add came --from opening --to opened --key common_pid 'name = from.filename' from.dfd \
                'from.flags : x64' to.ret '$latency : us'
        echo text >a-file
        expect 0 ktracectl record -q --probe came -f 'name ~ "*file"' --probe file_open_result -o t.kts \
                -- sh -c 'cat a-file; ! cat no-file; cat a-file'
        ktracectl convert t.kts --to json >t.json
        same '[["a-file",-100,3],["no-file",-100,-2],["a-file",-100,3]]' \
                "$(jq -cs 'map(select(.event == "came") | .fields | [.name, .dfd, .ret])' t.json)" \
                "names, and what came of them"
        same '[["a-file",3],["no-file",-2],["a-file",3]]' \
                "$(jq -cs 'map(select(.event == "file_open_result" and (.fields.filename | test("^[an]o?-file"))) |
                        .fields | [.filename, .ret])' t.json)" "by the catalogue"
        ktracectl report t.kts >t.txt
        grep -qE 'came: +name="no-file" dfd=-100 flags=0x[0-9a-f]+ ret=-2 latency=[0-9]+' t.txt ||
                fail "$(grep came: t.txt)"
        ktracectl create two --probe came --scope system
        refused 1 'session' ktracectl probes remove opening
        same 1 "$(ktracectl --json probes show opening | jq .users)" "sessions that have what it is made of"
        ktracectl destroy two
        ktracectl probes remove opening
        same broken "$(ktracectl --json probes show came | jq -r .state)" "without what it is made of"
        refused 1 'from: "opening": no such probe' ktracectl record --probe came -- true
        ktracectl probes remove opened
        ktracectl probes remove came
        nothing_paired
}

kprobes_of_pairs() {
        [ -e "$TRACEFS/kprobe_events" ] || skip "this kernel has no kprobes"
}

case_pair_block_io() { # [guest] the catalogue's disk latency covers each request between its two events
        pairs
        expect 0 ktracectl record -q -a --probe block_io_latency -e block:block_rq_issue -e block:block_rq_complete \
                -o t.kts \
                -- dd if=/dev/zero of=a-file bs=8192 count=5 oflag=direct,sync
        ktracectl convert t.kts --to json >t.json
        count=$(jq -s 'map(select(.event == "block_io_latency" and .fields.comm == "dd" and .fields.bytes == 8192 and
                .fields.error == 0 and (.fields.rwbs | test("W")))) | length' t.json)
        [ "$count" -gt 0 ] || skip "no disk below $PWD"
        same 5 "$count" "writes"
        # A request that is done in parts has one issue and several ends: the first counts.
        jq -es '[.[] | select(.event == "block_rq_complete")] as $to | [.[] |
                select(.event == "block_rq_issue")] as $from |
                all(.[] | select(.event == "block_io_latency") | .fields;
                        . as $f | any($to[]; . as $t | .fields.dev == $f.dev and .fields.sector == $f.sector and
                                any($from[]; .fields.dev == $f.dev and .fields.sector == $f.sector and
                                        $t.ts - .ts == $f.latency)))' t.json >/dev/null ||
                fail "not what lies between the events: $(cat t.json)"
}

# streamed SESSION FILE: saves everything that the session has recorded, and destroys the session.
streamed() {
        background ktracectl stream "$1" -o "$2"
        within 30 test -s "$2" || fail "no stream: $(cat background.err)"
        ktracectl destroy "$1"
        wait "$BACKGROUND" || true
}

case_pair_apart() { # [guest] two sessions with the same pair each get their own records once
        pairs
        ktracectl probes add slept --from syscalls:sys_enter_clock_nanosleep --to syscalls:sys_exit_clock_nanosleep \
                --key common_pid '$latency'
        ktracectl create everything --probe slept --scope system
        expect 0 ktracectl verify
        ktracectl start everything
        expect 0 ktracectl record -q --probe slept -o one.kts -- sleep 0.05
        sleep 0.05 &
        local beside=$!
        wait $beside
        same 1 "$(count one.kts '.event == "slept"')" "records of the one"
        local command
        command=$(ktracectl convert one.kts --to json | jq 'select(.event == "slept") | .pid')
        same 2 "$(grep -c 'synthetic/ktrace_' "$TRACEFS/dynamic_events" | sed s/1/2/)" "events"
        ktracectl stop everything
        streamed everything all.kts
        same 2 "$(count all.kts ".event == \"slept\" and
                (.pid == $beside or .pid == $command) and .fields.latency > 49000000")" "records of the other"
        nothing_paired
        ktracectl probes remove slept
}

case_pair_again() { # [guest] stop and start lose no record, and pairs continue
        pairs
        ktracectl probes add slept --from syscalls:sys_enter_clock_nanosleep --to syscalls:sys_exit_clock_nanosleep \
                --key common_pid '$latency'
        ktracectl create again --probe slept --scope system
        local pids=()
        for i in 1 2 3; do
                ktracectl start again
                sleep 0.05 &
                pids+=($!)
                wait $!
                ktracectl stop again
        done
        streamed again t.kts
        same 3 "$(count t.kts ".event == \"slept\" and
                (.pid == ${pids[0]} or .pid == ${pids[1]} or .pid == ${pids[2]}) and
                .fields.latency > 49000000")" "records"
        nothing_paired
        ktracectl probes remove slept
}

case_pair_orphans() { # [guest] after a killed daemon pairs continue, and unused definitions are removed
        pairs
        ktracectl probes add slept --from syscalls:sys_enter_clock_nanosleep --to syscalls:sys_exit_clock_nanosleep \
                --key common_pid '$latency'
        ktracectl create left --probe slept --scope system
        ktracectl start left
        grep -q 'synthetic/ktrace_' "$TRACEFS/dynamic_events" || fail "no event"
        echo 's:ktrace_0123456789abcdef_0 u64 left' >>"$TRACEFS/dynamic_events"
        expect 1 ktracectl verify
        grep -q 'synthetic/ktrace_0123456789abcdef_0' out err || fail "not found: $(cat out err)"
        kill -KILL "$(daemon_pid)"
        within 30 ktracectl list
        ! grep -q 'ktrace_0123456789abcdef_0' "$TRACEFS/dynamic_events" || fail "left"
        same running "$(ktracectl --json=short show left | jq -r .state)" "state"
        sleep 0.1
        within 30 recorded 1 || fail "no more pairs"
        ktracectl destroy left
        nothing_paired
        same '' "$(ls "$TRACEFS/instances" | grep ktrace- || true)" "instances"
        ktracectl probes remove slept
}

case_pair_dropped() { # [deep guest] first events that the kernel has no room for are counted and reported
        pairs
        command -v python3 >/dev/null || skip "no python3"
        kprobes_of_pairs
        ktracectl probes add enters --on ext4_llseek 'at = offset : s64' 2>err || fail "$(cat err)"
        ktracectl probes add leaves --on ext4_llseek --return 'at = $retval : s64'
        ktracectl probes add places --from enters --to leaves --key at '$latency' from.at 2>err || fail "$(cat err)"
        ktracectl probes add beside --from enters --to leaves --key common_pid '$latency'
        expect 0 ktracectl record -q --probe places --probe beside -b 8192 -o t.kts -- python3 -c 'import os
f = os.open("a-file", os.O_RDWR | os.O_CREAT)
for i in range(20000): os.lseek(f, i, 0)'
        grep -q '3,6[0-9][0-9] events found no room to be remembered' err || fail "$(cat err)"
        n=$(count t.kts '.event == "places"')
        [ "$n" -ge 16384 ] && [ "$n" -lt 16500 ] || fail "$n records"
        for probe in beside places enters leaves; do ktracectl probes remove $probe; done
}

has_calls() { [ "$(count su.kts '.event == "calls"')" -gt 0 ]; }

case_pair_fence() { # [deep guest] a user's pairs cover own processes only, task by task, and no privileged program
        pairs
        kprobes_of_pairs
        user ktracectl probes add calls --from raw_syscalls:sys_enter --to raw_syscalls:sys_exit --key common_pid \
                --key id to.ret '$latency'
        user ktracectl probes add others --from raw_syscalls:sys_enter --to raw_syscalls:sys_exit --key id '$latency'
        user ktracectl probes add switched --from raw_syscalls:sys_enter --to sched:sched_switch \
                --key common_pid '$latency' to.next_pid
        refused 3 'to: .*not granted' user ktracectl probes add bad --from raw_syscalls:sys_enter \
                --to sched:sched_waking --key common_pid '$latency'
        # A copy of an event that describes other tasks can be neither copied again nor filtered.
        user ktracectl probes add copy --event sched:sched_switch next_comm prev_pid
        refused 2 'made of events itself: name sched:sched_switch' user ktracectl probes add bad --from copy \
                --to raw_syscalls:sys_exit --key common_pid 'c = from.next_comm'
        refused 3 'granted whole|can describe tasks' user ktracectl record --probe copy -f 'prev_pid == 1' \
                -o /dev/null -- true
        user ktracectl probes add plain --event sched:sched_switch prev_pid
        refused 3 'can describe tasks' user ktracectl record --probe plain -f 'prev_pid == 1' -o /dev/null -- true
        refused 3 'can describe tasks' user ktracectl record --probe plain --where 'common_pid == 1' -o /dev/null \
                -- true
        for probe in copy plain; do user ktracectl probes remove $probe; done
        refused 1 'no such probe' stranger ktracectl probes add bad --from "ktrace_u$USER_UID:calls" \
                --to raw_syscalls:sys_exit --key common_pid '$latency'
        refused 3 'add common_pid to its keys' user ktracectl record --probe others -o /dev/null -- true
        refused 3 'next_pid of sched:sched_switch is not granted whole' user ktracectl record --probe switched \
                -o /dev/null -- true
        background stranger sh -c 'while cat /etc/hostname >/dev/null; do :; done'
        expect 0 user ktracectl record -q --probe calls -e raw_syscalls:sys_exit -o t.kts -- sh -c 'sleep 0.1; true'
        ktracectl convert t.kts --to json >t.json
        same '[]' "$(jq -cs '[.[] | select(.event == "calls") | .pid] - [.[] | select(.event == "sys_exit") | .pid]' \
                t.json)" "tasks that are not the user's"
        [ "$(jq -s 'map(select(.event == "calls" and .fields.latency > 99000000)) | length' t.json)" -gt 0 ] ||
                fail "no sleep"
        # A traced process runs su, whose calls begin and end after the change of credentials.
        background user sh -c 'while [ ! -e go ]; do sleep 0.2; done; /bin/su --version; sleep 100'
        pid=$BACKGROUND
        background user ktracectl record -q --probe calls -e raw_syscalls:sys_enter -o su.kts -p "$pid"
        within 30 has_calls || fail "nothing is recorded: $(cat background.err)"
        touch go
        status=0
        wait "$BACKGROUND" || status=$?
        same 1 "$status" "status of record"
        grep -q 'changed its credentials' background.err || fail "$(cat background.err)"
        has_calls || fail "nothing was recorded before"
        same 0 "$(count su.kts '.comm == "su"')" "records of su"
        # The session that the guard has ended may not be removed from the kernel yet.
        within 20 user ktracectl probes remove calls || fail "$(user ktracectl probes remove calls 2>&1)"
        for probe in others switched; do user ktracectl probes remove $probe; done
        nothing_paired
}

case_pair_foreign() { # [guest] a user's session ends if another program adds or removes a trigger of its pair
        pairs
        kprobes_of_pairs
        user ktracectl probes add calls --from raw_syscalls:sys_enter --to raw_syscalls:sys_exit --key common_pid \
                --key id '$latency'
        local match="onmatch(raw_syscalls.sys_enter).trace(NAME,\$p0_d)"
        for text in "!hist:keys=common_pid,id:p0_d=common_timestamp-\$p0_t:$match" hist:keys=id; do
                background user setpriv --no-new-privs "$TARGET" paced 2000 50000
                background user ktracectl record -q --probe calls -o t.kts -p "$BACKGROUND"
                recording=$BACKGROUND
                within 30 is_running || fail "the recording did not start: $(cat background.err)"
                sleep 0.3
                instance=$(echo "$TRACEFS"/instances/ktrace-*)
                trigger=$instance/events/raw_syscalls/sys_exit/trigger
                case $text in '!'*) text="!$(grep -v '^#' "$trigger" | sed 's/ \[active\]$//')" ;; esac
                echo "$text" >>"$trigger" || fail "not written: $text"
                status=0
                wait "$recording" || status=$?
                same 1 "$status" "status of record after $text"
                grep -q 'another program.*raw_syscalls/sys_exit' background.err || fail "$(cat background.err)"
        done
        within 30 user ktracectl probes remove calls
        nothing_paired
}

# slept_for USEC REPORT FIELD: a process has slept at least so long, and not much longer.
slept_for() {
        sed -n "s/.*slept: .*$3=\([0-9]*\).*/\1/p" "$2" |
                awk -v "usec=$1" '$1 >= usec && $1 < 4000000 { found = 1 } END { exit !found }' ||
                fail "$(grep slept: "$2")"
}

case_derived_examples() { # [deep guest] the examples of ktrace-probes(5) work word for word
        event_probes
        pairs
        kprobes_of_pairs
        ktracectl probes add handed --event sched:sched_switch 'to = next_pid' 'name = next_comm' \
                'prio = next_prio : u8'
        ktracectl probes add opens --event syscalls:sys_enter_openat 'name = filename : user' 'flags : x32'
        expect 0 ktracectl record --probe handed -f 'name == "sleep"' --probe opens -a -o t.dat -- sleep 0.1
        ktracectl report t.dat >out
        grep -qE 'handed: +to=[0-9]+ name="sleep" prio=120' out || fail "$(grep handed: out)"
        grep -qE 'opens: +name="/etc/ld.so.cache" flags=0x80000' out || fail "$(grep opens: out)"
        ktracectl probes add slept --from syscalls:sys_enter_clock_nanosleep --to syscalls:sys_exit_clock_nanosleep \
                --key common_pid 'took = $latency : us' to.ret
        ktracectl probes add woken --from sched:sched_waking --to sched:sched_switch --key 'pid = next_pid' \
                'delay = $latency' 'prio = from.prio' 'name = to.next_comm'
        expect 0 ktracectl record --probe slept --probe woken -f 'name == "sleep"' -a -o t.dat -- sleep 0.2
        ktracectl report t.dat >out
        grep -qE 'slept: +took=[0-9]+ ret=0' out || fail "$(grep slept: out)"
        slept_for 200000 out took
        grep -qE 'woken: +delay=[0-9]+ prio=120 name="sleep"' out || fail "$(grep woken: out)"
        ktracectl probes add opening --on do_sys_openat2 filename how.flags:x64
        ktracectl probes add opened --on do_sys_openat2 --return '$retval'
        ktracectl probes add came --from opening --to opened --key common_pid from.filename to.ret '$latency : us'
        expect 0 ktracectl record --probe came -o t.kts -- cat /etc/hostname
        prints 'came: +filename="/etc/hostname" ret=[0-9]+ latency=[0-9]+' ktracectl report t.kts ||
                fail "$(ktracectl report t.kts)"
        for probe in came opening opened woken slept opens handed; do ktracectl probes remove $probe; done
}

case_pair_many() { # [guest] a pair carries up to 13 values, of which 4 are texts of each event; more are refused
        pairs
        local values=()
        for i in 1 2 3; do values+=("f$i = from.prio"); done
        for i in 1 2; do values+=("t$i = to.next_prio"); done
        for i in 1 2 3 4; do values+=("from$i = from.comm" "to$i = to.next_comm"); done
        refused 2 'the kernel carries 13 together' ktracectl probes add many --from sched:sched_waking \
                --to sched:sched_switch \
                --key 'pid = next_pid' '$latency' "${values[@]}" 'more = from.prio'
        refused 2 '5 texts of the first event' ktracectl probes add many --from sched:sched_waking \
                --to sched:sched_switch \
                --key 'pid = next_pid' a=from.comm b=from.comm c=from.comm d=from.comm e=from.comm
        ktracectl probes add many --from sched:sched_waking --to sched:sched_switch --key 'pid = next_pid' '$latency' \
                "${values[@]}"
        expect 0 ktracectl record -q -a --probe many -o t.kts -- sleep 0.1
        same '[14]' "$(ktracectl convert t.kts --to json |
                jq -cs 'map(select(.event == "many") | .fields | length) | unique')" "values"
        same '[true]' "$(ktracectl convert t.kts --to json | jq -cs 'map(select(.event == "many") | .fields |
                (.to1 == .to4 and .from1 == .from4 and .t1 == .t2 and .f1 == .f3)) | unique')" "values of one task"
        ktracectl probes remove many
}

case_pair_of_group() { # [deep guest] a user who may trace all processes gets the same pairs without kernel addresses
        pairs
        event_probes
        trap group_end EXIT
        mkdir -p "$CONFIG_DIR/policy.d"
        cat >"$CONFIG_DIR/policy.d/10-case.json" <<EOS
{"rules": [{"name": "all", "subjects": [{"uid": $USER_UID}], "scopes": ["command", "system"],
        "processes": "any", "addresses": "pseudonym", "probes": {"use": ["block_io_latency"], "derive": true},
        "events": ["sched:*", "block:*", "kmem:kfree", "raw_syscalls:*",
                {"name": "signal:signal_deliver", "filter": "sig == 10"},
                {"name": "task:task_rename", "cut": ["newcomm"]}]}]}
EOS
        ktracectl policy reload
        user ktracectl probes add woken --from sched:sched_waking --to sched:sched_switch \
                --key 'pid = next_pid' '$latency' from.prio 'name = to.next_comm'
        user ktracectl probes add freed --event kmem:kfree call_site
        user ktracectl probes add half --event kmem:kfree 'low = call_site : u32' --about x 2>err &&
                fail "half of an address"
        user ktracectl probes add sent --event signal:signal_deliver sig
        user ktracectl probes add renamed --event task:task_rename 'pid' 'name = newcomm'
        user ktracectl probes add named --event task:task_rename pid
        expect 0 user ktracectl record -q -a --probe woken -f 'name == "sleep"' --probe named --probe block_io_latency \
                -o t.kts -- sleep 0.1
        [ "$(count t.kts \
                '.event == "woken" and .fields.name == "sleep" and .fields.prio == 120 and .fields.latency > 0')" \
                -gt 0 ] || fail "no waking"
        [ "$(count t.kts '.event == "named" and .fields.pid == .pid')" -gt 0 ] || fail "no name"
        refused 3 'call_site of kmem:kfree is not granted whole' user ktracectl record -a --probe freed -o /dev/null \
                -- true
        refused 3 'newcomm of task:task_rename is not granted whole' user ktracectl record -a --probe renamed \
                -o /dev/null -- true
        refused 3 'grants only some of its records' user ktracectl record -a --probe sent -o /dev/null -- true
        same '["sched:sched_switch","sched:sched_waking"]' \
                "$(user ktracectl --json policy explain - <<<'{"scope": "system", "probes": ["woken"]}' |
                jq -c '.sources | sort')" "what policy explain tells"
        for probe in woken freed sent renamed named; do user ktracectl probes remove $probe; done
}
group_end() {
        rm -f "$CONFIG_DIR/policy.d/10-case.json"
        ktracectl policy reload || true
        leave_case
}

case_readme_pairs() { # [guest] README: two events that belong together
        pairs
        ktracectl probes add slept --from syscalls:sys_enter_clock_nanosleep --to syscalls:sys_exit_clock_nanosleep \
                --key common_pid '$latency : us'
        expect 0 ktracectl record -q --probe slept -o slept.dat -- sleep 0.1
        ktracectl report slept.dat >out
        grep -qE 'slept: +latency=[0-9]+$' out || fail "$(cat out)"
        slept_for 100000 out latency
        ktracectl probes remove slept
}

case_readme_files() { # [guest] README: an ordinary user sees which files a program opens
        pairs
        kprobes_of_pairs
        echo text >a-file
        expect 1 user ktracectl record --probe file_open_result -o - -- cat a-file no-file
        grep -q 'file_open_result:.*a-file' out || fail "$(cat out err)"
        grep -q 'file_open_result:.*no-file' out || fail "$(cat out err)"
}
