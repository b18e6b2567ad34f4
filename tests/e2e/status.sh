# SPDX-License-Identifier: LGPL-2.1-or-later
# Status: the resources that ktraced uses, and the limits.

status_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}
has_worker() { "$@" --json=short status | jq -e '.daemon.consumers | length == 1 and .[0].pid > 0'; }

case_status_resources() { # status shows memory, CPU time and buffers of the daemon and of each stream worker
        trap status_end EXIT
        local id pid
        recording user ktracectl record -q -e raw_syscalls:sys_enter -f 'id == 1000' -o t.kts -- sleep 80
        within 20 has_worker user ktracectl || fail "$(user ktracectl --json status)"
        id=$(user ktracectl list --json=short | jq -r '.[0].id')
        user ktracectl --json=short status | jq .daemon >daemon
        pid=$(jq .consumers[0].pid daemon)
        same "$(daemon_pid)" "$(jq .pid daemon)" "pid"
        same "$id" "$(jq -r .consumers[0].session daemon)" "session"
        grep -q consumer "/proc/$pid/stat" || fail "$pid is no worker: $(cat "/proc/$pid/stat")"
        same "1 1 1" "$(jq -r '"\(.sessions) \(.running) \(.streams)"' daemon)" "numbers"
        same true "$(jq '."memory-kb" > 1000 and ."memory-kb" < 50000 and .consumers[0]."memory-kb" > 500 and
                ."kernel-buffer-kb" > 0' daemon)" "sizes: $(cat daemon)"
        same "$pid" "$(user ktracectl --json=short show "$id" | jq '.statistics."worker-pid"')" \
                "worker in the statistics"
        user ktracectl status >out
        grep -q "worker $pid of $id" out || fail "$(cat out)"
        # Other users see nothing of it, root sees everything.
        same '0 []' "$(stranger ktracectl --json=short status | jq -rc '"\(.daemon.sessions) \(.daemon.consumers)"')" \
                "a stranger's"
        same 1 "$(ktracectl --json=short status | jq '.daemon.consumers | length')" "root's"
}

totals() { ktracectl --json=short status | jq "[.daemon.totals | $1] | add"; } # EXPRESSION
lost_of() { ktracectl --json=short show "$1" | jq .statistics.lost; }

case_status_totals() { # status counts sessions, their ends, refused calls, lost events and failed workers of all users
        trap 'rm -f "$CONFIG_DIR/policy.d/10-case.json"; ktracectl policy reload; status_end' EXIT
        local created ended denied failed lost before worker
        created=$(totals '."sessions-created"')
        ended=$(totals '."sessions-ended".destroyed, ."sessions-ended".stopped')
        denied=$(totals '."calls-denied"')
        failed=$(totals '."consumers-failed"')
        lost=$(totals .lost)
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -f 'id == 1000' -o t.kts -- "$TARGET" calls 5 1000
        same $((created + 1)) "$(totals '."sessions-created"')" "sessions"
        same $((ended + 1)) "$(totals '."sessions-ended".destroyed, ."sessions-ended".stopped')" "ends"
        [ "$(totals '."written-bytes"')" -gt 100 ] || fail "$(ktracectl --json status)"
        expect 3 user ktracectl create bad --scope own -e sched:nosuch
        same $((denied + 1)) "$(totals '."calls-denied"')" "denied calls"
        # Nothing reads this session.
        ktracectl create full --scope system -b 64 -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start full
        "$TARGET" calls 20000 1000
        ktracectl stop full
        [ "$(totals .lost)" -gt "$lost" ] || fail "no loss: $(ktracectl --json status)"
        same "$(totals .lost)" "$((lost + $(lost_of full)))" "lost events"
        # A buffer that was cleared counts from 0 again.
        ktracectl start full
        "$TARGET" calls 20000 1000
        before=$(lost_of full)
        ktracectl clear full
        "$TARGET" calls 5000 1000
        ktracectl stop full
        [ "$(lost_of full)" -gt 0 ] || fail "no loss after a clear"
        same "$(totals .lost)" "$((lost + before + $(lost_of full)))" "lost events, also after a clear"
        ktracectl destroy full
        recording ktracectl record -q -a -e raw_syscalls:sys_enter -f 'id == 1000' -o u.kts -- sleep 80
        within 20 has_worker ktracectl || fail "$(ktracectl --json status)"
        worker=$(ktracectl --json=short status | jq .daemon.consumers[0].pid)
        same '1 1 1' "$(totals '"\(.sessions) \(.running) \(.consumers)"' | jq -r .)" "in use"
        kill -KILL "$worker"
        has_failed() { [ "$(totals '."consumers-failed"')" = $((failed + 1)) ]; }
        within 20 has_failed || fail "$(ktracectl --json status)"
        # Who may trace all processes gets them, and nobody else.
        same null "$(user ktracectl --json=short status | jq .daemon.totals)" "a user's"
        mkdir -p "$CONFIG_DIR/policy.d"
        jq -n --argjson uid "$USER_UID" '{rules: [{name: "all", subjects: [{uid: $uid}], scopes: ["system"],
                processes: "any", events: ["sched:*"]}]}' >"$CONFIG_DIR/policy.d/10-case.json"
        chmod 644 "$CONFIG_DIR/policy.d/10-case.json"
        ktracectl policy reload
        same true "$(user ktracectl --json=short status | jq '.daemon.totals."sessions-created" > 1')" "an agent's"
        user ktracectl status | matches -E '^Since it started, for all users: [0-9,]+ sessions created, ' ||
                fail "$(user ktracectl status)"
        same null "$(stranger ktracectl --json=short status | jq .daemon.totals)" "a stranger's"
}

case_status_title() { # ps shows the session id of each stream worker and nothing else
        trap status_end EXIT
        local id pid
        recording user ktracectl record -q -e raw_syscalls:sys_enter -f 'id == 1000' -o t.kts -- sleep 80
        within 20 has_worker user ktracectl || fail "$(user ktracectl --json status)"
        id=$(user ktracectl list --json=short | jq -r '.[0].id')
        pid=$(user ktracectl --json=short status | jq .daemon.consumers[0].pid)
        same "ktrace-consumer: $id" "$(tr -d '\0' <"/proc/$pid/cmdline")" "title"
}

case_status_told() { # status shows limits, and for a session its size on disk and interference
        trap 'ktracectl spool remove disk; leave_case' EXIT
        local id
        id=$(ktracectl create disk --spool --scope system -e sched:sched_process_exec)
        ktracectl start disk
        ktracectl status >out
        grep -q '^You see 1 session, 1 of them running, 1 stream; ' out || fail "$(cat out)"
        same 1 "$(sed -n 's/  used: [0-9]*$//; /^  max-/p' out | awk '{ print length }' | sort -u | wc -l)" \
                "widths of the limits: $(cat out)"
        grep -Eq '^  max-sessions-per-uid +8  used: 1$' out || fail "$(cat out)"
        grep -q '^Limits of users; for root only the totals apply:$' out || fail "$(cat out)"
        ! grep -q 'costs every process time' out || fail "root sees the cost of a fence: $(cat out)"
        stranger ktracectl status >out
        grep -q '^Your limits and their use:$' out || fail "$(cat out)"
        echo 0 >"$TRACEFS/instances/ktrace-$id/tracing_on"
        reported() { ktracectl status disk | grep '^Interference: 1 change by others, for [0-9]*\.'; }
        within 20 reported || fail "$(ktracectl status disk)"
        ktracectl status disk >out
        grep -Eq '^ +Spool: recording, .* in [01] files?$' out || fail "$(cat out)"
        grep -Eq '^ +Worker: process [0-9]+, [0-9.]+ MB of memory, [0-9.]+ s of CPU time$' out || fail "$(cat out)"
        ! grep -q Stream: out || fail "$(cat out)"
        ktracectl create rec --mode flight -a -e sched:sched_process_exec \
                --off --trigger 'sched:sched_process_fork do enable sched:sched_process_exec times 3'
        ktracectl show rec >out
        ktracectl destroy rec
        grep -q '^ *Mode: flight$' out || fail "$(cat out)"
        grep -q '^ *Triggers: sched:sched_process_fork do enable sched:sched_process_exec times 3$' out ||
                fail "$(cat out)"
        ! grep -q Stream: out || fail "$(cat out)"
        ktracectl destroy disk
}
