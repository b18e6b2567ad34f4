# SPDX-License-Identifier: LGPL-2.1-or-later
# Probes that are made of events: what they record is what the events told, to those who have these.

event_probes() { # the rest of the case is for kernels that have them
        ktracectl probes add tried --event sched:sched_switch next_pid 2>err || skip "this kernel has no event probes: $(cat err)"
        ktracectl probes remove tried
}

# refuses_field COLUMN PATTERN EVENT ARG: not defined; the reason and a caret below the place.
refuses_field() {
        local column=$1 pattern=$2
        expect 2 ktracectl probes add bad --event "$3" -- "$4"
        head -n 1 err | grep -qE -- "$pattern" || fail "no '$pattern': $(cat err)"
        same "$(printf '%*s^' $((column + 1)) '')" "$(tail -n 1 err)" "the caret below $4"
}

case_event_probe_mistakes() { # each is told with its place, also on kernels without
        refuses_field 1 'sched_switch has no field next_pod: did you mean next_pid' sched:sched_switch next_pod
        refuses_field 1 'common_pid' sched:sched_switch common_pid
        refuses_field 13 'next_comm is text' sched:sched_switch 'next_comm : u8'
        refuses_field 1 'the kernel takes numbers and text' raw_syscalls:sys_enter args
        refused 1 'did you mean sched:sched_switch' ktracectl probes add bad --event sched:sched_swich next_pid
        refused 1 'no such event' ktracectl probes add bad --event no:such_event x
        refused 2 'SYSTEM:EVENT is wanted' ktracectl probes add bad --event sched_switch next_pid
        refused 2 'SYSTEM:EVENT is wanted' ktracectl probes add bad --event 'sched:*' next_pid
        refused 2 'is a probe itself' ktracectl probes add bad --event ktrace_u0:other x
        refused 2 'stands alone' ktracectl probes add bad --event sched:sched_switch --on vfs_read next_pid
        refused 2 'an event returns nothing' ktracectl probes add bad --event sched:sched_switch --return next_pid
        ! ktracectl --json probes list | grep -q '"bad"' || fail "something is defined"
}

case_event_probe_values() { # numbers, text in the record, text of the program: the same as the event and the program say
        event_probes
        ktracectl probes add mine --event syscalls:sys_enter_openat 'name = filename : user' dfd 'flags : x32' '$comm'
        ktracectl probes add gone --event sched:sched_process_exit 'who = pid' comm
        echo text >a-file
        expect 0 ktracectl record -q --probe mine --probe gone -e sched:sched_process_exit -o t.kts -- cat a-file
        same 1 "$(count t.kts '.event == "mine" and .fields.name == "a-file" and .fields.dfd == -100 and .fields.comm == "cat"')" "opens of a-file"
        same 1 "$(count t.kts '.event == "gone" and .fields.comm == "cat" and .fields.who == .pid')" "ends of cat"
        same "$(ktracectl convert t.kts --to json | jq -c 'select(.event == "sched_process_exit") | [.fields.pid, .fields.comm]')" \
                "$(ktracectl convert t.kts --to json | jq -c 'select(.event == "gone") | [.fields.who, .fields.comm]')" "the probe beside its event"
        expect 0 ktracectl record -q --probe mine -f 'name == "a-file"' -o f.kts -- cat a-file
        ktracectl report t.kts | grep -q 'mine: .* name="a-file" dfd=-100 flags=0x' || fail "$(ktracectl report t.kts)"
        ktracectl probes list -v >list
        grep -q 'e:ktrace_u0/mine syscalls.sys_enter_openat name=$filename:ustring' list || fail "$(cat list)"
        ktracectl probes remove mine
        ktracectl probes remove gone
        ! grep -q ktrace_u "$TRACEFS/dynamic_events" || fail "$(cat "$TRACEFS/dynamic_events")"
}

case_event_probe_of_users() { # to those who have the event, and of it what is not cut for them
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
                "$(ktracectl convert t.kts --to json | jq -c 'select(.event == "mine") | [.pid, .fields.id]')" "the probe beside its event"
        # Of the one that gets the processor they are told when it is theirs, which nobody could judge in a copy.
        same "ktrace_u$USER_UID:to" "$(user ktracectl probes add to --event sched:sched_switch next_pid)" "event"
        refused 3 'next_pid of sched:sched_switch is not granted whole' user ktracectl record --probe to -o /dev/null -- true
        user ktracectl probes remove to
        user ktracectl probes remove mine
}
