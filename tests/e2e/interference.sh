# SPDX-License-Identifier: LGPL-2.1-or-later
# Another program writes to the instance of a session without a fence. ktraced reports the old and the new value and
# restores it. Each loss is reported. tests/guest/interference.sh does the same with other tracing tools.

interference_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        [ -z "${FOREIGN:-}" ] || rmdir "$FOREIGN" || true
        leave_case
}
# watched ARG...: a session `box` of two system calls that no other program makes, its notifications in ./reported.
watched() {
        ktracectl create box --scope system -b 256 -e raw_syscalls:sys_enter -f 'id >= 1000 && id <= 1001' "$@"
        ktracectl --json stream box --notify >reported 2>reported.err &
        started+=("$!")
        within 30 grep -q waiting reported.err || fail "$(cat reported.err)"
        ktracectl start box
        BOX=$TRACEFS/instances/ktrace-$(ktracectl --json=short show box | jq -r .id)
        EVENT=$BOX/events/raw_syscalls/sys_enter
        sleep 0.3
}
calls() { "$TARGET" calls "$1" "$2"; }
has() { count "$1" ".fields.id == $2"; }
# reads FILE TEXT
reads() { within 8 grep -Fxq "$2" "$BOX/$1" || fail "$1: $(cat "$BOX/$1"), not $2; reported: $(cat reported)"; }
# reported_change FILE WAS IS PUT-BACK
reported_change() {
        within 20 jq -se --arg file "$1" --arg was "$2" --arg is "$3" \
                "any(.[]; .kind == \"interference\" and any(.changes[];
                        .file == \$file and .was == \$was and .is == \$is and .\"put-back\" == $4))" reported ||
                fail "$1 was not reported: $(cat reported)"
}
drained() { ktracectl --json=short status box | jq -e '[.statistics.cpus[].entries] | add < 500'; }
nobody() { ktracectl list --json=short | jq -e 'length == 0'; }
n_reported() { jq -s 'map(select(.kind == "interference") | .count) | add // 0' reported; }

case_interference_recorded() { # record reports changes by another program on stderr, and status reports lost events
        trap interference_end EXIT
        local status=0
        recording ktracectl record -a -b 256 -e raw_syscalls:sys_enter -f 'id == 1000' -o t.kts
        BOX=$(echo "$TRACEFS"/instances/ktrace-*)
        calls 10 1000
        echo 0 >"$BOX/tracing_on"
        reads tracing_on 1
        kill -INT "$RECORDING"
        wait "$RECORDING" || status=$?
        same 4 "$status" "status: $(cat background.err)"
        grep -qE 't.kts: [0-9]+ events.*, none lost in the buffer$' background.err || fail "$(cat background.err)"
        grep -qE 't.kts: another program changed the trace for [0-9.]+ ms \(1 change\)' background.err ||
                fail "$(cat background.err)"
}

case_interference_events() { # an event that another program turns off is soon on again, and the gap is reported
        trap interference_end EXIT
        watched
        background ktracectl stream box -o t.kts
        within 30 test -s t.kts || fail "no stream"
        calls 10 1000
        echo 0 >"$EVENT/enable"
        reads events/raw_syscalls/sys_enter/enable 1
        reported_change events/raw_syscalls/sys_enter/enable 1 0 true
        calls 20 1000
        echo 0 >"$EVENT/filter"
        reads events/raw_syscalls/sys_enter/filter 'id >= 1000 && id <= 1001'
        reported_change events/raw_syscalls/sys_enter/filter 'id >= 1000 && id <= 1001' none true
        reads events/raw_syscalls/sys_enter/enable 1
        # What came without a filter is read, or there would be no room.
        within 30 drained || fail "its reader does not come after: $(ktracectl --json status box)"
        calls 30 1001
        ktracectl destroy box
        wait "$BACKGROUND" || true
        same '30 30' "$(has t.kts 1000) $(has t.kts 1001)" "calls outside the gaps"
        same 2 "$(n_reported)" "changes that were reported: $(cat reported)"
        same true "$(jq -s 'all(.[] | select(.kind == "interference"); ."until-nsec" > ."from-nsec" and
                ."until-nsec" - ."from-nsec" < 20000000000)' reported)" "gaps"
        ktracectl convert t.kts --to json | jq -r 'select(.event == "print") | .fields.buf' >marks
        grep -q 'ktraced: interference: events/raw_syscalls/sys_enter/enable was 1, became 0, put back' marks ||
                fail "$(cat marks)"
        same 2 "$(grep -c 'changes by others' marks)" "gaps in the stream"
        ktracectl convert t.kts --to json |
                jq -es '[.[].statistics // empty][0] | .interference == 2 and ."interference-nsec" > 0' >/dev/null ||
                fail "statistics: $(ktracectl convert t.kts --to json | grep statistics)"
}

case_interference_files() { # [asan] changed tracing, clock, size, overwriting and CPUs of an instance are soon restored
        trap interference_end EXIT
        local size
        watched
        size=$(cat "$BOX/buffer_size_kb")
        echo 0 >"$BOX/tracing_on"
        reads tracing_on 1
        reported_change tracing_on 1 0 true
        echo 16 >"$BOX/buffer_size_kb"
        reads buffer_size_kb "$size"
        within 20 grep -q '"file":"buffer_size_kb"' reported || fail "not reported: $(cat reported)"
        reported_change buffer_size_kb "$size" \
                "$(jq -rs 'map(.changes[]? | select(.file == "buffer_size_kb"))[0].is' reported)" \
                true
        echo 1 >"$BOX/options/overwrite"
        reads options/overwrite 0
        echo global >"$BOX/trace_clock"
        within 8 grep -q '\[mono\]' "$BOX/trace_clock" || fail "$(cat "$BOX/trace_clock")"
        reported_change trace_clock mono global true
        echo 1 >"$BOX/tracing_cpumask"
        reported_change tracing_cpumask 'all CPUs' others true
        calls 7 1000
        same true "$(ktracectl --json=short show box | jq '.statistics.interference >= 5')" "statistics"
        same running "$(ktracectl --json=short show box | jq -r .state)" "state"
        ktracectl destroy box
}

case_interference_emptied() { # a buffer that another program empties cannot be restored; it is reported
        trap interference_end EXIT
        watched --mode flight
        calls 10 1000
        : >"$BOX/trace"
        reported_change trace 'what was recorded' emptied false
        calls 3 1000
        expect 0 ktracectl snapshot box -o t.kts
        same 3 "$(has t.kts 1000)" "calls since"
        same 1 "$(n_reported)" "changes that were reported: $(cat reported)"
        ktracectl clear box
        sleep 1
        same 1 "$(n_reported)" "changes, also after our own clearing: $(cat reported)"
        ktracectl destroy box
}

case_interference_others_events() { # [deep] events that another program turns on in a session are turned off again
        trap interference_end EXIT
        watched
        ktracectl stream box --notify >text 2>text.err &
        started+=("$!")
        within 30 grep -q waiting text.err || fail "$(cat text.err)"
        echo 1 >"$BOX/events/sched/sched_switch/enable"
        within 30 grep -qx 0 "$BOX/events/sched/sched_switch/enable" || fail "still on"
        reported_change events/sched/sched_switch/enable 0 1 true
        within 20 grep -q ' change="events/sched/sched_switch/enable" was="0" is="1"' text || fail "$(cat text)"
        echo 1 >"$BOX/events/sched/enable"
        echo 0 >"$EVENT/enable"
        within 8 grep -qx 0 "$BOX/events/sched/enable" || fail "still on"
        ktracectl destroy box
}

case_interference_trigger() { # a trigger that another program removes is installed again
        trap interference_end EXIT
        watched --trigger 'raw_syscalls:sys_enter if id == 1001 do stop'
        grep -q traceoff "$EVENT/trigger" || fail "no trigger: $(cat "$EVENT/trigger")"
        calls 4 1000
        echo '!traceoff' >"$EVENT/trigger"
        within 8 grep -q traceoff "$EVENT/trigger" || fail "not installed again: $(cat reported)"
        reported_change events/raw_syscalls/sys_enter/trigger "the session's triggers" others true
        calls 1 1001
        reads tracing_on 0
        ktracectl destroy box
}

case_interference_war() { # [deep] a program that undoes every repair ends the session, with the reason
        trap interference_end EXIT
        watched
        (while [ -e "$EVENT/enable" ]; do echo 0 2>/dev/null >"$EVENT/enable"; sleep 0.01; done) &
        started+=("$!")
        within 70 nobody || fail "the session continues: $(tail -n 2 reported)"
        grep -q 'repeatedly changed its instance' reported || fail "$(tail -n 2 reported)"
        within 10 no_instance || fail "the instance is left"
}

case_interference_code() { # the stream of a user's session that interference ended gives this reason
        trap interference_end EXIT
        recording user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- "$TARGET" until stop 2000
        echo 0 >"$(echo "$TRACEFS"/instances/ktrace-*/events/raw_syscalls/sys_enter/enable)"
        : >stop
        wait "$RECORDING" || true
        same interference "$(ktracectl report --receipt t.kts | grep -o 'code: .*' | cut -d' ' -f2)" \
                "how the stream ends"
}

case_interference_own() { # ktraced never reports its own changes as interference
        trap interference_end EXIT
        watched
        local i
        for i in 1 2 3; do
                ktracectl set box raw_syscalls:sys_enter off
                ktracectl set box raw_syscalls:sys_enter on
                ktracectl set box buffer-kb $((64 * i))
                ktracectl stop box
                ktracectl clear box
                ktracectl start box
        done
        sleep 1
        same 0 "$(n_reported)" "changes that were reported: $(cat reported)"
        ktracectl destroy box
}

case_interference_borrowed() { # changes by the owner of a borrowed instance are reported and kept
        trap interference_end EXIT
        FOREIGN=$TRACEFS/instances/case-interference-$$
        mkdir "$FOREIGN"
        ktracectl create box --scope system --instance "${FOREIGN##*/}" -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl --json stream box --notify >reported 2>reported.err &
        started+=("$!")
        within 30 grep -q waiting reported.err || fail "$(cat reported.err)"
        ktracectl start box
        BOX=$FOREIGN
        sleep 0.3
        echo 0 >"$BOX/events/raw_syscalls/sys_enter/enable"
        reported_change events/raw_syscalls/sys_enter/enable 1 0 false
        sleep 0.5
        same 0 "$(cat "$BOX/events/raw_syscalls/sys_enter/enable")" "the event"
        same 1 "$(n_reported)" "changes that were reported: $(cat reported)"
        rmdir "$FOREIGN" 2>/dev/null && fail "it could be removed" || true
        ktracectl destroy box
}
