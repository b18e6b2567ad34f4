# SPDX-License-Identifier: LGPL-2.1-or-later
# Histograms: the counts are exact. The examples of ktracectl(1) are run here.

# Histograms of a user's own processes are counted by the stream worker; those of all processes by the kernel, or by the
# worker if the kernel has none.
kernel_counts() { [ -e "$TRACEFS/events/sched/sched_switch/hist" ]; }
hists() { # the rest of the case is for kernels that have them
        kernel_counts || skip "this kernel has no histograms"
}

hist_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}

ENTER=raw_syscalls:sys_enter
WRITE=syscalls:sys_enter_write

# row FILE EXPRESSION: prints the hits of the one row that matches the jq expression.
row() { jq -c "[.rows[] | select($2)] | if length == 1 then .[0].hitcount else \"\(length) rows\" end" "$1"; }

case_hist_of_command() { # [deep guest] a histogram of a user's command counts each write in the range of its size
        expect 0 user ktracectl --json=short hist -e $WRITE --key count.log2 --value count -- dd if=/dev/zero \
                of=/dev/null bs=512 count=50 status=none
        cp out h.json
        same 50 "$(row h.json '.keys.count.from == 257 and .keys.count.to == 512')" "writes of 512 bytes"
        same 25600 "$(jq '.rows[] | select(.keys.count.to == 512).values.count' h.json)" "bytes"
        same 50 "$(jq .hits h.json)" "hits"
        same '0 0 false' "$(jq -r '"\(.dropped) \(.told - .entries) \(.paused)"' h.json)" "dropped, not listed, paused"
        expect 0 user ktracectl --json=short hist -e $WRITE --key count.buckets=512 -- dd if=/dev/zero of=/dev/null \
                bs=512 count=7 status=none
        same 7 "$(row out '.keys.count.from == 512 and .keys.count.to == 1023')" "in linear ranges"
        expect 0 user ktracectl --json=short hist -e $ENTER --key id -f 'id == 1000' -- "$TARGET" calls 123 1000
        same 123 "$(row out '.keys.id == 1000')" "with a filter"
        same 1 "$(jq '.rows | length' out)" "rows"
        expect 0 user ktracectl --json=short hist -e $ENTER --key id.syscall --key common_pid.execname \
                -- dd if=/dev/zero of=/dev/null bs=1 count=40 status=none
        [ "$(row out '.keys.id.name == "write" and .keys.common_pid.comm == "dd"')" = 40 ] || fail "$(cat out)"
        expect 3 user ktracectl hist -e $ENTER --key id -- sh -c 'exit 3'
        expect 127 user ktracectl hist -e $ENTER --key id -- /nowhere
        within 20 no_instance || fail "an instance is left"
}

case_hist_table() { # [guest] the table has titles, bars and also the empty ranges in between
        # Two sizes, with one range between them.
        printf 'dd if=/dev/zero of=/dev/null status=none bs=%d count=%d\n' 512 40 2048 10 >job
        COLUMNS=80 LC_ALL=C expect 0 user ktracectl hist --bars -e $WRITE --key count.log2 -- sh job
        grep -qE '^ *count +hits' out || fail "$(cat out)"
        grep -qE '257 \.\. 512 +40  #{50}$' out || fail "$(cat out)"
        grep -qE '513 \.\. 1024 +0 *$' out || fail "$(cat out)"
        grep -qE '1025 \.\. 2048 +10  #{13}$' out || fail "$(cat out)"
        grep -qE "^$WRITE: 50 hits in 2 rows$" out || fail "$(cat out)"
        LC_ALL=C.UTF-8 expect 0 user ktracectl hist --bars -e $WRITE --key count.log2 -- sh job
        grep -q '█' out || fail "$(cat out)"
        expect 0 user ktracectl hist -e $WRITE --key count.log2 -- sh job
        ! grep -q '#' out || fail "bars without a terminal: $(cat out)"
}

case_hist_of_session() { # [deep guest] a histogram can be read, cleared, paused and continued; stop and start keep it
        trap hist_end EXIT
        jq -n '{scope: "system", triggers: [
                {when: "raw_syscalls:sys_enter if id == 1000", do: "hist", keys: ["common_pid.execname", "id"],
                        size: 128, name: "calls"},
                {when: "raw_syscalls:sys_enter if id == 1001", do: "hist", keys: ["id"]}]}' >s.json
        ktracectl create box --spec s.json
        refused 1 'does not exist before the session.s first start' ktracectl hist box calls
        prints 'calls: raw_syscalls:sys_enter by common_pid.execname, id$' ktracectl show box ||
                fail "$(ktracectl show box)"
        same '["calls","raw_syscalls:sys_enter"]' "$(ktracectl --json=short show box | jq -c '[.histograms[].name]')" \
                "Describe"
        ktracectl start box
        "$TARGET" calls 5 1000
        "$TARGET" calls 3 1001
        expect 0 ktracectl --json=short hist box calls
        same 5 "$(row out '.keys.common_pid.comm == "target" and .keys.id == 1000')" "calls"
        same calls "$(jq -r .name out)" "name"
        refused 2 '2 histograms match' ktracectl hist box
        refused 1 'no such histogram' ktracectl hist box other
        # An index that does not exist, and one of the event, which has two.
        refused 2 '2 histograms match' ktracectl hist box $ENTER
        ktracectl hist box calls --pause
        "$TARGET" calls 7 1000
        expect 0 ktracectl --json=short hist box calls
        same '5 true' "$(jq -r '"\(.hits) \(.paused)"' out)" "paused"
        ktracectl hist box calls --continue
        "$TARGET" calls 2 1000
        expect 0 ktracectl --json=short hist box calls
        same '7 false' "$(jq -r '"\(.hits) \(.paused)"' out)" "continued"
        ktracectl hist box calls --clear
        "$TARGET" calls 4 1000
        expect 0 ktracectl --json=short hist box calls
        same 4 "$(jq .hits out)" "cleared"
        ktracectl stop box
        "$TARGET" calls 4 1000
        expect 0 ktracectl --json=short hist box calls
        same 4 "$(jq .hits out)" "after the stop"
        refused 1 'counts while the session runs' ktracectl hist box calls --continue
        ktracectl start box
        "$TARGET" calls 1 1000
        expect 0 ktracectl --json=short hist box calls
        same 5 "$(jq .hits out)" "after the next start"
}

case_hist_verbs_of_a_fenced_session() { # a user's session continues after its histogram is cleared or paused
        trap hist_end EXIT
        local i
        background user setpriv --no-new-privs sleep 1000
        user ktracectl create box --scope own --trigger "$ENTER do hist id"
        user ktracectl start box
        for i in 1 2 3 4; do
                user ktracectl hist box --clear
                user ktracectl hist box --pause
                user ktracectl hist box --continue
        done
        expect 0 user ktracectl --json=short hist box
        same running "$(ktracectl --json=short show box | jq -r .state)" "state"
}

# A shell of the user makes the calls on command, so that the session knows the process at its start.
own_caller() {
        trap hist_end EXIT
        mkfifo commands answers
        chmod 666 commands answers
        background user setpriv --no-new-privs \
                sh -c 'while read -r n nr; do "$0" calls "$n" "$nr"; echo done >&3; done <commands 3>answers' "$TARGET"
        CALLER=$BACKGROUND
        exec 7>commands 8<answers
}
own_calls() { # N NUMBER
        echo "$1 $2" >&7
        read -r _ <&8
}
# counted EXPRESSION NAME [SESSION]: evaluates the jq expression for a histogram of the user's session, default: box.
counted() {
        expect 0 user ktracectl --json=short hist "${3:-box}" "$2"
        jq -c "$1" out
}

case_hist_own_session() { # [guest] a histogram of own processes can be read, cleared, paused and continued
        own_caller
        jq -n --arg scope "pids:$CALLER" '{scope: $scope, triggers: [
                {when: "raw_syscalls:sys_enter if id == 1000", do: "hist", keys: ["common_pid.execname", "id"],
                        size: 128, name: "calls"},
                {when: "raw_syscalls:sys_enter if id == 1001", do: "hist", keys: ["id"], name: "others"},
                {when: "raw_syscalls:sys_exit if id >= 1000 && id <= 1001", do: "hist", keys: ["id"],
                        sort: ["id.descending"], name: "ends"}]}' >s.json
        user ktracectl create box --spec s.json
        refused 1 'does not exist before the session.s first start' user ktracectl hist box calls
        user ktracectl start box
        own_calls 5 1000
        own_calls 3 1001
        "$TARGET" calls 9 1000
        same '[["target",1000,5]]' "$(counted '[.rows[] | [.keys.common_pid.comm, .keys.id, .hitcount]]' calls)" "calls"
        same '[[1001,3]]' "$(counted '[.rows[] | [.keys.id, .hitcount]]' others)" "calls of another condition"
        same '[[1001,3],[1000,5]]' "$(counted '[.rows[] | [.keys.id, .hitcount]]' ends)" "what is sorted by its key"
        refused 2 '3 histograms match' user ktracectl hist box
        user ktracectl hist box calls --pause
        own_calls 7 1000
        same '5 true' "$(counted '"\(.hits) \(.paused)"' calls | jq -r .)" "paused"
        same 12 "$(counted '.rows[] | select(.keys.id == 1000).hitcount' ends)" "another is not paused"
        user ktracectl hist box calls --continue
        own_calls 2 1000
        same '7 false' "$(counted '"\(.hits) \(.paused)"' calls | jq -r .)" "continued"
        user ktracectl hist box calls --clear
        own_calls 4 1000
        same 4 "$(counted .hits calls)" "cleared"
        user ktracectl stop box
        own_calls 4 1000
        same '4 true' "$(counted '"\(.hits) \(.paused)"' calls | jq -r .)" "after the stop"
        refused 1 'counts while the session runs' user ktracectl hist box calls --continue
        user ktracectl start box
        own_calls 1 1000
        same '5 false' "$(counted '"\(.hits) \(.paused)"' calls | jq -r .)" "after the next start"
        user ktracectl destroy box
        within 20 no_instance || fail "an instance is left"
}

case_hist_beside_stream() { # [deep guest] a histogram counts with and without a reader; the stream keeps its own filter
        own_caller
        user ktracectl create box --scope "pids:$CALLER" -e $ENTER -f 'id == 1000' \
                --trigger "$ENTER if id >= 1000 && id <= 1002 do hist id" \
                --trigger "raw_syscalls:sys_exit if id == 1000 do hist id"
        user ktracectl start box
        own_calls 5 1000
        own_calls 6 1001
        # Events that were counted before are not in the stream.
        same 11 "$(counted .hits $ENTER)" "without a reader"
        streamed() { # FILE
                background user ktracectl stream box -o "$1"
                within 20 test -s "$1" || fail "no stream: $(cat background.err)"
        }
        streamed t.kts
        refused 1 'open already' user ktracectl stream box -o -
        own_calls 7 1000
        own_calls 8 1001
        same '[[1000,12],[1001,14]]' "$(counted '[.rows[] | [.keys.id, .hitcount]] | sort' $ENTER)" "beside a reader"
        kill -INT "$BACKGROUND"
        wait "$BACKGROUND" || true
        same '7 0 0' "$(count t.kts '.fields.id == 1000') $(count t.kts '.fields.id == 1001') $(count t.kts \
                '.event == "sys_exit"')" "the stream"
        own_calls 20 1000
        same 32 "$(counted '.rows[] | select(.keys.id == 1000).hitcount' $ENTER)" "when the reader has gone"
        # The next record shows that the reader has gone.
        own_calls 1 1000
        same 33 "$(counted '.rows[] | select(.keys.id == 1000).hitcount' $ENTER)" "when that was seen"
        streamed u.kts
        own_calls 4 1000
        same '37 37' "$(counted '.rows[] | select(.keys.id == 1000).hitcount' $ENTER) $(counted .hits \
                raw_syscalls:sys_exit)" "with another reader"
        user ktracectl destroy box
        wait "$BACKGROUND" || fail "stream: $(cat background.err)"
        same 4 "$(count u.kts '.fields.id == 1000')" "the second stream"
        within 20 no_instance || fail "an instance is left"
}

case_hist_own_notify() { # [guest smoke] notifications of a user's session report own hits only, up to the count
        own_caller
        jq -n --arg scope "pids:$CALLER" '{scope: $scope, triggers: [
                {when: "raw_syscalls:sys_enter if id == 1001", do: "notify"},
                {when: "raw_syscalls:sys_enter if id == 1002", do: "notify", count: 3}]}' >s.json
        user ktracectl create box --spec s.json
        background user ktracectl --json stream box --notify
        within 20 grep -q 'waiting for notifications' background.err || fail "$(cat background.err)"
        user ktracectl start box
        "$TARGET" calls 50 1001
        own_calls 5 1001
        own_calls 100 1002
        hits() { jq -sc "[.[] | select(.kind == \"notify\" and .trigger == $1).count] | add" background.out; }
        within 20 sh -c 'jq -se "any(.trigger == 0 and .total == 5) and
                any(.trigger == 1 and .total == 3)" background.out' ||
                fail "$(cat background.out)"
        user ktracectl stop box
        own_calls 9 1001
        user ktracectl start box
        own_calls 2 1001
        within 20 sh -c 'jq -se "any(.trigger == 0 and .total == 7)" background.out' || fail "$(cat background.out)"
        user ktracectl destroy box
        wait "$BACKGROUND" || fail "$(cat background.err)"
        same '7 3' "$(hits 0) $(hits 1)" "hits"
}

case_hist_own_refused() { # histogram keys that are not possible for own processes are refused at create
        jq -n '{scope: "own", mode: "flight", triggers: [{when: "raw_syscalls:sys_enter", do: "hist", keys: ["id"]}]}' \
                >s.json
        refused 2 'triggers\[0\].do: hist: a flight recorder of your own processes cannot count: use mode stream' \
                user ktracectl create box --spec s.json
        jq -n '{scope: "own", triggers: [
                {when: "raw_syscalls:sys_enter if comm == '"'sh'"'", do: "hist", keys: ["id"]},
                {when: "raw_syscalls:sys_enter", do: "hist", keys: ["common_pid"]}]}' >s.json
        refused 2 'comm is not in the record' user ktracectl create box --spec s.json
        within 20 no_instance || fail "an instance is left"
}

case_hist_counted_by() { # [guest smoke] the answers say who counts: the kernel if it can, else the stream worker
        local by=consumer
        own_caller
        ! kernel_counts || by=kernel
        user ktracectl create mine --scope "pids:$CALLER" --trigger "$ENTER do hist id"
        ktracectl create all --scope system --trigger "$ENTER do hist id"
        same "consumer $by" "$(user ktracectl --json=short show mine | jq -r '.histograms[0]."counted-by"'
                ) $(ktracectl --json=short show all | jq -r '.histograms[0]."counted-by"')" Describe
        user ktracectl start mine
        ktracectl start all
        same consumer "$(counted '."counted-by"' $ENTER mine | jq -r .)" "of own processes"
        expect 0 ktracectl --json=short hist all
        same $by "$(jq -r '."counted-by"' out)" "of all processes"
        expect 0 ktracectl hist all
        same $by "$(if grep -qx 'Counted by the stream worker.' out; then echo consumer; else echo kernel; fi)" "text"
}

case_hist_same_counts() { # [smoke] a user's session of a process counts the same as root's session
        own_caller
        jq -n --arg scope "pids:$CALLER" '{scope: $scope, triggers: [
                {name: "number", keys: ["id"], values: ["id"]},
                {name: "hex", keys: ["id.hex", "common_pid"], sort: ["id.descending"]},
                {name: "power", keys: ["id.log2"]},
                {name: "range", keys: ["id.buckets=3"], values: ["id"]},
                {name: "call", keys: ["id.syscall"]},
                {name: "task", keys: ["common_pid.execname", "id"]},
                {name: "full", keys: ["id"], size: 128}] |
                map(. + {when: "raw_syscalls:sys_enter if id >= 1000 || id == 0", do: "hist"})}' >s.json
        user ktracectl create mine --spec s.json
        ktracectl create theirs --spec s.json
        user ktracectl start mine
        ktracectl start theirs
        local i name
        for i in 1 2 3 4 5 6 7 8 9; do own_calls $((i * 3)) $((1000 + i * i)); done
        for name in number hex power range call task full; do
                table() { # by USER of SESSION
                        expect 0 "$@" $name
                        jq -cS '[.hits, .entries, .dropped, ([.rows[] | [.keys, .hitcount, .values]] | sort)]' out
                }
                same "$(table user ktracectl --json=short hist mine)" \
                        "$(table ktracectl --json=short hist theirs)" $name
        done
        # Call 0 is read(2) on x86-64, which the shell also makes. On arm64 no program here makes it.
        jq -e '.[0] >= 135 and (.[3] | length) >= 9' <<<"$(name=number && table ktracectl --json=short hist theirs)" \
                >/dev/null || fail "$(cat out)"
}

case_hist_system_beside_stream() { # [deep guest] a histogram of all processes counts with and without a reader
        trap hist_end EXIT
        ktracectl create box --scope system -e $ENTER -f 'id == 1000' \
                --trigger "$ENTER if id >= 1000 && id <= 1002 do hist id" \
                --trigger "raw_syscalls:sys_exit if id == 1000 do hist common_pid.execname"
        ktracectl start box
        counts() { # NAME
                expect 0 ktracectl --json=short hist box "$1"
                jq -c '[.rows[] | [.keys.id // .keys.common_pid.comm, .hitcount]] | sort' out
        }
        "$TARGET" calls 5 1000
        "$TARGET" calls 6 1001
        same '[[1000,5],[1001,6]]' "$(counts $ENTER)" "without a reader"
        background ktracectl stream box -o t.kts
        within 20 test -s t.kts || fail "no stream: $(cat background.err)"
        "$TARGET" calls 7 1000
        "$TARGET" calls 8 1001
        same '[[1000,12],[1001,14]]' "$(counts $ENTER)" "beside a reader"
        same '[["target",5],["target",7]]' "$(counts raw_syscalls:sys_exit)" "by name"
        ktracectl destroy box
        wait "$BACKGROUND" || fail "stream: $(cat background.err)"
        [ "$(count t.kts '.fields.id == 1000')" -ge 7 ] || fail "the stream"
        # Nothing that was recorded only to be counted: the other calls, their ends, forks and names.
        same 0 "$(count t.kts '.fields.id == 1001 or (.event | IN("sys_exit", "task_rename", "sched_process_fork"))')" \
                "hidden records"
        within 20 no_instance || fail "an instance is left"
}

case_hist_names_of_all() { # each process has its name, also if it began before the session
        own_caller
        local i
        ktracectl create box --scope system --trigger "$ENTER do hist common_pid.execname" \
                --trigger "raw_syscalls:sys_exit if id == 1000 do hist common_pid.execname"
        for i in 1 2; do
                ktracectl start box
                own_calls 1 1000
                sh -c 'exec "$0" calls 1 1000' "$TARGET"
                expect 0 ktracectl --json=short hist box $ENTER
                same sh "$(jq -r ".rows[].keys.common_pid | select(.pid == $CALLER).comm" out)" "of an old process"
                same '[]' "$(jq -c '[.rows[].keys.common_pid | select(.comm == "<...>")]' out)" "without a name"
                expect 0 ktracectl --json=short hist box raw_syscalls:sys_exit
                same "$((2 * i)) target" "$(jq -r '[.rows[].keys.common_pid.comm] |
                        "\(length) \(unique | join(" "))"' out)" "of new processes"
                ktracectl stop box
        done
}

case_hist_system_lost() { # records that were lost before they were counted are reported with the table
        ! kernel_counts || skip "the kernel counts"
        trap hist_end EXIT
        local worker
        ktracectl create box --scope system -b 64 --trigger "$ENTER if id == 1000 do hist id"
        ktracectl start box
        "$TARGET" calls 10 1000
        worker=$(ktracectl --json=short show box | jq '."worker-pid" // .statistics."worker-pid"')
        kill -STOP "$worker"
        "$TARGET" calls 100000 1000
        kill -CONT "$worker"
        expect 0 ktracectl --json=short hist box
        jq -e '.lost > 0 and .lost + .hits == 100010' out >/dev/null || fail "$(jq -c 'del(.rows)' out)"
        expect 0 ktracectl hist box
        grep -q 'records were lost and are not counted: use a larger buffer' out || fail "$(cat out)"
        ktracectl hist box --clear
        same null "$(ktracectl --json=short hist box | jq .lost)" "after a clear"
        # Clearing the buffer resets the kernel's counters of lost records.
        ktracectl clear box
        "$TARGET" calls 10 1000
        same '10 null' "$(ktracectl --json=short hist box | jq -r '"\(.hits) \(.lost)"')" "after a clear of the buffer"
}

case_hist_system_worker_killed() { # a session whose worker counts ends when the worker is killed
        ! kernel_counts || skip "the kernel counts"
        trap hist_end EXIT
        local worker
        ktracectl create box --scope system --trigger "$ENTER do hist id"
        ktracectl start box
        worker=$(ktracectl --json=short show box | jq '."worker-pid" // .statistics."worker-pid"')
        kill -KILL "$worker"
        within 20 no_instance || fail "an instance is left"
        refused 1 'no session has this name' ktracectl hist box
}

case_hist_kernel_keys() { # functions of the kernel are keys only where the kernel counts
        ! kernel_counts || skip "the kernel counts"
        local key
        for key in stacktrace id.sym; do
                refused 1 "${key%.*}: this kernel has no histograms .*, and functions of the kernel cannot be counted" \
                        ktracectl create bad --scope system --unredacted --trigger "$ENTER do hist $key"
        done
        refused 1 'hist on raw_syscalls:sys_enter: this kernel has no histograms' \
                ktracectl create bad --scope system --mode flight --trigger "$ENTER do hist id"
        within 20 no_instance || fail "an instance is left"
}

case_hist_many_at_once() { # [deep guest] twenty calls for one table are all answered, even if the session ends
        trap hist_end EXIT
        ktracectl create box --scope system --trigger "$ENTER do hist common_pid,id"
        ktracectl start box
        local i pids=()
        for i in $(seq 20); do
                ktracectl --json=short hist box >"many.$i" &
                pids+=($!)
        done
        for i in "${pids[@]}"; do wait "$i" || fail "one of them failed"; done
        for i in $(seq 20); do jq -e '.entries > 0 and .told == (.rows | length)' "many.$i" >/dev/null ||
                fail "$(cat "many.$i")"; done
        for i in $(seq 8); do ktracectl hist box >/dev/null 2>&1 & done
        ktracectl destroy box
        wait
        within 20 no_instance || fail "an instance is left"
}

case_hist_refused() { # [asan] each mistake in a histogram is reported with its place and the remedy, on every kernel
        try() { # STATUS PATTERN TRIGGER: by a user, of processes of their own
                jq -nc "{scope: \"own\", triggers: [$3]}" >t.json
                refused "$1" "$2" user ktracectl create bad --spec t.json
        }
        local when='when: "raw_syscalls:sys_enter", do: "hist"'
        try 2 'triggers\[0\].keys\[1\]: "ide": raw_syscalls:sys_enter has no such field, did you mean id' \
                "{$when, keys: [\"common_pid\", \"ide\"]}"
        try 2 'triggers\[0\].keys\[0\]: "id.foo": .*write .log2' "{$when, keys: [\"id.foo\"]}"
        try 2 'triggers\[0\].keys\[0\]: "id.buckets=0"' "{$when, keys: [\"id.buckets=0\"]}"
        try 2 'triggers\[0\].keys\[0\]: "id.execname": .*only knows the name of common_pid' \
                "{$when, keys: [\"id.execname\"]}"
        try 2 'triggers\[0\].keys\[1\]: "id.hex": is already a key' "{$when, keys: [\"id\", \"id.hex\"]}"
        try 2 'triggers\[0\].keys\[0\]: "hitcount"' "{$when, keys: [\"hitcount\"]}"
        try 2 'triggers\[0\].keys: .*3' "{$when, keys: [\"id\", \"common_pid\", \"common_cpu\", \"common_flags\"]}"
        try 2 'triggers\[0\].size: 1000 is not a power of two: write 1024' "{$when, keys: [\"id\"], size: 1000}"
        try 2 'triggers\[0\].sort\[0\]: "args": is neither hitcount nor' "{$when, keys: [\"id\"], sort: [\"args\"]}"
        try 2 'triggers\[0\].values\[0\]: "filename": is not a number' \
                '{when: "sched:sched_process_exec", do: "hist", keys: ["pid"], values: ["filename"]}'
        local who='only users who may see kernel addresses may count by kernel functions'
        try 3 "triggers\\[0\\].keys\\[0\\]: \"stacktrace\": $who" "{$when, keys: [\"stacktrace\"]}"
        try 3 'triggers\[0\].keys\[0\]: "id.sym": only users who may see' "{$when, keys: [\"id.sym\"]}"
        try 3 'triggers\[0\].when: sched:sched_switch can describe tasks that are not traced' \
                '{when: "sched:sched_switch", do: "hist", keys: ["next_pid"]}'
        refused 2 'key is missing' user ktracectl hist -e $ENTER
        refused 2 'exclude each other' user ktracectl hist -e $ENTER --latency a:b..c:d --key id
        refused 2 'write two events, FROM..TO' user ktracectl hist --latency sched:sched_waking --key pid
        refused 1 'No such session|no session' user ktracectl hist nosuch
        within 20 no_instance || fail "an instance is left"
}

case_hist_refused_in_words() { # errors of hist name the option that was typed, on every kernel
        said() { # STATUS LINE ARGUMENT...: of hist, by a user
                local status=$1 line=$2
                shift 2
                expect "$status" user ktracectl hist "$@" -- true
                same "ktracectl: $line" "$(head -n 1 err)" "what is said"
                ! grep -q 'triggers\|args\[\|key\[' err || fail "$(cat err)"
        }
        said 2 "--key: \"ide\": $ENTER has no such field, did you mean id: 'ktracectl events -v $ENTER' lists them" \
                -e $ENTER --key id --key ide
        said 2 '--size: 1000 is not a power of two: write 1024' -e $ENTER --key id --size 1000
        said 2 "$ENTER: -f \"id == 1 && foo\" column 15: expected one of == != < <= > >= & ~, got the end" -e $ENTER \
                --key id -f 'id == 1 && foo'
        refused 3 'ktracectl: -e: sched:sched_switch can describe tasks that are not traced' user ktracectl hist \
                -e sched:sched_switch --key next_pid -- true
        local lists="'ktracectl events' lists what you may use"
        said 3 "--latency \"sched:nosuch..$ENTER\": \"sched:nosuch\": not granted; $lists" \
                --latency "sched:nosuch..$ENTER" --key id
        said 2 "-e: \"sys_enter\" is not one event: write system:event, as 'ktracectl events sys_enter' lists them" \
                -e sys_enter --key id
        [ -e "$TRACEFS/synthetic_events" ] ||
                refused 1 '^ktracectl: --latency: this kernel cannot pair events' user ktracectl hist \
                --latency "$ENTER..raw_syscalls:sys_exit" --key common_pid -- true
        local granted='50-default.json: own-processes only grants traces of your own processes'
        said 3 "--latency: $granted, so both events must be of one task: add common_pid to its keys" \
                --latency "$ENTER..raw_syscalls:sys_exit" --key id
        user() { "$@"; }
        said 2 "--key \"id=nosuch\" column 4: sys_enter has no field nosuch: it has id, args" \
                --latency "$ENTER..$ENTER" --key id=nosuch
        said 2 "--by \"nosuch\" column 1: sys_exit has no field nosuch: it has id, ret" \
                --latency "$ENTER..raw_syscalls:sys_exit" --key id --by nosuch
}

case_hist_hostile_names() { # process names that look like a table are shown unchanged
        echo 'import ctypes
libc = ctypes.CDLL(None)
for name in [b"{ a: 1 } hitcou", b"a\nb", b"\"q\", x: 1", b"} hitcount: 9\n",
             b"\xff\x01", b"\n\nTotals:\n", b" } hitcount:1\n{"]:
        libc.prctl(15, name, 0, 0, 0)
        for i in range(3): libc.syscall(1000)' >names.py
        expect 0 user ktracectl --json=short hist -e $ENTER -f 'id == 1000' --key common_pid.execname \
                -- python3 names.py
        same '{ a: 1 } hitcou' "$(jq -r '.rows[].keys.common_pid.comm' out | head -n 1)" "the first name of the thread"
        same 21 "$(jq .hits out)" "hits"
        # A record of a rename contains both names.
        expect 0 ktracectl --json=short hist -a -e task:task_rename --key newcomm --key pid -- python3 names.py
        for name in '{ a: 1 } hitcou' 'a\\x0ab' '"q", x: 1' '} hitcount: 9\\x0a' '\\xff\\x01' '\\x0a\\x0aTotals:\\x0a' \
                ' } hitcount:1\\x0a{'; do
                jq -e --arg n "$(printf '%b' "$name")" 'any(.rows[]; .keys.newcomm == $n)' out >/dev/null ||
                        fail "no $name: $(cat out)"
        done
}

case_hist_forged_table() { # [guest] a file name cannot forge lines of the table
        hists
        echo 'import os
target = b"/" + b"0123456789" * 6 + b" } hitcount:          9\n{ filename: " + b"y" * 60
os.symlink(b"/bin/true", os.getcwdb() + target)
os.execv(os.getcwdb() + target, [b"true"])' >forge.py
        expect 125 ktracectl hist -a -e sched:sched_process_exec --key filename -- python3 forge.py
        grep -q 'may have been meant to look like' err || fail "$(cat out err)"
}

case_hist_latency() { # [deep guest] a histogram of the time between two events, as documented
        hists
        [ -e "$TRACEFS/synthetic_events" ] || skip "this kernel has no pairs of events"
        recording ktracectl hist --latency sched:sched_waking..sched:sched_switch --key pid=next_pid --by next_comm
        sleep 1 # who sleeps is woken
        ends_well
        grep -qE '^ *latency +next_comm +hits' background.out || fail "$(cat background.out background.err)"
        grep -q '^sched:sched_waking..sched:sched_switch: [0-9,]* hits in' background.out ||
                fail "no name: $(cat background.out)"
        grep -qE '[0-9]+ \.\. [0-9]+ us  ' background.out || fail "$(cat background.out background.err)"
        # Five sleeps of 20 ms, with their times by the kernel's clock.
        expect 0 ktracectl --json=short hist \
                -a --latency syscalls:sys_enter_clock_nanosleep..syscalls:sys_exit_clock_nanosleep --key common_pid \
                --by ret -- \
                sh -c 'for i in 1 2 3 4 5; do sleep 0.02; done'
        same 5 "$(jq '[.rows[] | select(.keys.latency.to >= 20000 and .keys.latency.from < 4000000 and
                .keys.ret == 0).hitcount] | add' out)" "sleeps"
        # A field of the second event with what the histogram makes of it; the groups by their total time.
        expect 0 ktracectl hist -a --latency $ENTER..raw_syscalls:sys_exit --key common_pid --by id.syscall -- sleep 0.1
        grep -qE ' us  (clock_nanosleep|nanosleep) +[0-9]' out || fail "$(cat out err)"
        expect 0 ktracectl --json=short hist -a --latency $ENTER..raw_syscalls:sys_exit --key common_pid \
                --by id.syscall -- sleep 0.1
        jq -e '[.rows[] | select(.keys.id.name // "" | test("nanosleep")) | .values.latency] | add >= 100000' out ||
                fail "$(cat out)"
        same '[]' "$(ktracectl --json=short probes list | jq -c '[.[] | select(.name | startswith("latency_"))]')" \
                "probes that are left"
        ! grep -q 'ktrace_' "$TRACEFS/dynamic_events" || fail "$(cat "$TRACEFS/dynamic_events")"
}

case_hist_latency_own() { # [guest smoke] a histogram of the time between two events of own processes
        [ -e "$TRACEFS/synthetic_events" ] || skip "this kernel has no pairs of events"
        expect 0 user ktracectl --json=short hist \
                --latency syscalls:sys_enter_clock_nanosleep..syscalls:sys_exit_clock_nanosleep --key common_pid \
                --by ret -- \
                sh -c 'for i in 1 2 3 4 5; do sleep 0.02; done'
        same 5 "$(jq '[.rows[] | select(.keys.latency.to >= 20000 and .keys.latency.from < 4000000 and
                .keys.ret == 0).hitcount] | add' out)" "sleeps"
        ! grep -q 'ktrace_' "$TRACEFS/dynamic_events" || fail "$(cat "$TRACEFS/dynamic_events")"
}

case_hist_of_others() { # a histogram of own processes counts no hits of other users, who cannot read it
        trap hist_end EXIT
        user ktracectl create mine --scope own --trigger "$ENTER do hist id"
        expect 1 stranger ktracectl hist mine
        local id
        id=$(ktracectl list --json=short | jq -r '.[0].id')
        expect 1 stranger ktracectl hist "$id"
        background stranger "$TARGET" callers 1 1002
        expect 0 user ktracectl --json=short hist -e $ENTER -f 'id == 1002' --key id -- "$TARGET" calls 9 1002
        same 9 "$(jq .hits out)" "hits beside a stranger's"
}

case_hist_ends_early() { # [deep guest] a session that ends before its worker has started ends like any other
        local pid
        own_caller
        ktracectl status >/dev/null
        pid=$(daemon_pid)
        for _ in 1 2 3 4; do
                user ktracectl create early --scope "pids:$CALLER" --trigger "$ENTER do hist id"
                user ktracectl start early
                user ktracectl destroy early
                within 20 no_instance || fail "an instance is left"
        done
        same "$pid" "$(daemon_pid)" "the daemon"
}

case_hist_memory() { # [guest] the memory of histograms counts towards the buffer limit
        jq -nc '{scope: "own", triggers: [range(8) |
                {when: "raw_syscalls:sys_enter if id == \(.)", do: "hist", keys: ["id"], size: 131072}]}' >big.json
        refused 1 'max-buffer-kb' user ktracectl create big --spec big.json
        within 20 no_instance || fail "an instance is left"
}
