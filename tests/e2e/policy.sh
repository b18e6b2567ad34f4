# SPDX-License-Identifier: LGPL-2.1-or-later
# Rules: check, explain, and reload while sessions run.
GETPPID=110

# rule TEXT: a file of the administrator with one rule, until the end of the case. Then the shipped rules apply.
rule() {
        mkdir -p "${RULES%/*}"
        printf '{"rules": [\n%s\n]}\n' "$1" >"$RULES.new"
        chmod 0644 "$RULES.new"
        mv "$RULES.new" "$RULES"
        trap policy_end EXIT
}
policy_end() {
        rm -f "$RULES" "$RULES.new"
        ktracectl policy reload || true
        leave_case
}
deny() { # UID: rule that takes everything from this user
        rule "{\"name\": \"nothing\", \"deny\": true, \"subjects\": [{\"uid\": $1}],
                \"scopes\": [\"command\", \"own\", \"pids\", \"unit\", \"cgroup\"]}"
}
spec() { # EVENT...: spec.json
        jq -cn '{scope: "own", events: $ARGS.positional}' --args "$@" >spec.json
}

case_policy_check() { # policy check accepts a good file and shows the place of each mistake
        echo '{"rules": [{"name": "a", "subjects": ["any"], "scopes": ["own"], "events": ["task:*"]}]}' >good.json
        expect 0 user ktracectl policy check good.json
        grep -q 'good.json: good; rules: 1' out || fail "$(cat out)"
        [ ! -s err ] || fail "$(cat err)"
        echo '{"rules": [{"name": "a", "subjects": ["any", {"user": "alcie"}, {"group": "weel"}],
                "scopes": ["own"], "events": ["*:*"]}]}' >who.json
        expect 0 user ktracectl policy check who.json
        same 2 "$(wc -l <err)" "warnings: $(cat err)"
        grep -q '^warning: who.json: a: subjects: there is no user "alcie"' err || fail "$(cat err)"
        grep -q '^warning: who.json: a: subjects: there is no group "weel"' err || fail "$(cat err)"
        echo '{"rules": []}' >none.json
        expect 0 user ktracectl policy check none.json
        same 'warning: none.json: the file has no rules' "$(cat err)" warning
        printf '{"rules": [\n {"name": "a" "subjects": []}]}' >comma.json
        refused 1 'comma.json:2: ' user ktracectl policy check comma.json
        printf '{"rules": [{"name": "a", "subjects": ["any"], "scopes": ["own"], "events": ["task:*"], "frob": 1}]}' \
                >key.json
        refused 1 'key.json: rules\[0\].frob: no such key' user ktracectl policy check key.json
        printf '{"rules": [{"name": "a", "subjects": ["any"], "scopes": ["moon"], "events": ["task:*"]}]}' >scope.json
        refused 1 'scope.json: rules\[0\].scopes' user ktracectl policy check scope.json
        refused 1 'absent.json' user ktracectl policy check absent.json
        refused 2 'too many' user ktracectl policy check good.json more
}

case_policy_explain() { # policy explain shows the rule, events and limits, or the reasons for a refusal
        spec raw_syscalls:sys_enter 'task:task_rename'
        expect 0 user ktracectl policy explain spec.json
        for text in 'allowed' '50-default.json: own-processes' raw_syscalls:sys_enter task:task_rename \
                max-event-rate; do
                grep -q -- "$text" out || fail "no $text in: $(cat out)"
        done
        expect 0 user ktracectl policy explain - <spec.json
        jq '{id: "0123456789abcdef", off: [], spec: (. + {name: "was"})}' spec.json >was.json
        expect 0 user ktracectl policy explain was.json
        refused 2 'standard input:1:18: unknown key "evnts": did you mean "events"' user ktracectl policy explain \
                - <<<'{"scope": "own", "evnts": []}'
        spec sched:sched_waking raw_syscalls:sys_enter sched:sched_wakeup
        expect 3 user ktracectl policy explain spec.json
        for text in denied sched:sched_waking sched:sched_wakeup; do
                grep -q -- "$text" out || fail "no $text in: $(cat out)"
        done
        ! grep -q sys_enter out || fail "a reason against what is granted: $(cat out)"
        expect 0 ktracectl policy explain spec.json
        grep -q root out || fail "$(cat out)"
        expect 3 ktracectl policy explain spec.json --user "$USER_UID"
        refused 3 'only root' user ktracectl policy explain spec.json --user "$STRANGER_UID"
        refused 3 'only root' user ktracectl policy explain spec.json --user root
        spec nosuch:event
        expect 3 user ktracectl policy explain spec.json
        grep -q nosuch:event out || fail "$(cat out)"
}

# reported SPEC-WORDS...: compares what explain says with what create does.
reported() {
        spec "$@"
        local status=0 made=0
        user ktracectl policy explain spec.json --json=short >reported || status=$?
        user ktracectl create reported --spec spec.json 2>refusal || made=$?
        same "$status" "$made" "explain and create of $*"
        if [ $made != 0 ]; then
                jq -r '.reasons[]' reported >reasons
                sed 's/^ktracectl: //' refusal | matches -Ff - reasons ||
                        fail "create says '$(cat refusal)', explain says: $(cat reasons)"
                return
        fi
        user ktracectl show reported --json=short >made.json
        same "$(jq -cS '[.events[].name]' reported)" "$(jq -cS .events made.json)" "events of $*"
        same "$(jq -cS .requests reported)" "$(jq -cS .requests made.json)" "requests of $*"
        same "$(jq -cS .rule reported)" "$(jq -cS .rule made.json)" "rule of $*"
        user ktracectl destroy reported
}

case_policy_explain_lacks() { # policy explain reports what the kernel lacks, with the status of create
        local made
        jq -n '{scope: "system", triggers: [{when: "raw_syscalls:sys_enter", do: "hist", keys: ["id"]}]}' >hist.json
        jq -n '{scope: "system", probes: ["tcp_connect"]}' >probe.json
        for what in hist probe; do
                made=0
                ktracectl create reported --spec $what.json 2>refusal || made=$?
                expect $made ktracectl policy explain $what.json
                if [ $made = 0 ]; then
                        same true "$(ktracectl policy explain $what.json --json=short |
                                jq -c '.allowed and .lacks == []')" "$what"
                        ktracectl destroy reported
                        continue
                fi
                grep -q 'Decision: *allowed, but this kernel cannot do it' out || fail "$(cat out)"
                same "$(sed 's/^ktracectl: //' refusal)" "$(ktracectl policy explain $what.json --json=short |
                        jq -r '.lacks[0]')" "what is reported of $what"
        done
}

case_policy_explain_is_create() { # CheckSession and CreateSession decide alike
        reported raw_syscalls:sys_enter
        reported 'sched:*' 'task:*'
        reported raw_syscalls:sys_enter sched:sched_waking
        reported nosuch:event
        reported 'nosuch:*'
        rule "{\"name\": \"few\", \"subjects\": [{\"uid\": $USER_UID}],
                \"scopes\": [\"own\"], \"events\": [\"task:task_*\"]}"
        expect 0 ktracectl policy reload
        reported 'task:*' 'sched:*'
        reported raw_syscalls:sys_enter
        deny "$USER_UID"
        expect 0 ktracectl policy reload
        reported 'task:*'
}

case_policy_reload() { # [guest] policy reload and SIGHUP apply new rules
        spec task:task_rename
        rule "{\"name\": \"other\", \"subjects\": [\"any\"], \"scopes\": [\"own\"], \"events\": [\"raw_syscalls:*\"]}"
        expect 0 user ktracectl policy explain spec.json
        expect 0 ktracectl policy reload
        expect 3 user ktracectl policy explain spec.json
        rm "$RULES"
        kill -HUP "$(daemon_pid)"
        within 20 user ktracectl policy explain spec.json || fail "SIGHUP changed nothing"
}

case_policy_reload_broken() { # a broken rule file leaves the old rules in force; the error shows the place
        spec raw_syscalls:sys_enter
        user ktracectl create stays --spec spec.json
        rule '{"name": "broken", "subjects": ["any"], "scopes": ["own"], "events": ["a:b"]}, {"nome": "x"}'
        refused 2 '10-case.json: rules\[1\].nome: no such key: did you mean "name"' ktracectl policy reload
        kill -HUP "$(daemon_pid)"
        sleep 0.5 # nothing comes of it
        expect 0 user ktracectl policy explain spec.json
        grep -q own-processes out || fail "$(cat out)"
        chmod 0666 "$RULES"
        refused 2 '10-case.json: others than its owner may write it' ktracectl policy reload
        user ktracectl destroy stays
}

case_policy_reload_ends() { # a session that the new rules forbid ends, and its client learns which rule decided
        background user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- "$TARGET" until stop 20000
        within 30 is_running || fail "the recording did not start: $(cat background.err)"
        within 30 recorded 150 || fail "it does not record"
        deny "$USER_UID"
        kill -HUP "$(daemon_pid)"
        within 30 grep -q . background.err || fail "the session continues"
        : >stop
        status=0
        wait "$BACKGROUND" || status=$?
        [ $status != 0 ] || fail "the session continued"
        grep -q 'the rules were changed (it had 50-default.json: own-processes).*10-case.json: nothing' \
                background.err ||
                fail "no reason: $(cat background.err)"
        within 20 no_instance || fail "the instance is still there"
        # Events that were recorded before the reload are kept.
        [ "$(count t.kts ".fields.id == $GETPPID")" -gt 10 ] || fail "too few calls"
}

case_policy_reload_keeps() { # [asan] a session that the new rules allow loses no event
        recording user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- "$TARGET" until stop 20000
        deny "$STRANGER_UID"
        for _ in 1 2 3; do
                expect 0 ktracectl policy reload
                sleep 0.3
        done
        is_running || fail "it ended: $(cat background.err)"
        all_called t.kts
        refused 3 'nothing' stranger ktracectl create x --scope own -e raw_syscalls:sys_enter
}

case_policy_reload_user() { # a user may reload the rules only if polkit allows it
        deny "$STRANGER_UID"
        expect 3 user ktracectl --no-ask-password policy reload
        grep -q 'org.ktrace1.reload\|polkit\|authentication' err || fail "$(cat err)"
        # The rules were not read.
        expect 0 stranger ktracectl create y --scope own -e raw_syscalls:sys_enter
        stranger ktracectl destroy y
}

case_policy_receipt() { # a recording names its user, the rules that allowed it, hidden fields and the kernel
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- "$TARGET" calls 3 $GETPPID
        expect 0 user ktracectl report --receipt --json=short t.kts
        same "$USER_UID" "$(jq .uid out)" "requester"
        same '50-default.json: own-processes' "$(jq -r .rule out)" "rule"
        same '["raw_syscalls:sys_enter"]' "$(jq -c '[.spec.events[] |
                if type == "object" then .name else . end]' out)" "events"
        same "$(cd "$LIB_DIR/policy.d" && sha256sum -- *.json | sha256sum |
                cut -d' ' -f1)" "$(jq -r '."policy-sha256"' out)" "hash of the rules"
        od -An -tx1 -v /sys/kernel/notes | tr -d ' \n' | matches "$(jq -r '."kernel-build-id"' out)" ||
                fail "not this kernel's"
        same '["raw_syscalls:sys_enter"]' "$(jq -c '.redactions | keys' out)" "redacted events"
        same "$(uname -r)" "$(jq -r .kernel out)" "kernel"
        jq -e '.statistics.cpus | map(.recorded) | add > 0' out >/dev/null || fail "no counts: $(cat out)"
        mv out of-stream
        # The receipt is in every format.
        expect 0 user ktracectl convert t.kts -o t.dat
        expect 0 user ktracectl report --receipt --json=short t.dat
        same "$(jq -cS . of-stream)" "$(jq -cS . out)" "receipt of a trace.dat"
        ktracectl convert t.kts --to json | jq -cS 'select(.receipt) | .receipt' >of-json
        same "$(jq -cS 'del(.statistics, .end)' of-stream)" "$(cat of-json)" "receipt in JSON"
        expect 0 user ktracectl report --receipt t.dat
        grep -q "Requester: $USER_UID" out || fail "$(cat out)"
        # An event that describes other tasks.
        expect 0 user ktracectl record -q -e sched:sched_switch -o t.kts -- true
        expect 0 user ktracectl report --receipt --json=short t.kts
        same next_pid "$(jq -r '.redactions."sched:sched_switch"[] | select(.field == "next_comm") | .pid' out)" \
                "whose name next_comm is"
        same 0 "$(jq '[.redactions."sched:sched_switch"[] | select(.field == "prev_pid")] | length' out)" \
                "prev_pid is in the recording"
        expect 0 user ktracectl report --receipt t.kts
        grep -q 'next_comm (member of next_pid)' out || fail "$(cat out)"
        # Different rules have a different hash.
        deny "$STRANGER_UID"
        expect 0 ktracectl policy reload
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- true
        [ "$(user ktracectl report --receipt --json=short t.kts |
                jq '."policy-sha256"')" != "$(jq '."policy-sha256"' of-stream)" ] ||
                fail "the same hash"
}

case_policy_receipt_filter() { # a recording contains the user's filter but not the filter of the rule
        rule "{\"name\": \"few\", \"subjects\": [{\"uid\": $USER_UID}], \"scopes\": [\"command\"],
                \"events\": [{\"name\": \"raw_syscalls:sys_enter\", \"filter\": \"id != 9876\"}]}"
        expect 0 ktracectl policy reload
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter --where "id != 1234" -o t.kts \
                -- "$TARGET" calls 3 $GETPPID
        same 3 "$(count t.kts ".fields.id == $GETPPID")" "calls"
        ! grep -q 'id != 9876' t.kts || fail "the filter of the rule is in the recording"
        user ktracectl report --receipt --json=short t.kts | jq -r '.filters."raw_syscalls:sys_enter"' >filter
        grep -q 'id != 1234' filter || fail "no filter: $(cat filter)"
}
