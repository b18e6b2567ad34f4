# SPDX-License-Identifier: LGPL-2.1-or-later
# What the journal has of each decision. The ids are those of daemon/session/audit.h.

ALLOWED=a4b27a71ac4a471abbd6b797664a68e2
DENIED=1a8c2326fa374af3aa43d7faa482a3fb
RELOADED=05180567933a4fe29b54b55165b8f5ab
RELOAD_FAILED=ad86665a36a34ed59ea71817fc7dd3d6
ENDED_POLICY=3dd54906772141148a894f392511252c
ENDED_LIMIT=65ec838ec53c4c2ca0084f4620077dd3
SUPPRESSED=5f32393c72334a3d9266e1ddecd690e9

audit_begin() { journalctl -q --no-pager -n 1 --show-cursor -o cat | sed -n 's/^-- cursor: //p' >cursor; }
# records ID: of this case, as JSON lines.
records() { journalctl -q --no-pager --after-cursor="$(cat cursor)" -o json "MESSAGE_ID=$1"; }
record() { # ID: the only one, into `record`
        within 10 sh -c "journalctl -q --no-pager --after-cursor=\"\$(cat cursor)\" MESSAGE_ID=$1 | grep -q ." || fail "no record $1"
        records "$1" >record
        same 1 "$(wc -l <record)" "records"
}
has() { # FIELD VALUE
        same "$2" "$(jq -r ".$1" record)" "$1"
}

case_audit_allowed() { # who was allowed what, by which rule
        audit_begin
        user ktracectl create told -e raw_syscalls:sys_enter -e task:task_rename --scope own
        id=$(session_id told)
        record $ALLOWED
        has KTRACE_UID "$USER_UID"
        has KTRACE_SESSION "$id"
        has KTRACE_VERB create
        has KTRACE_ANSWER allowed
        has KTRACE_RULE '50-default.json: own-processes'
        has KTRACE_SCOPE own
        has KTRACE_EVENTS 'raw_syscalls:sys_enter, task:task_rename'
        has _SYSTEMD_UNIT ktraced.service
        user ktracectl destroy told
        # And what the catalog has to say of it.
        journalctl -q --no-pager -x --after-cursor="$(cat cursor)" MESSAGE_ID=$ALLOWED | grep -q "User $USER_UID was allowed to trace" ||
                fail "not in the catalog"
}

case_audit_denied() { # who was denied what, and why
        audit_begin
        expect 3 stranger ktracectl create x -e sched:sched_switch --scope own
        record $DENIED
        has KTRACE_UID "$STRANGER_UID"
        has KTRACE_ANSWER denied
        has KTRACE_SCOPE own
        has KTRACE_EVENTS 'sched:sched_switch'
        grep -q 'sched:sched_switch: not granted' record || fail "$(jq -r .MESSAGE record)"
}

case_audit_flood() { # a user who is denied again and again fills no journal
        audit_begin
        for _ in $(seq 15); do
                stranger busctl call org.ktrace1 /org/ktrace1 org.ktrace1.Manager CreateSession 'a{sv}' 2 \
                        scope s own events as 1 sched:sched_switch 2>/dev/null &
        done
        wait
        sleep 1
        n=$(records $DENIED | wc -l)
        # One may have been written by the case before, of the same half minute.
        [ "$n" -le 10 ] && [ "$n" -ge 9 ] || fail "$n records"
        within 50 sh -c "journalctl -q --no-pager --after-cursor=\"\$(cat cursor)\" MESSAGE_ID=$SUPPRESSED | grep -q ." || fail "not counted"
        records $SUPPRESSED >record
        grep -q "more denials of uid $STRANGER_UID" record || fail "$(cat record)"
}

case_audit_reload() { # new rules, broken rules, and whom they end
        rules=/etc/ktrace/policy.d/10-audit.json
        mkdir -p "${rules%/*}"
        trap 'rm -f "$rules"; systemctl reload ktraced.service; leave_case' EXIT
        user ktracectl create ends -e raw_syscalls:sys_enter --scope own
        id=$(session_id ends)
        audit_begin
        echo '{"rules": [{"nome": 1}]}' >"$rules"
        ! systemctl reload ktraced.service 2>err || fail "reloaded"
        record $RELOAD_FAILED
        grep -q '10-audit.json: rules\[0\].nome' record || fail "$(cat record)"
        systemctl is-active -q ktraced.service || fail "it has ended"
        echo "{\"rules\": [{\"name\": \"never\", \"deny\": true, \"subjects\": [{\"uid\": $USER_UID}], \"scopes\": [\"own\"]}]}" >"$rules"
        systemctl reload ktraced.service
        record $RELOADED
        record $ENDED_POLICY
        has KTRACE_SESSION "$id"
        has KTRACE_UID "$USER_UID"
        grep -q '10-audit.json: never' record || fail "$(cat record)"
}

case_audit_limit() { # a session that was ended by a limit
        trap 'mv before.json /etc/ktrace/ktraced.json; systemctl reload ktraced.service; leave_case' EXIT
        cp /etc/ktrace/ktraced.json before.json
        jq '."max-event-rate" = 100' before.json >/etc/ktrace/ktraced.json
        systemctl reload ktraced.service
        audit_begin
        ! user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- "$TARGET" calls 1000000000 110 2>err || fail "it went on"
        record $ENDED_LIMIT
        has KTRACE_UID "$USER_UID"
        grep -q max-event-rate record || fail "$(cat record)"
}
