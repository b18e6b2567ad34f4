# SPDX-License-Identifier: LGPL-2.1-or-later
# Notifications: what a session reports to its owner, how soon, and that other users get none.

notify_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}

# listening FILE COMMAND...: starts a reader of notifications in the background and waits until it has subscribed. Its
# pid is in $LISTENER.
listening() {
        local file=$1
        shift
        AS_EXEC=exec "$@" >"$file" 2>"$file.err" &
        LISTENER=$!
        started+=("$LISTENER")
        within 20 grep -q 'waiting for notifications' "$file.err" || fail "$(cat "$file.err")"
}
# reported_soon MSEC LIMIT: an emulated machine is given ten times as long.
reported_soon() { [ "$1" -lt $(($2 * $(service_manager && echo 10 || echo 1))) ]; }
# sums_up FILE FILTER N: whether the sum of these counts is N.
sums_up() { jq -se "map(select($2) | .count) | add == $3" "$1"; }
# reported FILE N: whether the file has at least N lines.
reported() { [ "$(wc -l <"$1")" -ge "$2" ]; }
ends() { # STATUS: of the listener
        local status=0
        within 20 sh -c "! kill -0 $LISTENER" || fail "the listener continues"
        wait "$LISTENER" || status=$?
        same "$1" "$status" "status of the listener"
}

case_notify_lost_events() { # [asan] lost events are reported for each CPU, at most ten times a second
        trap notify_end EXIT
        local begin end late
        # The ring is full within a few ms. One delay of the machine is allowed.
        for _ in 1 2 3; do
                ktracectl create box -a -b 64 -e raw_syscalls:sys_enter -f 'id == 1000'
                ktracectl start box
                listening json ktracectl --json stream box --notify
                begin=$(date +%s%N)
                "$TARGET" calls 400000 1000
                end=$(date +%s%N)
                within 20 all_lost_reported || fail "not all losses were reported: $(cat json)"
                late=$((($(head -n 1 json | jq '."realtime-nsec"') - begin) / 1000000))
                ! reported_soon $late 250 || break
                ktracectl destroy box
                ends 4
        done
        reported_soon $late 250 || fail "reported $late ms after the beginning"
        [ "$(wc -l <json)" -le $(((end - begin) / 90000000 + 3)) ] || fail "$(wc -l <json) in $((end - begin)) ns"
        same "$(ktracectl --json=short show box | jq .statistics.lost)" "$(jq -s 'map(.lost) | add' json)" "lost"
        same "$(ktracectl --json=short show box | jq .statistics.lost)" "$(tail -n 1 json | jq .total)" "the last total"
        same true "$(jq -s 'all(.kind == "lost-events" and .lost == (.cpus | map(.lost) | add))' json)" "sums"
        same true "$(jq -s 'map(.sequence) == [range(1; length + 1)]' json)" "sequence numbers"
        ktracectl destroy box
        ends 4
}

all_lost_reported() {
        [ "$(ktracectl --json=short show box | jq .statistics.lost)" = "$(jq -s 'map(.lost) | add' json)" ]
}

case_notify_snapshot() { # each snapshot is reported; listeners exit with status 0 at the end of the session
        trap notify_end EXIT
        ktracectl create box --mode flight -a -e raw_syscalls:sys_enter -f 'id == 1000'
        listening json ktracectl --json stream box --notify
        listening text ktracectl stream box --notify
        ktracectl start box
        ktracectl snapshot -q box -o t.kts
        ktracectl snapshot -q box -o t.kts
        within 20 grep -q total=2 text || fail "$(cat text)"
        grep -qE '^[0-9]{4}-[0-9-]{5} [0-9:]{8}\.[0-9]{6} snapshot-taken total=1$' text || fail "$(cat text)"
        same '["snapshot-taken",1] ["snapshot-taken",2] ' "$(jq -c '[.kind, .total]' json | tr '\n' ' ')" "reported"
        ktracectl destroy box
        ends 0
        within 20 sh -c "! kill -0 $((LISTENER))"
}

case_notify_limit() { # the limit that ends a session is reported with its name and value; the status is 1
        trap notify_limit_end EXIT
        mkdir -p "$CONFIG_DIR/policy.d"
        printf '{"rules": [{"name": "case", "subjects": [{"uid": %s}], "scopes": ["own"], "events": ["raw_syscalls:*"],
                "limits": {"max-event-rate": 1000}}]}\n' "$USER_UID" >"$CONFIG_DIR/policy.d/10-case.json"
        ktracectl policy reload
        background user setpriv --no-new-privs sh -c "while :; do $TARGET calls 100000 1000; done"
        user ktracectl create box --scope own -e raw_syscalls:sys_enter
        listening json user ktracectl --json stream box --notify
        user ktracectl start box
        ends 1
        same '["limit-hit","max-event-rate",1000]' \
                "$(jq -c 'select(.kind == "limit-hit") | [.kind, .limit, .value]' json)" "reported"
        same limit-hit "$(tail -n 1 json | jq -r .kind)" "the last"
        grep -q 'has ended: .*max-event-rate' json.err || fail "$(cat json.err)"
}
notify_limit_end() {
        rm -f "$CONFIG_DIR/policy.d/10-case.json"
        ktracectl policy reload || true
        notify_end
}

# hooked: skips the case if the kernel has no histograms, so that it does not count the hits.
hooked() {
        [ -e "$TRACEFS/events/raw_syscalls/sys_enter/hist" ] || skip "this kernel has no histograms"
}

case_notify_trigger() { # [deep guest] each hit is counted and reported within 100 ms (guest: 1 s), also after a stop
        trap notify_end EXIT
        local n soonest
        cat >spec.json <<'EOS'
{"triggers": [{"when": "raw_syscalls:sys_enter if id == 1001", "do": "notify"},
              {"when": "raw_syscalls:sys_enter if id == 1002", "do": "notify", "count": 3}]}
EOS
        ktracectl create box -a --spec spec.json -e raw_syscalls:sys_enter -f 'id == 1000'
        listening json ktracectl --json stream box --notify
        ktracectl start box
        sleep 0.5
        for n in 1 2 3; do
                "$TARGET" calls 1 1001
                date +%s%N >>times
                within 20 reported json "$n" || fail "hit $n was not reported: $(cat json json.err)"
                sleep 0.3
        done
        same '[0,1,1] [0,1,2] [0,1,3] ' "$(jq -c 'select(.kind == "notify") | [.trigger, .count, .total]' json |
                tr '\n' ' ')" "hits"
        same raw_syscalls:sys_enter "$(head -n 1 json | jq -r .event)" "event"
        # One delay of the machine is allowed.
        soonest=$(paste -d ' ' <(jq '."realtime-nsec"' json) times | awk '{ printf "%d\n", ($1 - $2) / 1000000 }' |
                sort -n | head -n 1)
        reported_soon "$soonest" 100 || fail "reported $soonest ms later"
        "$TARGET" calls 100 1002
        "$TARGET" calls 2 1001
        ktracectl stop box
        within 20 sh -c 'jq -se "any(.trigger == 0 and .total == 5)" json' || fail "$(cat json)"
        ktracectl start box
        "$TARGET" calls 10 1001
        within 20 sums_up json '.trigger == 0' 15 || fail "$(cat json)"
        ktracectl destroy box
        ends 0
        same 15 "$(jq -s 'map(select(.trigger == 0) | .count) | add' json)" "hits of the first"
        same 3 "$(jq -s 'map(select(.trigger == 1) | .count) | add' json)" "hits of the second"
}

case_notify_flood() { # a flood of hits causes about ten notifications a second, and every hit is counted
        trap notify_end EXIT
        local begin end
        echo '{"triggers": [{"when": "raw_syscalls:sys_enter if id == 1001", "do": "notify"}]}' >spec.json
        ktracectl create box -a -b 24576 --spec spec.json -e raw_syscalls:sys_enter -f 'id == 1000'
        listening json ktracectl --json stream box --notify
        ktracectl start box
        begin=$(date +%s%N)
        # Without kernel histograms a process reads the hits. The ring has room for all of them, also on a busy machine.
        for _ in {1..30}; do
                "$TARGET" calls 10000 1001
                sleep 0.02
        done
        end=$(date +%s%N)
        within 20 sums_up json true 300000 || fail "$(jq -s 'map(.count) | add' json) hits"
        expect 0 timeout 20 ktracectl list
        ktracectl destroy box
        ends 0
        same 300000 "$(jq -s 'map(.count) | add' json)" "hits"
        [ "$(wc -l <json)" -le $(((end - begin) / 90000000 + 4)) ] || fail "$(wc -l <json) in $((end - begin)) ns"
}

case_notify_reader_killed() { # [guest] if the process that reads the hits is killed, a new one reports each hit once
        trap notify_end EXIT
        local reader
        hooked
        echo '{"triggers": [{"when": "raw_syscalls:sys_enter if id == 1001", "do": "notify"}]}' >spec.json
        ktracectl create box -a --spec spec.json -e raw_syscalls:sys_enter -f 'id == 1000'
        listening json ktracectl --json stream box --notify
        ktracectl start box
        "$TARGET" calls 5 1001
        within 20 reported json 1 || fail "not reported"
        reader=$(pgrep -o ktrace-consumer)
        kill -KILL "$reader"
        "$TARGET" calls 7 1001
        within 20 sh -c 'jq -se "any(.total == 12)" json' || fail "$(cat json)"
        ktracectl destroy box
        ends 0
        same 12 "$(jq -s 'map(.count) | add' json)" "hits"
}

case_notify_strangers() { # other users get no notifications, neither by a match for all signals nor by Subscribe
        trap notify_end EXIT
        local id path
        ktracectl create box --mode flight -a -e sched:sched_process_exec
        id=$(ktracectl list --json=short | jq -r '.[0].id')
        path=/org/ktrace1/session/$id
        stranger gdbus monitor --system --dest org.ktrace1 >seen 2>&1 &
        started+=($!)
        within 20 grep -q 'is owned by' seen || skip "no gdbus: $(cat seen)"
        listening json ktracectl --json stream "$id" --notify
        ktracectl start "$id"
        ktracectl snapshot -q "$id" -o t.kts
        within 20 reported json 1 || fail "the owner got no notification"
        ! grep -q Notified seen || fail "$(cat seen)"
        refused 1 'no session' stranger ktracectl stream "$id" --notify
        ! stranger busctl call org.ktrace1 "$path" org.ktrace1.Session Subscribe 2>err ||
                fail "a stranger has subscribed"
        ktracectl destroy "$id"
        ends 0
        ! grep -qE 'Notified|StateChanged|Ended' seen || fail "$(cat seen)"
}

case_notify_deaf() { # a subscriber that reads nothing delays nobody else, and is removed with its connection
        trap notify_end EXIT
        ktracectl create box -a -b 64 -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start box
        listening deaf ktracectl --json stream box --notify
        kill -STOP "$LISTENER"
        listening json ktracectl --json stream box --notify
        "$TARGET" calls 400000 1000
        within 20 reported json 1 || fail "nothing reported"
        expect 0 timeout 20 ktracectl list
        expect 0 timeout 20 ktracectl stop box
        for i in $(seq 14); do listening "more.$i" ktracectl --json stream box --notify; done
        refused 1 '16 connections' ktracectl stream box --notify
        kill -9 "$LISTENER"
        within 20 sh -c 'timeout -s INT 0.5 ktracectl -q stream box --notify; [ $? = 124 ]' ||
                fail "its place is not free"
        expect 0 timeout 20 ktracectl destroy box
}

case_notify_usage() { # --notify refuses options that choose an output for events
        expect 2 ktracectl stream box --notify -o t.dat
        expect 2 ktracectl stream box --notify --to json
        expect 2 ktracectl snapshot box --notify
        refused 1 'no session has this name' ktracectl stream box --notify
}

case_notify_others() { # a notification omits the pid if the event also describes other tasks
        trap notify_end EXIT
        background stranger taskset -c 0 "$TARGET" calls 1000000000 1001
        background user setpriv --no-new-privs taskset -c 0 sh -c 'while :; do sleep 0.01; done'
        user ktracectl create box --scope "pids:$BACKGROUND" -e raw_syscalls:sys_exit \
                --trigger 'sched:sched_switch do notify'
        listening json user ktracectl --json stream box --notify
        user ktracectl start box
        within 20 reported json 10 || fail "$(cat json)"
        same '[0]' "$(jq -sc '[.[] | select(.kind == "notify") | .pid] | unique' json)" "pids"
}
