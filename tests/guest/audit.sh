# SPDX-License-Identifier: LGPL-2.1-or-later
# The journal's record of each decision. The ids are those of daemon/work/audit.h.

ALLOWED=a4b27a71ac4a471abbd6b797664a68e2
DENIED=1a8c2326fa374af3aa43d7faa482a3fb
POLKIT_DENIED=2e615a533d3f4358ab58ba69afdfdab1
RELOADED=05180567933a4fe29b54b55165b8f5ab
RELOAD_FAILED=ad86665a36a34ed59ea71817fc7dd3d6
ENDED_POLICY=3dd54906772141148a894f392511252c
ENDED_LIMIT=65ec838ec53c4c2ca0084f4620077dd3
ENDED_FAILED=0e593054b3ff4b1bb099cf4d0da57ee5
HIT=0d33d293a5e74c82b86f1f19d8d61e28
LOST=af5e1857ec504b488ba99ddc12da2242
SUPPRESSED=5f32393c72334a3d9266e1ddecd690e9

AUDIT_RULES=/etc/ktrace/policy.d/10-audit.json

# A cursor does not work: with a match journalctl leaves out the first record after it.
audit_begin() { date +@%s.%6N >since; }
# records ID: prints the records of this case as JSON lines.
records() { journalctl -q --no-pager --since="$(cat since)" -o json "MESSAGE_ID=$1"; }
record() { # ID: the only one, into `record`
        within 20 sh -c "journalctl -q --no-pager --since=\$(cat since) MESSAGE_ID=$1 | grep -q ." ||
                fail "no record $1"
        records "$1" >record
        same 1 "$(wc -l <record)" "records"
}
# Puts a rule of this case into force.
audit_rule() {
        mkdir -p "${AUDIT_RULES%/*}"
        trap 'rm -f "$AUDIT_RULES"; systemctl reload-or-restart ktraced.service; leave_case' EXIT
        echo "{\"rules\": [$1]}" >"$AUDIT_RULES"
        systemctl reload-or-restart ktraced.service
}
has() { # FIELD VALUE
        same "$2" "$(jq -r ".$1" record)" "$1"
}

case_audit_allowed() { # the journal records who was allowed what, and by which rule
        audit_begin
        user ktracectl create reported -e raw_syscalls:sys_enter -e task:task_rename --scope own
        id=$(session_id reported)
        record $ALLOWED
        has KTRACE_UID "$USER_UID"
        has KTRACE_SESSION "$id"
        has KTRACE_VERB create
        has KTRACE_ANSWER allowed
        has KTRACE_RULE '50-default.json: own-processes'
        has KTRACE_SCOPE own
        has KTRACE_EVENTS 'raw_syscalls:sys_enter, task:task_rename'
        has KTRACE_USER "$(id -nu "$USER_UID")"
        has KTRACE_COMMAND ktracectl
        has _SYSTEMD_UNIT ktraced.service
        user ktracectl destroy reported
        # The explanation in the journal's catalog.
        journalctl -q --no-pager -x --since="$(cat since)" MESSAGE_ID=$ALLOWED |
                grep -q "User $(id -nu "$USER_UID") was allowed to trace" ||
                fail "not in the catalog"
}

case_audit_denied_process() { # [smoke] tracing another user's process is recorded as denied, and not as allowed before
        audit_begin
        expect 3 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -p 1
        within 20 sh -c "journalctl -q --no-pager --since=$(cat since) -t ktraced | grep -q 'process 1 is not yours'" ||
                fail "no denial"
        same '' "$(records $ALLOWED)" "allowed"
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- true
        record $ALLOWED
}

case_audit_denied() { # [deep] the journal records who was denied what, and why
        audit_rule \
                "{\"name\": \"never\", \"deny\": true, \"subjects\": [{\"uid\": $STRANGER_UID}], \"scopes\": [\"own\"]}"
        audit_begin
        expect 3 stranger ktracectl create x -e task:task_rename --scope own
        record $DENIED
        has KTRACE_UID "$STRANGER_UID"
        has KTRACE_VERB create
        has KTRACE_ANSWER denied
        has KTRACE_SCOPE own
        has KTRACE_EVENTS 'task:task_rename'
        jq -r .MESSAGE record | matches '10-audit.json: never' || fail "$(jq -r .MESSAGE record)"
}

case_audit_command() { # a record contains the caller's command name, which cannot forge another record
        cp "$(command -v ktracectl)" $'x") allowed\n(\033'
        audit_rule "{\"name\": \"never\", \"deny\": true, \"subjects\": [{\"uid\": $USER_UID}], \"scopes\": [\"own\"]}"
        audit_begin
        expect 3 user ./$'x") allowed\n(\033' create x -e task:task_rename --scope own
        record $DENIED
        has KTRACE_COMMAND 'x\x22) allowed\x0a(\x1b'
        has KTRACE_USER "$(id -nu "$USER_UID")"
        jq -r .MESSAGE record |
                grep -qF "(user $(id -nu "$USER_UID"), uid $USER_UID, command \"x\\x22) allowed\\x0a(\\x1b\")" ||
                fail "$(jq -r .MESSAGE record)"
}

case_audit_polkit() { # the journal records polkit's answer and the rule that asked
        audit_begin
        # A call that does not let polkit ask decides nothing.
        expect 3 user ktracectl --no-ask-password create x -e irq:irq_handler_entry --scope system
        # ktracectl calls once without and once with polkit's question: one refusal is one record.
        expect 3 user setsid ktracectl create x -e irq:irq_handler_entry --scope system
        record $POLKIT_DENIED
        has KTRACE_USER "$(id -nu "$USER_UID")"
        has KTRACE_COMMAND ktracectl
        has KTRACE_UID "$USER_UID"
        has KTRACE_ANSWER denied
        has KTRACE_EVENTS 'irq:irq_handler_entry'
        has KTRACE_SCOPE system
        has KTRACE_RULE '50-default.json: administrators-yes'
}

case_audit_flood() { # [deep] a user who is denied again and again does not fill the journal
        audit_rule \
                "{\"name\": \"never\", \"deny\": true, \"subjects\": [{\"uid\": $STRANGER_UID}], \"scopes\": [\"own\"]}"
        audit_begin
        for _ in $(seq 15); do
                stranger busctl call org.ktrace1 /org/ktrace1 org.ktrace1.Manager CreateSession 'a{sv}' 2 \
                        scope s own events as 1 task:task_rename 2>/dev/null &
        done
        wait
        journalctl --sync
        n=$(records $DENIED | wc -l)
        # Earlier cases of the same half minute may have written some.
        [ "$n" -le 10 ] && [ "$n" -ge 7 ] || fail "$n records"
        within 70 sh -c "journalctl -q --no-pager --since=\$(cat since) MESSAGE_ID=$SUPPRESSED | grep -q ." ||
                fail "not counted"
        records $SUPPRESSED >record
        grep -q "more denials of uid $STRANGER_UID" record || fail "$(cat record)"
}

case_audit_lost() { # the first loss of a session and the sum at its end are recorded, and not each loss
        local lost
        audit_begin
        ktracectl create lossy -a -b 64 -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start lossy
        "$TARGET" calls 100000 1000
        record $LOST
        has KTRACE_VERB lost
        for _ in 1 2 3; do
                "$TARGET" calls 20000 1000
                sleep 0.3
        done
        same 1 "$(records $LOST | wc -l)" "records while it loses events"
        ktracectl stop lossy
        lost=$(ktracectl --json=short show lossy | jq .statistics.lost)
        ktracectl destroy lossy
        within 20 sh -c "journalctl -q --no-pager --since=$(cat since) MESSAGE_ID=$LOST KTRACE_LOST=$lost |
                grep -q ." || fail "no record of $lost"
        same 2 "$(records $LOST | wc -l)" "records in all"
        journalctl -q --no-pager -x --since="$(cat since)" MESSAGE_ID=$LOST | matches "has lost $lost events" ||
                fail "not in the catalog"
}

case_audit_hit() { # the first hit of a notify trigger and the sum at the end are recorded, and not each hit
        audit_begin
        echo '{"triggers": [{"when": "raw_syscalls:sys_enter if id == 1000", "do": "notify"}]}' >alarm.json
        ktracectl create alarm -a --spec alarm.json
        ktracectl start alarm
        "$TARGET" calls 1 1000
        record $HIT
        has KTRACE_HITS 1
        for _ in 1 2 3; do
                "$TARGET" calls 20 1000
                sleep 0.3
        done
        same 1 "$(records $HIT | wc -l)" "records while it is hit"
        ktracectl destroy alarm
        within 20 sh -c "journalctl -q --no-pager --since=$(cat since) MESSAGE_ID=$HIT KTRACE_HITS=61 | grep -q ." ||
                fail "no record of 61: $(records $HIT)"
        same 2 "$(records $HIT | wc -l)" "records in all"
        journalctl -q --no-pager -x --since="$(cat since)" MESSAGE_ID=$HIT | matches "were hit 61 times" ||
                fail "not in the catalog"
}

case_audit_failed() { # a session that ends because its stream worker has died is recorded as failed
        audit_begin
        echo '{"scope": "system", "spool": {"max-bytes": 2097152}}' >disk.json
        ktracectl create disk --spec disk.json -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start disk
        kill -KILL "$(ktracectl --json=short status | jq -e '.daemon.consumers[0].pid')"
        record $ENDED_FAILED
        has KTRACE_ANSWER failed
        ktracectl spool remove disk
}

case_audit_reload() { # the journal records new rules, broken rules and the sessions that they end
        user ktracectl create ends -e raw_syscalls:sys_enter --scope own
        id=$(session_id ends)
        audit_begin
        ! audit_rule '{"nome": 1}' 2>err || fail "reloaded"
        record $RELOAD_FAILED
        jq -r .MESSAGE record | matches '10-audit.json: rules\[0\].nome' || fail "$(cat record)"
        systemctl is-active -q ktraced.service || fail "it has ended"
        audit_begin
        audit_rule "{\"name\": \"never\", \"deny\": true, \"subjects\": [{\"uid\": $USER_UID}], \"scopes\": [\"own\"]}"
        record $RELOADED
        record $ENDED_POLICY
        has KTRACE_SESSION "$id"
        has KTRACE_UID "$USER_UID"
        jq -r .MESSAGE record | matches '10-audit.json: never' || fail "$(cat record)"
}

case_audit_limit() { # [deep] the journal records a session that a limit has ended
        trap 'mv before.json /etc/ktrace/ktraced.json; systemctl reload-or-restart ktraced.service; leave_case' EXIT
        cp /etc/ktrace/ktraced.json before.json
        jq '."max-event-rate" = 100' before.json >/etc/ktrace/ktraced.json
        systemctl reload-or-restart ktraced.service
        audit_begin
        ! user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- "$TARGET" paced 8000 1000 2>err ||
                fail "the session continued"
        record $ENDED_LIMIT
        has KTRACE_UID "$USER_UID"
        jq -r .MESSAGE record | matches max-event-rate || fail "$(cat record)"
}
