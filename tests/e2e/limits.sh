# SPDX-License-Identifier: LGPL-2.1-or-later
# Limits of sessions, and their cost.
GETPPID=110

# limit KEY VALUE: sets a limit for new sessions, until the end of the case.
limit() {
        cp "$CONFIG_DIR/ktraced.json" before.json
        trap limit_end EXIT
        jq --arg key "$1" --argjson value "$2" '.[$key] = $value' before.json >"$CONFIG_DIR/ktraced.json"
        ktracectl policy reload
}
limit_end() {
        cat before.json >"$CONFIG_DIR/ktraced.json"
        ktracectl policy reload || true
        leave_case
}

case_limit_rate() { # [asan] a session that records more than its limit ends; the reason and the cost are reported
        limit max-event-rate 2000
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -o cool.kts -- "$TARGET" paced 400 5000
        same 400 "$(count cool.kts ".fields.id == $GETPPID")" "calls"
        # The calls go on until the limit is reported.
        background user ktracectl record -q -e raw_syscalls:sys_enter -o hot.kts -- \
                sh -c "while [ ! -e over ] && kill -0 \$PPID; do $TARGET calls 20000 $GETPPID; done"
        local reported='more than the 2000 a second that are allowed \(max-event-rate\): it recorded [0-9]+'
        within 30 grep -qE "$reported, which took about [0-9]+ ms" background.err ||
                fail "$(cat background.err)"
        touch over
        ! wait "$BACKGROUND" || fail "the session continued"
        within 30 no_instance || fail "the instance is still there"
        # root is not limited.
        ktracectl record -q -e raw_syscalls:sys_enter -o /dev/null -- "$TARGET" calls 100000 $GETPPID
}

case_limit_stream() { # events beyond the stream's byte rate are dropped, counted and reported
        limit max-stream-bytes-per-sec 100000
        status=0
        user ktracectl record -e raw_syscalls:sys_enter -b 8192 -o t.kts -- "$TARGET" calls 200000 $GETPPID 2>err ||
                status=$?
        n=$(count t.kts true)
        [ "$n" -gt 100 ] || fail "nothing is left: $n"
        [ "$n" -lt 100000 ] || fail "nothing was cut: $n"
        lost=$(ktracectl convert t.kts --to json | jq -s 'map(select(.lost != null) | .lost) | add')
        # The program also makes some calls before and after these.
        [ $((n + lost)) -ge 200000 ] && [ $((n + lost)) -lt 201000 ] || fail "$n reported, $lost lost"
        grep -q 'lost' err || fail "not reported: $(cat err)"
}

case_limit_events() { # the limit max-events-per-uid counts the events of all sessions of a user
        limit max-events-per-uid 3
        expect 0 user ktracectl create one --scope own -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit
        refused 1 'max-events-per-uid' user ktracectl create two --scope own -e raw_syscalls:sys_enter \
                -e raw_syscalls:sys_exit
        expect 0 stranger ktracectl create two --scope own -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit
        expect 0 user ktracectl status
        grep -q 'have 2 events' out || fail "$(cat out)"
        user ktracectl destroy one
        stranger ktracectl destroy two
}

case_limit_cost() { # status and show report what a running session costs other processes
        user ktracectl create reported --scope own -e raw_syscalls:sys_enter
        expect 0 user ktracectl status reported
        local cost='about 0.0 ms of CPU time of the processes that it records, and up to 45 ns for each hit'
        grep -qE "Costs: $cost of its 1 event in any process\$" out || fail "$(cat out)"
        user ktracectl show reported |
                grep -q 'every process of this machine spends about 36 to 45 ns on each hit of its 1 event' ||
                fail "no note"
        user ktracectl destroy reported
}

case_limit_call_time() { # [deep] calls of a user who has used up the daemon's time are delayed, not refused
        jq -cn '{scope: "own", events: [{name: "syscalls:*", filter: "common_pid == 1"}]}' >spec.json
        limit max-call-usec-per-sec 10000
        for _ in $(seq 6); do
                expect 0 user ktracectl policy explain spec.json
        done
}

case_limit_calls() { # a user with too many unanswered calls gets an error at once for the next ones
        limit max-calls-per-uid 1
        # On a slow machine the calls may arrive one after the other.
        for round in 1 2 3 4 5; do
                callers=()
                for i in 1 2 3 4 5 6 7 8; do
                        AS_EXEC=exec user ktracectl create "n$i" --scope own -e raw_syscalls:sys_enter >"answer.$i" \
                                2>&1 &
                        callers+=($!)
                done
                for pid in "${callers[@]}"; do wait "$pid" || true; done
                refused=$(cat answer.* | grep -c 'calls of yours wait for their answer (max-calls-per-uid)') || true
                made=$(user ktracectl list --json=short | jq length)
                [ "$made" -ge 1 ] || fail "none was made: $(cat answer.*)"
                same 8 $((made + refused)) "made and refused"
                for i in 1 2 3 4 5 6 7 8; do user ktracectl destroy "n$i" 2>/dev/null || true; done
                [ "$refused" = 0 ] || return 0
        done
        fail "none was refused in $round rounds"
}

case_limit_destroyed() { # a destroyed session counts until its instance is gone, and records nothing more
        limit max-sessions-per-uid 2
        local id reader # of the held session
        background user setpriv --no-new-privs sh -c "while :; do $TARGET calls 10 $GETPPID; done"
        expect 0 user ktracectl create held --scope "pids:$BACKGROUND" -e raw_syscalls:sys_enter
        id=$(session_id held)
        expect 0 user ktracectl start held
        AS_EXEC=exec user ktracectl stream held -o - --to kts >held.kts &
        reader=$!
        started+=("$reader")
        within 20 test -s held.kts || fail "no stream"
        # rmdir fails while this file is open.
        exec 8<"$TRACEFS/instances/ktrace-$id/tracing_on"
        expect 0 user ktracectl destroy held
        [ -d "$TRACEFS/instances/ktrace-$id" ] || fail "the instance could be removed"
        # The calls go on. The ring is empty and stays empty, and the reader gets the end of the stream.
        same 0 "$(ring_entries "$id")" "events in the ring"
        sleep 0.3
        same 0 "$(ring_entries "$id")" "events in the ring after more calls"
        wait "$reader" || fail "status $? of the reader"
        refused 1 'NoSuchSession|no session' user ktracectl stream "$id" -o late.kts
        same '[]' "$(user ktracectl list --json=short)" "the list"
        # The name is free, the room is not. Two sessions at most exist in the loop, counting the held one.
        for _ in 1 2 3 4 5; do
                expect 0 user ktracectl create held --scope own -e raw_syscalls:sys_enter
                n_instances 2 || fail "$(instances) instances"
                refused 1 'max-sessions-per-uid' user ktracectl create more --scope own -e raw_syscalls:sys_enter
                expect 0 user ktracectl destroy held
        done
        exec 8<&-
        within 20 no_instance || fail "it was not tried again"
}

# ring_entries ID: prints the number of events in the rings of the session.
ring_entries() {
        awk '$1 == "entries:" { n += $2 } END { print n + 0 }' "$TRACEFS/instances/ktrace-$1"/per_cpu/cpu*/stats
}

case_limit_next() { # a user at the limit who destroys a session can create the next one at once
        limit max-sessions-per-uid 1
        for _ in 1 2 3 4 5 6 7 8; do
                expect 0 user ktracectl create next --scope own -e raw_syscalls:sys_enter
                expect 0 user ktracectl destroy next
        done
}
