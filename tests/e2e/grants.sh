# SPDX-License-Identifier: LGPL-2.1-or-later
# Rules: which events and fields a user gets.
GETPPID=110

# member COMMAND...: runs the command as the user, with the group ktrace.
member() {
        local gid
        gid=$(getent group ktrace | cut -d: -f3)
        ${AS_EXEC:-} setpriv --reuid="$USER_UID" --regid="$USER_UID" --groups="$gid" env HOME="$T" USER="u$USER_UID" \
                "$@"
}

fields() { # FILE EVENT EXPRESSION: of each of its records, each value once
        ktracectl convert "$1" --to json | jq -r "select(.event == \"$2\") | .fields | $3" | sort -u
}

case_grant_switch() { # a user sees own sched_switch events; names of other tasks are hidden, also from filters
        expect 0 user ktracectl record -q -e sched:sched_switch -o t.kts -- "$TARGET" paced 50 5000
        own=$(basename "$TARGET")
        prints "^${own:0:15}\$" fields t.kts sched_switch .prev_comm ||
                fail "prev_comm: $(fields t.kts sched_switch .prev_comm)"
        # Before exec the command is ktracectl.
        fields t.kts sched_switch '.next_comm' | grep -vxE "|${own:0:15}|ktracectl|env|setpriv" >foreign || true
        same '' "$(cat foreign)" "names of others"
        same 0 "$(fields t.kts sched_switch 'select(.next_comm == "") | .next_pid')" "their pids"
        for filter in 'prev_pid == 1' 'next_pid == 1' 'common_pid == 1' 'CPU == 0' 'comm == "x"'; do
                expect 3 user ktracectl record -q -e sched:sched_switch -f "$filter" -o t.kts -- true
                grep -q 'can describe tasks that are not traced' err || fail "$filter: $(cat err)"
        done
        expect 3 user ktracectl record -q -e sched:sched_switch -e task:task_rename --where 'common_pid == 1' -o t.kts \
                -- true
}

case_grant_switch_back() { # [guest] the switch to an own task is shown, without the task that it takes the CPU from
        background stranger taskset -c 0 sh -c 'while :; do :; done'
        expect 0 user ktracectl record -q -e sched:sched_switch -o t.kts -- taskset -c 0 "$TARGET" paced 50 5000
        own=$(basename "$TARGET")
        ktracectl convert t.kts --to json | jq -c 'select(.event == "sched_switch" and .pid == 0)' >back
        [ "$(grep -c "\"next_comm\":\"${own:0:15}\"" back)" -ge 20 ] || fail "few switches: $(head -n 3 back)"
        same '"<hidden>"' "$(jq .comm back | sort -u)" "names"
        same '["",0,0,0]' "$(jq -c '.fields | [.prev_comm, .prev_pid, .prev_prio, .prev_state]' back | sort -u)" \
                "the tasks before"
        same next_pid "$(ktracectl report --receipt --json t.kts | jq -r '."also-of"."sched:sched_switch"')" receipt
        echo '{"scope": "own", "events": ["sched:sched_switch"]}' >spec.json
        prints 'also: records by others if next_pid is a traced task' user ktracectl policy explain spec.json ||
                fail "$(cat printed)"
}

case_grant_filter() { # a user can filter by visible fields
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -f "id == $GETPPID" -e raw_syscalls:sys_exit \
                -f "id == $GETPPID && ret >= 0" -o t.kts -- "$TARGET" calls 100 $GETPPID
        same 100 "$(count t.kts '.event == "sys_enter"')" "entries"
        same 100 "$(count t.kts '.event == "sys_exit"')" "exits"
        same $GETPPID "$(fields t.kts sys_enter .id)" "ids"
        expect 0 user ktracectl record -q -e raw_syscalls:sys_exit --where "id == $GETPPID && ret < 0" -o t.kts -- \
                "$TARGET" calls 100 $GETPPID
        same 0 "$(count t.kts true)" "failed calls of getppid"
}

case_grant_cut() { # a field that a rule hides is neither in the file nor usable in a filter
        user_rule '"scopes": ["command"],
                "events": [{"name": "raw_syscalls:sys_exit", "cut": ["id"]}, "raw_syscalls:*"]'
        expect 0 user ktracectl record -q -e 'raw_syscalls:*' -o t.kts -- "$TARGET" calls 100 $GETPPID
        same 0 "$(fields t.kts sys_exit .id)" "ids of sys_exit"
        [ "$(count t.kts ".event == \"sys_enter\" and .fields.id == $GETPPID")" = 100 ] ||
                fail "sys_enter is cut as well"
        expect 3 user ktracectl record -q -e raw_syscalls:sys_exit -f "id == $GETPPID" -o t.kts -- true
        grep -q -e '-f .* column 1: policy cuts the field id' err || fail "$(cat err)"
}

case_grant_joined() { # [asan] a rule's filter applies together with the user's; only root sees it
        user_rule "\"scopes\": [\"command\"], \"events\": [{
                \"name\": \"raw_syscalls:sys_enter\", \"filter\": \"id == $GETPPID\"}]"
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- "$TARGET" calls 100 $GETPPID
        same $GETPPID "$(fields t.kts sys_enter .id)" "ids without a filter"
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -f "id == 39 || id < 400" -o t.kts \
                -- "$TARGET" calls 100 $GETPPID
        same 100 "$(count t.kts true)" "records with the caller's"
        ! grep -aq "id == $GETPPID" t.kts || fail "the file contains it"
        echo '{"scope": "command:1", "events": ["raw_syscalls:sys_enter"]}' >spec.json
        expect 0 user ktracectl policy explain spec.json
        ! grep -q "id == $GETPPID" out || fail "the user sees the filter: $(cat out)"
        expect 0 ktracectl policy explain spec.json --user "$USER_UID"
        grep -q "id == $GETPPID" out || fail "root does not see the filter: $(cat out)"
}

case_grant_any() { # a rule can allow processes of other users, without kernel addresses
        user_rule '"scopes": ["pids"], "processes": "any", "events": ["raw_syscalls:*", "sched:sched_switch"]'
        background stranger "$TARGET" paced 20000 5000
        victim=$BACKGROUND
        recording user ktracectl record -q -e raw_syscalls:sys_enter -p "$victim" -o t.kts
        ends_well 200
        [ "$(count t.kts ".pid == $victim and .fields.id == $GETPPID")" -gt 10 ] || fail "few calls of the stranger's"
        refused 3 "not yours" stranger ktracectl record -q -e raw_syscalls:sys_enter -p $$ -o /dev/null
}

case_grant_group() { # the group ktrace may trace the whole system; kernel addresses are replaced
        expect 3 user ktracectl --no-ask-password record -q -a -e kmem:kmalloc -o t.kts -- true
        for n in 1 2; do
                expect 0 member ktracectl record -q -a -e kmem:kmalloc -e kmem:kfree -e sched:sched_switch -o $n.kts \
                        -- \
                        sh -c 'ls -lR /usr/share/dbus-1 >/dev/null'
                fields $n.kts kmalloc .ptr >$n.ptr
                [ "$(wc -l <$n.ptr)" -gt 20 ] || fail "few allocations: $(wc -l <$n.ptr)"
                [ "$(fields $n.kts sched_switch .next_comm | wc -l)" -gt 1 ] || fail "no other task is visible"
        done
        # An address has the same replacement in one recording and a different one in the next.
        fields 1.kts kfree .ptr >freed
        grep -qFxf 1.ptr freed || fail "nothing was freed that had been allocated"
        [ "$(sort 1.ptr 2.ptr | uniq -d | wc -l)" -lt 3 ] || fail "the same names twice"
        ! grep -qi ffff[89a-f] 1.ptr || fail "addresses: $(grep -i ffff 1.ptr | head -n 3)"
        refused 3 'kvm:' member ktracectl record -q -a -e kvm:kvm_exit -o t.kts -- true
        expect 3 member ktracectl --no-ask-password record -q -a --unredacted -e kmem:kmalloc -o t.kts -- true
}

case_grant_limits() { # [asan] limits of a rule replace the configured limits
        user_rule '"scopes": ["own", "command"], "events": ["raw_syscalls:*"], "lifetimes": ["client", "linger"],
                "max-linger-sec": 60, "limits": {"max-buffer-kb": 64, "max-event-rate": 1000}'
        refused 1 '--buffer: 65 is over .* limit of 64' user ktracectl create x --scope own -b 65 \
                -e raw_syscalls:sys_enter
        refused 3 'linger:60s at most' user ktracectl create x --scope own --lifetime linger:61s \
                -e raw_syscalls:sys_enter
        expect 0 user ktracectl create x --scope own -e raw_syscalls:sys_enter # defaults are within the limits
        grep -q 'x: .* lifetime is linger:1min' err || fail "not reported: $(cat err)"
        same '64 linger:1min' \
                "$(user ktracectl --json=short show x | jq -r '"\(.spec["buffer-kb"]) \(.spec.lifetime)"')"
        user ktracectl destroy x
        expect 0 user ktracectl create x --scope own -b 64 --lifetime linger:30s -e raw_syscalls:sys_enter
        user ktracectl destroy x
        background user ktracectl record -q -b 64 -e raw_syscalls:sys_enter -o t.kts -- \
                sh -c "while [ ! -e over ] && kill -0 \$PPID; do $TARGET calls 20000 $GETPPID; done"
        within 30 grep -q 'max-event-rate' background.err || fail "$(cat background.err)"
        touch over
        status=0
        wait "$BACKGROUND" || status=$?
        same 125 "$status" "status of record"
}

case_grant_limits_spool() { # a recording to disk without a size gets the maximum size of the rule
        user_rule '"scopes": ["own"], "events": ["raw_syscalls:*"], "limits": {"max-spool-kb-per-uid": 2048}'
        refused 1 'max-spool-kb-per-uid, 2048 allowed' user ktracectl create x --spec - \
                <<<'{"scope": "own", "events": ["raw_syscalls:*"], "spool": {"rotate-bytes": 2097152}}'
        expect 0 user ktracectl create x --scope own --spool -e raw_syscalls:sys_enter
        user ktracectl destroy x
        user ktracectl spool remove x
}

case_grant_allow_setuid() { # [guest] with allow-setuid a process is traced until it gains privileges
        [ -e "$TRACEFS/kprobe_events" ] || skip "the kernel has no kprobes"
        user_rule '"scopes": ["command"], "events": ["raw_syscalls:*", "sched:*"], "allow-setuid": true'
        status=0
        user ktracectl record -q --allow-setuid -e raw_syscalls:sys_enter -e sched:sched_process_exec -o t.kts -- \
                sh -c 'su --version; true' >out 2>err || status=$?
        [ $status != 0 ] || fail "the recording continued: $(cat err)"
        grep -q 'credentials' err || fail "$(cat err)"
        same 0 "$(count t.kts '.event == "sched_process_exec" and (.fields.filename | test("/su$"))')" "execs of su"
        # Without the option the command runs without new privileges.
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- sh -c 'su --version; true'
}

case_grant_unit() { # [guest] a rule for a unit applies only to callers in that unit
        [ -d /run/systemd/system ] || skip "no systemd"
        mkdir -p "${RULES%/*}"
        printf '{"rules": [{"name": "unit", "subjects": [{"uid": %s, "unit": "agent-*.service"}], "scopes": ["own"],
                "events": ["task:task_rename"], "limits": {"max-pids": 3}}]}\n' "$USER_UID" >"$RULES"
        trap user_rule_end EXIT
        ktracectl policy reload
        echo '{"scope": "own", "events": ["task:task_rename"]}' >spec.json
        chmod 644 spec.json
        expect 0 systemd-run -q --pipe --wait --uid="$USER_UID" --unit=agent-1.service ktracectl policy explain \
                "$T/spec.json"
        grep -q '10-case.json: unit' out || fail "in the unit: $(cat out)"
        expect 0 systemd-run -q --pipe --wait --uid="$USER_UID" --unit=other.service ktracectl policy explain \
                "$T/spec.json"
        grep -q 'own-processes' out || fail "in another: $(cat out)"
}
