# SPDX-License-Identifier: LGPL-2.1-or-later
# The programs of libktrace(3): $EXAMPLES has them.

# agent SECONDS: in the background, the agent of the user. Returns when its session runs.
agent() {
        background user setpriv --no-new-privs "$EXAMPLES/agent" "$OWN_CALLS" "$1"
        within 20 is_running || fail "$(cat background.err)"
}
n_calls() { grep -c "NR 1000 (" background.out; }
has_calls() { [ "$(n_calls)" = "$1" ]; }

case_library_agent() { # libktrace(3), agent: a user gets each own call, and nothing of others
        calls_after user go
        calls_after stranger go
        agent 4
        touch go
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        same 70 "$(n_calls)" "calls of the user"
        same 70 "$(wc -l <background.out)" "lines"
        refused 1 'policy|polkit' user "$EXAMPLES/agent" '{"scope": "system", "events": ["sched:sched_switch"]}' 1
        refused 1 spec:1: user "$EXAMPLES/agent" '{"scope": "own", "events": "x"' 1
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

case_library_switches() { # libktrace(3), switches: a field by its handle, from .kts and .dat
        local tid
        ktracectl record -q -a -e sched:sched_switch -o t.kts -- sh -c 'for i in 1 2 3 4 5; do sleep 0.01; done'
        ktracectl convert t.kts -o t.dat
        tid=$(ktracectl report --json t.kts | jq -r 'select(.fields.next_comm == "sh").fields.next_pid' |
                sort | uniq -c | sort -n | awk 'END { print $2 }')
        for file in t.kts t.dat; do
                same "$(count t.kts ".fields.next_pid == $tid")" \
                        "$("$EXAMPLES/switches" $file "$tid" | awk '{ n += $3 } END { print n + 0 }')" "in $file"
        done
        ! "$EXAMPLES/switches" /etc/passwd 1 2>err || fail "no refusal"
        grep -q '^/etc/passwd: not a ktrace stream' err || fail "$(cat err)"
}

case_library_notices() { # libktrace(3), notices: a user gets what happens to a session of another program
        background user "$EXAMPLES/notices"
        within 30 has_seen_end || fail "$(cat background.out background.err)"
        same box "$(jq -r .name background.out | sort -u)" "the sessions"
}
# The watch begins when it can.
has_seen_end() {
        expect 0 stranger ktracectl create hidden -e raw_syscalls:sys_enter --scope own
        expect 0 stranger ktracectl destroy hidden
        expect 0 user ktracectl create box -e raw_syscalls:sys_enter --scope own
        expect 0 user ktracectl destroy box
        grep -q '"state":"gone"' background.out
}

case_library_killed() { # libktrace(3), agent: a killed daemon loses none of its records
        calls_after user go
        calls_after user again
        agent 60
        touch go
        within 20 has_calls 70 || fail "$(n_calls) calls"
        killed
        touch again
        if service_manager; then # it keeps the session for the next daemon
                within 20 has_calls 140 || fail "$(n_calls) calls after the restart"
        else
                within 40 has_ended || fail "the agent runs: $(cat background.err)"
                same 70 "$(n_calls)" calls
        fi
}
has_ended() { ! kill -0 "$BACKGROUND"; }

case_library_loops() { # libktrace(3): in each way to wait, a program learns of all states of its session
        for mode in calls poll attached bus own-bus fork; do
                expect 0 "$EXAMPLES/loops" $mode
                same 'starting running stopping stopped gone' \
                        "$(jq -r '.state | select(. != "configured")' out | xargs)" "states, $mode"
                same 'configured starting running stopping stopped ended gone' \
                        "$(jq -r '.state // .kind' err | xargs)" "what the watch has, $mode"
        done
}
