# SPDX-License-Identifier: LGPL-2.1-or-later
# Rules without records (sinks in ktrace-policy(5)): a session under them counts, and shows no record.
# A user's own processes are counted by the stream worker, on any kernel. All processes are counted by the kernel.

ENTER=raw_syscalls:sys_enter
NO_RECORDS='10-case.json: case grants no records, only counts'

# counts SINKS EVENTS: the user gets a rule without records for own processes.
counts() { user_rule "\"scopes\": [\"command\", \"own\", \"pids\"], \"sinks\": [$1], \"events\": [$2]"; }
# counts_all SINKS EVENTS [KEYS]: the same for all processes.
counts_all() {
        user_rule "\"scopes\": [\"system\"], \"processes\": \"any\", \"sinks\": [$1], \"events\": [$2]${3:+, $3}"
}
hists() { # the rest of the case is for kernels that have them
        [ -e "$TRACEFS/events/sched/sched_switch/hist" ] || skip "this kernel has no histograms"
}

case_counts_of_own() { # [smoke] without records, a user counts system calls of a command and nothing else leaves
        counts '"count"' '{"name": "raw_syscalls:*", "keys": ["id"]}'
        expect 0 user ktracectl --json=short hist -e $ENTER --key id -f 'id == 1000' -- "$TARGET" calls 123 1000
        same 123 "$(jq '.rows[0].hitcount' out)" "calls"
        refused 3 "$ENTER.*: $NO_RECORDS: add" user ktracectl record -q -e $ENTER -o t.kts -- true
        refused 3 "$NO_RECORDS" user ktracectl record -q --flight -e $ENTER -o t.kts -- true
        refused 3 "$NO_RECORDS" user ktracectl record -q -e $ENTER --off --trigger "$ENTER do notify" -o t.kts -- true
        refused 3 'key.*not among the keys that 10-case.json: case lists' user ktracectl hist -e $ENTER \
                --key common_pid -- true
        expect 3 user ktracectl hist -e $ENTER --key id -f 'pid == 1' -- true
        grep -q 'does not list common_pid among the keys' err || fail "$(cat err)"
        expect 3 user ktracectl hist -e $ENTER --key id -f 'comm == "true"' -- true
        grep -q 'does not list comm among the keys' err || fail "$(cat err)"
        [ ! -e t.kts ] || fail "a file was written"
        counts '"histogram"' '{"name": "raw_syscalls:*", "keys": ["id"]}'
        refused 3 'the stream worker would count, and 10-case.json: case does not grant the sink count' \
                user ktracectl hist -e $ENTER --key id -- true
        within 20 no_instance || fail "an instance is left"
}

case_counts_session() { # a session without records has no stream, snapshot, mark or statistics
        local i begin readers=()
        counts '"count"' '{"name": "raw_syscalls:*", "keys": ["id"]}'
        background user setpriv --no-new-privs sleep 1000
        user ktracectl create box --scope own --trigger "$ENTER do hist id"
        user ktracectl start box
        refused 3 "stream: $NO_RECORDS" user ktracectl stream box -o t.kts
        refused 3 "snapshot: $NO_RECORDS" user ktracectl snapshot box -o t.kts
        refused 3 "mark: $NO_RECORDS" user ktracectl mark box text
        refused 3 "clear: $NO_RECORDS" user ktracectl clear box
        refused 3 "buffer-kb: $NO_RECORDS" user ktracectl set box buffer-kb 128
        refused 3 "cpus.*grants no records, only counts" user ktracectl create other --scope own --cpus 0 \
                --trigger "$ENTER do hist id"
        same '0 []' "$(user ktracectl --json=short show box |
                jq -r '"\(.statistics.recorded) \(.statistics.cpus)"')" "statistics"
        same '["count"]' "$(user ktracectl --json=short show box | jq -c .sinks)" "sinks"
        # Each reading is of another second.
        begin=${EPOCHREALTIME%.*}
        for i in 1 2 3 4; do
                expect 0 user ktracectl hist box
        done
        [ $((${EPOCHREALTIME%.*} - begin)) -ge 2 ] || fail "four readings in less than three seconds"
        # Calls that wait for the same table get the same reading.
        begin=${EPOCHREALTIME%.*}
        for i in 1 2 3 4 5 6 7 8 9; do
                user ktracectl hist box >/dev/null &
                readers+=($!)
        done
        wait "${readers[@]}"
        [ $((${EPOCHREALTIME%.*} - begin)) -le 6 ] || fail "nine calls at once took more than six seconds"
        user ktracectl stop box
        user ktracectl destroy box
}

case_counts_explained() { # policy explain names the sinks of a session
        counts '"count"' '{"name": "raw_syscalls:*", "keys": ["id"]}'
        jq -n '{scope: "command", triggers: [{when: "raw_syscalls:sys_enter", do: "hist", keys: ["id"]}]}' >s.json
        prints 'Data goes to.*count' user ktracectl policy explain s.json || fail "$(cat printed)"
        ! grep -q records printed || fail "$(cat printed)"
        echo '{"scope": "command", "events": ["raw_syscalls:sys_enter"]}' >s.json
        expect 3 user ktracectl policy explain s.json
        grep -q "$NO_RECORDS" out || fail "$(cat out)"
}

# shipped_rule: the user gets the rule of ktrace-metrics.
shipped_rule() {
        mkdir -p "${RULES%/*}"
        jq --argjson uid "$USER_UID" '.rules[0].subjects = [{uid: $uid}]' "$LIB_DIR/policy.d/40-metrics.json" >"$RULES"
        chmod 0644 "$RULES"
        trap user_rule_end EXIT
        ktracectl policy reload
}

# Asks for a histogram of each event of the shipped rule that this kernel has, by each key that is a number here.
case_counts_shipped() { # the shipped rule grants histograms by its keys on this kernel, and no records
        local event key found=0
        shipped_rule
        jq -r '.rules[0].events[] | .name as $e | .keys[] | "\($e) \(.)"' "$RULES" >pairs
        while read -r event key; do
                case $event in *\**) continue ;; esac
                [ -e "$TRACEFS/events/${event/:/\/}" ] || continue
                [ "$key" = common_cpu ] || grep -qE "[ *]$key(\[|;)" "$TRACEFS/events/${event/:/\/}/format" || continue
                [ "$key" != rwbs ] || continue
                jq -n --arg e "$event" --arg k "$key" '{scope: "system", lifetime: "linger:60s",
                        triggers: [{when: $e, do: "hist", keys: [$k]}]}' >s.json
                user ktracectl policy explain s.json >out 2>err || true
                grep -qE 'Decision: allowed' out || fail "$event by $key: $(cat out err)"
                found=$((found + 1))
        done <pairs
        [ $found -ge 20 ] || fail "only $found histograms of the rule fit this kernel"
        refused 3 "40-metrics.json|metrics grants no records" user ktracectl record -q -a -e $ENTER -o t.kts -- true
        refused 3 'not among the keys' user ktracectl hist -a -e $ENTER --key args -- true
        # A request for unredacted records is for the next rule, which asks for an administrator's password.
        refused 3 'authentication' user ktracectl --no-ask-password record -q -a --unredacted -e $ENTER -o t.kts -- true
}

case_counts_of_all() { # [guest] without records, a user's histogram counts calls of other users by number
        hists
        counts_all '"histogram"' "{\"name\": \"$ENTER\", \"keys\": [\"id\"]}"
        user ktracectl create box --scope system --trigger "$ENTER if id == 1000 do hist id"
        user ktracectl start box
        stranger "$TARGET" calls 7 1000
        expect 0 user ktracectl --json=short hist box
        same 7 "$(jq .hits out)" "calls of a stranger"
        same id "$(jq -r '.rows[0].keys | keys[0]' out)" "keys"
        user ktracectl stop box
        stranger "$TARGET" calls 7 1000
        expect 0 user ktracectl --json=short hist box
        same 7 "$(jq .hits out)" "after the stop"
        user ktracectl destroy box
}

case_counts_filter_of_rule() { # [guest] the filter of a rule also applies to histograms
        hists
        counts_all '"histogram"' '{"name": "raw_syscalls:sys_exit", "keys": ["id", "ret"],
                "filter": "ret < 0 && ret > -4096"}'
        expect 0 user ktracectl --json=short hist -a -e raw_syscalls:sys_exit --key ret -- \
                sh -c 'cat /nowhere/at/all; true'
        jq -e 'all(.rows[]; .keys.ret < 0) and any(.rows[]; .keys.ret == -2)' out >/dev/null || fail "$(cat out)"
}

case_counts_pairs() { # [guest] a user defines a pair of events without a password, of fields that are keys
        hists
        [ -e "$TRACEFS/synthetic_events" ] || skip "this kernel has no pairs of events"
        counts_all '"histogram"' '{"name": "sched:sched_wakeup", "keys": ["pid"]},
                {"name": "sched:sched_switch", "keys": ["next_pid"]},
                {"name": "raw_syscalls:*", "keys": ["id"]}' '"probes": {"derive": true}'
        expect 0 user ktracectl --json=short hist -a --latency sched:sched_wakeup..sched:sched_switch \
                --key pid=next_pid -- sleep 0.2
        jq -e '.hits > 0' out >/dev/null || fail "$(cat out)"
        refused 3 'next_prio of sched:sched_switch: not among the keys' user ktracectl hist -a \
                --latency sched:sched_wakeup..sched:sched_switch --key pid=next_pid --by next_prio -- true
        refused 3 'prio of sched:sched_wakeup: not among the keys' user ktracectl hist -a \
                --latency sched:sched_wakeup..sched:sched_switch --key prio=next_prio -- true
        # The same task makes both events: this tells nothing of the task.
        expect 0 user ktracectl --json=short hist -a --latency $ENTER..raw_syscalls:sys_exit --key common_pid --by id \
                -- sleep 0.2
        jq -e '.hits > 0' out >/dev/null || fail "$(cat out)"
        refused 3 'must be the number of a task' user ktracectl hist -a --latency $ENTER..raw_syscalls:sys_exit \
                --key id=ret -- true
        user ktracectl probes add who --event $ENTER id '$comm'
        echo '{"scope": "system", "probes": [{"name": "who", "enabled": false}]}' >s.json
        refused 3 'comm of raw_syscalls:sys_enter: not among the keys' user ktracectl create box --spec s.json
        user ktracectl probes remove who
        ! grep -q 'ktrace_' "$TRACEFS/dynamic_events" || fail "$(cat "$TRACEFS/dynamic_events")"
}

case_counts_catalogue() { # [guest] by the shipped rule, a probe of the catalogue is counted by its keys
        hists
        [ -e "$TRACEFS/synthetic_events" ] || skip "this kernel has no pairs of events"
        shipped_rule
        jq -n '{scope: "system", probes: [{name: "block_io_latency", enabled: false}],
                triggers: [{when: "ktrace_catalogue:block_io_latency if rwbs ~ \"*W*\"", do: "hist",
                        keys: ["latency.log2", "dev"], values: ["bytes"]}]}' >s.json
        user ktracectl create disk --spec s.json
        user ktracectl start disk
        dd if=/dev/zero of=written bs=64k count=20 conv=fsync status=none
        expect 0 user ktracectl --json=short hist disk
        jq -e '.keys == ["latency.log2", "dev"]' out >/dev/null || fail "$(cat out)"
        refused 3 "stream: 10-case.json: metrics grants no records" user ktracectl stream disk -o t.kts
        user ktracectl destroy disk
        sed -i 's/"dev"/"sector"/' s.json
        refused 3 'sector.*not among the keys' user ktracectl create disk --spec s.json
}
