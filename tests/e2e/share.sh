# SPDX-License-Identifier: LGPL-2.1-or-later
# Sessions of the whole system that share one instance. Each must get what an instance of its own would have recorded.

# viewer NAME WORD...: a recording into NAME.kts that may share. It runs when this returns.
viewer() {
        local name=$1
        shift
        background ktracectl record -q -a --share -o "$name.kts" "$@"
        viewers[$name]=$BACKGROUND
        within 30 n_running "${#viewers[@]}" || fail "$name did not start: $(cat background.err)"
}
declare -A viewers=()
n_running() { ktracectl list --json=short | jq -e "[.[] | select(.state == \"running\")] | length == $1"; }
# viewer_ends NAME: ^C, and the file is complete.
viewer_ends() {
        kill -INT "${viewers[$1]}"
        wait "${viewers[$1]}" || fail "$1: status $?: $(cat background.err)"
        unset "viewers[$1]"
}
# calls_in FILE EVENT: its calls of number 1000.
calls_in() { count "$1" ".event == \"$2\" and .fields.id == 1000"; }

case_share_exact() { # viewers of different events share one instance; each gets its own events, and all of them
        viewer one -e raw_syscalls:sys_enter
        viewer two -e raw_syscalls:sys_exit -e raw_syscalls:sys_enter
        same 1 "$(instances)" "instances"
        "$TARGET" calls 500 1000
        viewer three -e raw_syscalls:sys_enter -e sched:sched_process_exit
        ktracectl verify
        "$TARGET" calls 300 1000
        viewer_ends one
        "$TARGET" calls 200 1000
        viewer_ends two
        viewer_ends three
        same 800 "$(calls_in one.kts sys_enter)" "calls of one"
        same 0 "$(count one.kts '.event != "sys_enter"')" "events that one did not ask for"
        same 1000 "$(calls_in two.kts sys_enter)" "calls of two"
        same 1000 "$(calls_in two.kts sys_exit)" "returns of two"
        same 500 "$(calls_in three.kts sys_enter)" "calls of three"
        same 0 "$(count three.kts '.event == "sys_exit"')" "returns that three did not ask for"
        ktracectl report --receipt --json=short one.kts | jq -e .shared >/dev/null || fail "not in the receipt"
}

addresses_in() { ktracectl report "$1" | grep -c ffffffff81234560 || true; }
# viewer_of AS NAME WORD...: as viewer, but `user` or `stranger` records.
viewer_of() {
        local as=$1 name=$2
        shift 2
        background "$as" ktracectl record -q -a --share -o "$name.kts" "$@"
        viewers[$name]=$BACKGROUND
        within 30 n_running "${#viewers[@]}" || fail "$name did not start: $(cat background.err)"
}
user_viewer() { viewer_of user "$@"; }
# users_rule [LIMITS]: the user and the stranger may record calls of the whole system, without kernel addresses.
users_rule() {
        user_rule "\"scopes\": [\"system\"], \"processes\": \"any\", \"max-linger-sec\": 600, \"addresses\": \"zero\",
                \"events\": [\"raw_syscalls:*\", \"sched:sched_process_exit\"]${1:+, \"limits\": {$1\}}"
        sed -i "s/{\"uid\": $USER_UID}/&, {\"uid\": $STRANGER_UID}/" "$RULES"
        ktracectl policy reload
        chmod 777 .
}
# viewers_of_instances: the number of sessions in each shared instance.
viewers_of_instances() { ktracectl status --json=short | jq -c '[.daemon.shares[].viewers]'; }
# call_with_address: 50 calls with a kernel address as an argument.
call_with_address() {
        /usr/bin/python3 -c 'import ctypes
for _ in range(50): ctypes.CDLL(None).syscall(1000, ctypes.c_ulong(0xffffffff81234560))'
}

case_share_packed() { # a session whose stream is compressed gets the same as one whose stream is not
        viewer packed --compression zstd -e raw_syscalls:sys_enter
        viewer plain -e raw_syscalls:sys_enter
        same 1 "$(instances)" "instances"
        "$TARGET" calls 3000 1000
        viewer_ends packed
        viewer_ends plain
        same 3000 "$(calls_in packed.kts sys_enter)" "calls of the compressed one"
        same 3000 "$(calls_in plain.kts sys_enter)" "calls of the other one"
}

case_share_users() { # users who record the same share one instance; the cuts of each hold, and each gets everything
        local name
        users_rule
        viewer root --unredacted -e raw_syscalls:sys_enter
        user_viewer mine -e raw_syscalls:sys_enter
        viewer_of stranger theirs -e raw_syscalls:sys_enter
        same '[3]' "$(viewers_of_instances)" "viewers of each instance"
        call_with_address
        viewer_ends root
        "$TARGET" calls 30 1000
        viewer_ends theirs
        "$TARGET" calls 20 1000
        viewer_ends mine
        same '50 80 100' "$(for name in root theirs mine; do calls_in $name.kts sys_enter; done | xargs)" "calls"
        same '50 0 0' "$(for name in root theirs mine; do addresses_in $name.kts; done | xargs)" "addresses"
}

case_share_rules() { # users who record different events or filters do not share, so none fills another's ring
        local name
        users_rule
        viewer root --unredacted -e raw_syscalls:sys_enter
        user_viewer one -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit
        user_viewer two -e raw_syscalls:sys_exit
        same '[1,2]' "$(viewers_of_instances)" "viewers of each instance"
        # The user's sessions differ, so a stranger cannot join them.
        viewer_of stranger three -e raw_syscalls:sys_exit -e raw_syscalls:sys_enter
        viewer_of stranger four -e raw_syscalls:sys_enter -f 'id == 1000'
        same '[1,2,2]' "$(viewers_of_instances)" "viewers of each instance"
        user_viewer five -e raw_syscalls:sys_exit --off -e raw_syscalls:sys_enter
        same '[1,3,2]' "$(viewers_of_instances)" "viewers of each instance"
        call_with_address
        for name in root one two three four five; do
                viewer_ends $name
        done
        same '50 50 0 50 50 50' \
                "$(for name in root one two three four five; do calls_in $name.kts sys_enter; done | xargs)" "calls"
        same '50 50 50 0' "$(for name in one two three five; do calls_in $name.kts sys_exit; done | xargs)" "returns"
        same '50 0 0' "$(for name in root one three; do addresses_in $name.kts; done | xargs)" "addresses"
}

case_share_users_wide() { # no user pays for events that only another user's filters or switches let in
        users_rule
        user_viewer one -e raw_syscalls:sys_enter -f 'id == 1000'
        user_viewer wide -e raw_syscalls:sys_enter
        same none "$(kernel_filter)" "filter beside a session without one"
        viewer_of stranger two -e raw_syscalls:sys_enter -f 'id == 1000'
        same '[2,1]' "$(viewers_of_instances)" "viewers of each instance"
        grep -q 'id == 1000' "$(share_filter 1)" || fail "the stranger's instance has no filter"
        # When the sessions agree again, the kernel has their filter again.
        viewer_ends wide
        within 10 eval '[ "$(viewers_of_instances)" = "[1,1]" ]' || fail "viewers: $(viewers_of_instances)"
        grep -q 'id == 1000' "$(share_filter)" || fail "the filter is $(kernel_filter)"
        viewer_of stranger third -e raw_syscalls:sys_enter -f 'id == 1000'
        same '[2,1]' "$(viewers_of_instances)" "viewers of each instance"
        "$TARGET" calls 50 1000
        viewer_ends one
        viewer_ends two
        viewer_ends third
        same '50 50 50' "$(calls_in one.kts sys_enter) $(calls_in two.kts sys_enter) $(calls_in third.kts sys_enter)" \
                "calls"
        within 10 eval '[ "$(viewers_of_instances)" = "[]" ]' || fail "viewers: $(viewers_of_instances)"
        # One of them may turn on what is off at the beginning.
        user_viewer three -e raw_syscalls:sys_exit --off -e raw_syscalls:sys_enter
        viewer_of stranger four -e raw_syscalls:sys_exit --off -e raw_syscalls:sys_enter
        same '[1,1]' "$(viewers_of_instances)" "viewers of each instance"
        viewer_ends three
        viewer_ends four
}

case_share_users_memory() { # a shared instance counts for each user in it, and one that is too large is not joined
        local cpus
        cpus=$(nproc)
        users_rule "\"max-buffer-kb-per-uid\": $((cpus * 5000)), \"max-buffer-kb\": 3000"
        ktracectl create -q large -a --share --lifetime linger -b 4096 -e raw_syscalls:sys_enter
        user ktracectl create -q mine -a --share --lifetime linger -b 2048 -e raw_syscalls:sys_enter
        same '[1,1]' "$(viewers_of_instances)" "viewers of each instance"
        stranger ktracectl create -q theirs -a --share --lifetime linger -b 64 -e raw_syscalls:sys_enter
        same '[1,2]' "$(viewers_of_instances)" "viewers of each instance"
        # It would fit into the limit of a session, but not into what is left for the user.
        ktracectl create -q boot -a --share --clock boot --lifetime linger -b 2980 -e raw_syscalls:sys_enter
        stranger ktracectl create -q other -a --share --clock boot --lifetime linger -b 64 -e raw_syscalls:sys_enter
        same '[1,2,1,1]' "$(viewers_of_instances)" "viewers of each instance"
        stranger ktracectl destroy other
        ktracectl destroy boot
        within 10 eval '[ "$(viewers_of_instances)" = "[1,2]" ]' || fail "viewers: $(viewers_of_instances)"
        user ktracectl destroy mine
        within 10 eval '[ "$(viewers_of_instances)" = "[1,1]" ]' || fail "viewers: $(viewers_of_instances)"
        same $((cpus * 2048)) "$(stranger ktracectl status --json=short | jq '.limits."buffer-kb"')" \
                "kB of the user who is left"
        same 0 "$(user ktracectl status --json=short | jq '.limits."buffer-kb"')" "kB of the user who has left"
        refused 1 'max-buffer-kb-per-uid' stranger ktracectl create boot -a --share --clock boot -b 3000 \
                --lifetime linger -e raw_syscalls:sys_enter
        stranger ktracectl destroy theirs
        ktracectl destroy large
}

case_share_users_many() { # beside other users, a user has at most four sessions in one instance
        local i
        users_rule
        for i in 1 2 3 4 5; do
                user ktracectl create -q "mine$i" -a --share --lifetime linger -e raw_syscalls:sys_enter
        done
        stranger ktracectl create -q theirs -a --share --lifetime linger -e raw_syscalls:sys_enter
        same '[5,1]' "$(viewers_of_instances)" "viewers of each instance"
        user ktracectl destroy mine1
        user ktracectl destroy mine2
        within 10 eval '[ "$(viewers_of_instances)" = "[3,1]" ]' || fail "viewers: $(viewers_of_instances)"
        stranger ktracectl destroy theirs
        stranger ktracectl create -q theirs -a --share --lifetime linger -e raw_syscalls:sys_enter
        within 10 eval '[ "$(viewers_of_instances)" = "[4]" ]' || fail "viewers: $(viewers_of_instances)"
        user ktracectl create -q mine6 -a --share --lifetime linger -e raw_syscalls:sys_enter
        user ktracectl create -q mine7 -a --share --lifetime linger -e raw_syscalls:sys_enter
        same '[5,1]' "$(viewers_of_instances)" "viewers of each instance"
        for i in 3 4 5 6 7; do user ktracectl destroy "mine$i"; done
        stranger ktracectl destroy theirs
}

case_share_exclusive() { # what belongs to an instance as a whole gets an instance of its own, and says why
        viewer one -e raw_syscalls:sys_enter
        # Only the kernel knows the name of the task.
        ktracectl create filtered -a --share --lifetime linger -e raw_syscalls:sys_enter -f 'comm == "x"'
        same filter "$(ktracectl show --json=short filtered | jq -r .exclusive)" "the reason"
        ktracectl create own --scope own --share --lifetime linger -e raw_syscalls:sys_enter
        same scope "$(ktracectl show --json=short own | jq -r .exclusive)" "the reason"
        ktracectl create flight -a --share --mode flight --lifetime linger -e raw_syscalls:sys_enter
        same mode "$(ktracectl show --json=short flight | jq -r .exclusive)" "the reason"
        ktracectl create clock -a --share --clock boot --lifetime linger -e raw_syscalls:sys_enter
        ktracectl create large -a --share -b 2048 --lifetime linger -e raw_syscalls:sys_enter
        ktracectl create small -a --share -b 64 --lifetime linger -e raw_syscalls:sys_enter
        same 2 "$(ktracectl status --json=short | jq '.daemon.shares[0].viewers')" "viewers of the first share"
        same 3 "$(ktracectl status --json=short | jq '.daemon.shares | length')" "shares"
        refused 1 'shares its instance' ktracectl set small buffer-kb 128
        refused 1 'shares its instance' ktracectl clear small
        refused 2 'share: "often" is not known: write auto or never' ktracectl create x --spec - \
                <<<'{"scope": "system", "events": ["raw_syscalls:sys_enter"], "share": "often"}'
        # The removal of such an event would empty the ring of all.
        echo "p:ktest_share/probed /bin/true:0x1000" >>"$TRACEFS/dynamic_events"
        ktracectl create dynamic -a --share --lifetime linger -e raw_syscalls:sys_enter -e ktest_share:probed
        same events "$(ktracectl show --json=short dynamic | jq -r .exclusive)" "the reason"
        ktracectl destroy dynamic
        echo "-:ktest_share/probed" >>"$TRACEFS/dynamic_events"
        for name in filtered own flight clock large small; do ktracectl destroy $name; done
        viewer_ends one
}

# ids_in FILE: how often each number was called.
ids_in() { ktracectl report --json=short "$1" | jq 'select(.event == "sys_enter").fields.id' | sort | uniq -c | xargs; }
share_id() { ktracectl status --json=short | jq -r ".daemon.shares[${1:-0}].id"; }
share_filter() { echo "$TRACEFS/instances/ktrace-$(share_id "${1:-0}")/events/raw_syscalls/sys_enter/filter"; }
kernel_filter() { cat "$(share_filter)"; }
case_share_filters() { # each session gets what its own filter lets through, whatever filters the others have
        viewer narrow -e raw_syscalls:sys_enter -f 'id == 1000'
        viewer same -e raw_syscalls:sys_enter -f 'id == 1000'
        same 'id == 1000' "$(kernel_filter)" "the kernel's filter"
        "$TARGET" calls 30 1000
        viewer other -e raw_syscalls:sys_enter -f 'id >= 1001 && !(id > 1002)'
        same none "$(kernel_filter)" "the kernel's filter of two that differ"
        same 1 "$(instances)" "instances"
        ktracectl verify
        for id in 1000 1001 1002 1003; do "$TARGET" calls 20 $id; done
        viewer_ends narrow
        same none "$(kernel_filter)" "the kernel's filter of two that still differ"
        # A filter of many levels.
        nested=$(printf '(id == 2001 || id == 2002 && %.0s' $(seq 20))'id == 2003'$(printf ')%.0s' $(seq 20))
        viewer nested -e raw_syscalls:sys_enter -f "$nested || id == 1001"
        same 1 "$(ktracectl status --json=short | jq '.daemon.shares | length')" "shares"
        "$TARGET" calls 10 1001
        viewer_ends nested
        "$TARGET" calls 10 1000
        viewer_ends same
        # The last one agrees with itself.
        within 10 eval '[ "$(kernel_filter)" != none ]' || fail "the kernel's filter does not come back"
        "$TARGET" calls 10 1000
        "$TARGET" calls 10 1001
        viewer_ends other
        same '50 1000' "$(ids_in narrow.kts)" "calls of narrow"
        same '60 1000' "$(ids_in same.kts)" "calls of same"
        same '40 1001 20 1002' "$(ids_in other.kts)" "calls of other"
        same '10 1001' "$(ids_in nested.kts)" "calls of nested"
}

# calls_of FILE: each recorded call of the numbers 1000 to 1003, in order.
calls_of() {
        ktracectl report --json=short "$1" |
                jq -c 'select(.fields.id >= 1000 and .fields.id < 1004) | [.event, .fields.id]'
}
case_share_property() { # [deep] random sessions get in a shared instance what they get in one of their own
        local filters=('id >= 1000' 'id == 1000' 'id & 1 && id >= 1000' 'id > 1000 && !(id == 1002)'
                'id >= 1000 && common_pid > 1' 'id == 1003 || id == 1001 && CPU >= 0')
        local i filter events
        for i in 1 2 3 4 5 6; do
                filter=${filters[RANDOM % 6]}
                events=(-e raw_syscalls:sys_enter)
                [ $((RANDOM % 2)) = 0 ] || events+=(-e raw_syscalls:sys_exit)
                echo "session $i: $filter ${events[*]}"
                viewer "shared$i" "${events[@]}" -f "$filter"
                background ktracectl record -q -a -o "own$i.kts" "${events[@]}" -f "$filter"
                viewers[own$i]=$BACKGROUND
                within 30 n_running "${#viewers[@]}" || fail "own$i did not start"
        done
        for _ in {1..40}; do "$TARGET" calls $((RANDOM % 20 + 1)) $((1000 + RANDOM % 4)); done
        for i in 1 2 3 4 5 6; do
                viewer_ends "shared$i"
                viewer_ends "own$i"
                calls_of "own$i.kts" >own
                [ -s own ] || fail "session $i: no calls"
                calls_of "shared$i.kts" >shared
                cmp own shared || fail "session $i"
        done
}

kernel_filter_is() { [ "$(kernel_filter)" = "$1" ]; }
# interferences: for each session, how many changes of its instance were reported to it, in order.
interferences() {
        ktracectl list --json=short | jq -r '.[].id' | while read -r id; do
                ktracectl show --json=short "$id" | jq '[.. | .interference? // empty] | add // 0'
        done | sort -n | xargs
}
interferences_are() { [ "$(interferences)" = "$1" ]; }
case_share_tampered() { # what another program changes is put back, and reported to each session whose records it cost
        local name
        viewer one -e raw_syscalls:sys_enter -f 'id == 1000'
        viewer two -e raw_syscalls:sys_enter
        viewer other -e sched:sched_process_exit
        echo 'id == 5' >"$(share_filter)"
        within 20 kernel_filter_is none || fail "the foreign filter stays"
        within 10 interferences_are '0 1 1' || fail "after the filter: $(interferences)"
        echo 0 >"$TRACEFS/instances/ktrace-$(share_id)/tracing_on"
        within 10 interferences_are '1 2 2' || fail "after tracing_on: $(interferences)"
        "$TARGET" calls 10 1000
        kill -INT "${viewers[@]}"
        for name in one two other; do
                status=0
                wait "${viewers[$name]}" || status=$?
                same 4 $status "the status of $name"
        done
        viewers=()
        same '10 1000' "$(ids_in one.kts)" "calls of one"
        same 10 "$(calls_in two.kts sys_enter)" "calls of two"
        same 0 "$(count other.kts '.event == "print" and (.fields.buf | contains("filter"))')" "marks about a filter"
        [ "$(count two.kts '.event == "print" and (.fields.buf | contains("interference"))')" -ge 2 ] || fail "no marks"
}

case_share_switched() { # stops, starts and switched events of one session do not touch the others
        viewer one -e raw_syscalls:sys_enter
        ktracectl create two -a --share --lifetime linger -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit
        ktracectl start two
        background ktracectl record -q -a --share -e raw_syscalls:sys_exit -o exits.kts
        viewers[exits]=$BACKGROUND
        within 30 n_running 3
        "$TARGET" calls 100 1000
        ktracectl set two raw_syscalls:sys_exit off
        "$TARGET" calls 100 1000
        ktracectl stop two
        "$TARGET" calls 100 1000
        ktracectl start two
        ktracectl set two raw_syscalls:sys_exit on
        "$TARGET" calls 100 1000
        ktracectl stop two
        ktracectl destroy two
        "$TARGET" calls 100 1000
        viewer_ends one
        viewer_ends exits
        same 500 "$(calls_in one.kts sys_enter)" "calls of one"
        same 500 "$(calls_in exits.kts sys_exit)" "returns of exits"
        same 0 "$(count exits.kts '.event == "sys_enter"')" "calls of exits"
}

# hide_exits: sched_process_exit is gone from the instance, as an event of a module that is removed.
hide_exits() {
        HIDDEN=$TRACEFS/instances/ktrace-$(share_id)/events/sched/sched_process_exit
        mount -t tmpfs none "$HIDDEN"
        trap hide_end EXIT
}
show_exits() { umount -l "$HIDDEN" && HIDDEN=; }
hide_end() {
        [ -z "$HIDDEN" ] || umount -l "$HIDDEN"
        leave_case
}
recorded_by() { ktracectl show --json=short "$1" | jq .statistics.recorded; }
case_share_unstarted() { # a session whose start fails gets nothing that the others record
        viewer one -e raw_syscalls:sys_enter
        ktracectl create two -a --share --lifetime linger -e raw_syscalls:sys_enter -e sched:sched_process_exit
        same 1 "$(instances)" "instances"
        hide_exits
        refused 1 'has been removed since' ktracectl start two
        show_exits
        local recorded
        recorded=$(recorded_by two)
        "$TARGET" calls 100 1000
        viewer_ends one
        same 100 "$(calls_in one.kts sys_enter)" "calls of one"
        same "$recorded" "$(recorded_by two)" "records of a session that did not start"
        ktracectl destroy two
}

case_share_removed() { # [deep] an event is removed, which empties the ring: all sessions learn of it
        local name
        viewer one -e raw_syscalls:sys_enter
        viewer two -e raw_syscalls:sys_enter -e sched:sched_process_exit
        hide_exits
        echo 1 >"$TRACEFS/instances/ktrace-$(share_id)/tracing_on" # as it was; all sessions check their instance
        within 15 interferences_are '1 2' || fail "$(interferences)"
        show_exits
        kill -INT "${viewers[@]}"
        for name in one two; do
                status=0
                wait "${viewers[$name]}" || status=$?
                same 4 $status "the status of $name"
                ktracectl report $name.kts >$name.txt
                grep -q 'trace was what was recorded, became emptied' $name.txt || fail "no mark for $name"
        done
        viewers=()
}

case_share_marks() { # a mark is in the stream of its own session only
        viewer one -e raw_syscalls:sys_enter
        viewer two -e raw_syscalls:sys_enter
        local ids
        ids=$(ktracectl list --json=short | jq -r '.[].id')
        for id in $ids; do ktracectl mark "$id" "of $id"; done
        "$TARGET" calls 10 1000
        viewer_ends one
        viewer_ends two
        for name in one two; do
                same 1 "$(count $name.kts '.event == "print"')" "marks of $name"
                same 10 "$(calls_in $name.kts sys_enter)" "calls of $name"
        done
        ktracectl convert one.kts --to json | jq -r 'select(.event == "print") | .fields.buf' >marks
        ktracectl convert two.kts --to json | jq -r 'select(.event == "print") | .fields.buf' >>marks
        same "$(for id in $ids; do echo "of $id"; done | sort)" "$(tr -d '\002' <marks | grep . | sort)" "the marks"
}

case_share_full() { # a mark into a full ring buffer is refused with the reason
        local reader
        ktracectl create full -q -a --share -b 64 --lifetime linger -e raw_syscalls:sys_enter
        ktracectl start full
        reader=$(ktracectl status --json=short | jq '.daemon.shares[0].pid')
        kill -STOP "$reader"
        for cpu in $(seq 0 $(($(nproc) - 1))); do taskset -c "$cpu" "$TARGET" calls 20000 1000; done
        refused 1 'the ring buffer is full' ktracectl mark full text
        kill -CONT "$reader"
        ktracectl destroy full
}

case_share_clock() { # the stream of a clock that no system call reads has its relation to the time of day
        local before after wall
        before=$(date +%s)
        viewer one --clock local -e raw_syscalls:sys_enter
        "$TARGET" calls 1 1000
        viewer_ends one
        after=$(date +%s)
        wall=$(ktracectl report --json=short one.kts | jq -r 'select(.fields.id == 1000).wall')
        wall=$(date -u -d "$wall" +%s) || fail "no time of day"
        [ "$wall" -ge $((before - 1)) ] && [ "$wall" -le $((after + 1)) ] || fail "$wall: $before to $after"
}

case_share_slow() { # a session without a reader keeps its first events and counts its losses; others are complete
        ktracectl create unread -a --share --lifetime linger -b 8192 -e raw_syscalls:sys_enter
        ktracectl start unread
        viewers[unread]=0
        viewer one -b 8192 -e raw_syscalls:sys_enter
        "$TARGET" calls 100000 1000
        viewer_ends one
        ktracectl stop unread
        same 100000 "$(calls_in one.kts sys_enter)" "calls of one"
        ktracectl show --json=short unread | jq .statistics >statistics
        jq -e '.recorded > 10000 and .lost > 10000 and .recorded + .lost > 100000' statistics >/dev/null ||
                fail "$(cat statistics)"
        ktracectl destroy unread
}

case_share_small() { # a session with a small buffer gets everything beside one with a large buffer
        viewer large -b 8192 -e raw_syscalls:sys_enter
        viewer small -b 64 -e raw_syscalls:sys_enter
        same 1 "$(instances)" "instances"
        "$TARGET" calls 50000 1000
        viewer_ends small
        viewer_ends large
        same '50000 50000' "$(calls_in small.kts sys_enter) $(calls_in large.kts sys_enter)" "calls"
}

# reader [ID]: the process that reads the instance; of several: that with the id.
reader() { ktracectl status --json=short | jq ".daemon.shares[] | select(.id | test(\"${1:-.}\")) | .pid // 0"; }
reader_is_new() { # PID [ID]
        local now
        now=$(reader "${2:-}")
        case $now in '' | 0 | "$1") return 1 ;; esac
}
reader_killed() { # and another one continues
        local pid
        pid=$(reader)
        kill -KILL "$pid"
        within 20 reader_is_new "$pid" || fail "no other reader"
}
# viewer_lost NAME: as viewer_ends; the recording may report lost events.
viewer_lost() {
        local status=0
        kill -INT "${viewers[$1]}"
        wait "${viewers[$1]}" || status=$?
        case $status in 0 | 4) ;; *) fail "$1: status $status: $(cat background.err)" ;; esac
        unset "viewers[$1]"
}
# accounted FILE N: of the calls 1 to N of `target paced`, each is in the file once, in order, or counted as lost. The
# number of lost events is in $lost_events.
accounted() {
        local n
        ktracectl convert "$1" --to json | jq -r 'if .lost then "lost \(.lost)" elif .event == "sys_enter" and
                .comm == "target" and .fields.id == 110 then .fields.args[0] else empty end' >accounted
        grep -v lost accounted >numbers || fail "$1: no calls"
        sort -nuc numbers || fail "$1: a call is there twice, or not in order"
        n=$(wc -l <numbers)
        lost_events=$(awk '/lost/ { n += $2 } END { print n + 0 }' accounted)
        figure "$1: $n calls, $lost_events lost"
        [ $((n + lost_events)) -ge "$2" ] || fail "$1: $n of $2 calls, and $lost_events are counted as lost"
}
CALLS='id == 110 || (id >= 1000 && id < 1004)'

# paced N: N numbered calls, while the case does something else, until paced_ends.
paced() {
        "$TARGET" paced "$1" 100 &
        PACED=$!
        started+=("$PACED")
}
paced_ends() { wait "$PACED"; }

case_share_killed() { # the reader of the instance is killed: another one continues, and each lost event is counted
        local i
        viewer one -e raw_syscalls:sys_enter -f 'id == 110'
        viewer two -e raw_syscalls:sys_enter -f "$CALLS" -e raw_syscalls:sys_exit -f "$CALLS"
        paced 10000
        for i in 1 2 3 4; do
                reader_killed
                sleep 0.3
        done
        paced_ends
        # Nothing is left in the ring or between the processes.
        "$TARGET" calls 100 1000
        same 2 "$(ktracectl list --json=short | jq 'map(select(.state == "running")) | length')" "sessions"
        viewer_lost one
        viewer_lost two
        accounted one.kts 10000
        accounted two.kts 10000
        same 100 "$(calls_in two.kts sys_enter)" "calls after the last kill"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

calls_recorded() { ktracectl show --json=short "$1" | jq ".statistics.recorded + .statistics.lost"; }
case_share_killed_full() { # [deep] readers that are killed while they are busy: recorded and lost are exact
        local name i
        local -A streams=()
        for name in one two; do
                ktracectl create $name -a --share --lifetime linger -e raw_syscalls:sys_enter -f 'id == 1000'
                ktracectl stream $name -o $name.kts 2>$name.err &
                streams[$name]=$!
                started+=("$!")
                within 20 test -s $name.kts || fail "no stream: $(cat $name.err)"
                ktracectl start $name
        done
        "$TARGET" calls 600000 1000 &
        started+=("$!")
        for i in 1 2 3 4; do
                sleep 0.1
                reader_killed
        done
        wait "${started[-1]}"
        for name in one two; do ktracectl stop $name; done
        for name in one two; do
                figure "$name: $(ktracectl show --json=short $name | jq -c '.statistics | [.recorded, .lost]')"
                same 600000 "$(calls_recorded $name)" "recorded and lost calls"
                i=$(recorded_by $name)
                ktracectl destroy $name
                wait "${streams[$name]}" || [ $? = 4 ] || fail "the stream: $(cat $name.err)"
                same "$i" "$(ktracectl report $name.kts 2>/dev/null | grep -c 'sys_enter.* 1000')" "calls in the stream"
        done
}

case_share_killed_idle() { # without events between two kills nothing is lost
        viewer one -e raw_syscalls:sys_enter -f 'id == 1000'
        viewer two -e raw_syscalls:sys_enter -f 'id == 1000'
        "$TARGET" calls 500 1000
        sleep 0.3
        reader_killed
        "$TARGET" calls 500 1000
        ktracectl mark "$(ktracectl list --json=short | jq -r '.[0].id')" here
        sleep 0.3
        reader_killed
        "$TARGET" calls 500 1000
        viewer_ends one
        viewer_ends two
        same '1500 1500' "$(calls_in one.kts sys_enter) $(calls_in two.kts sys_enter)" "calls"
        same 1 "$(cat <(ktracectl report one.kts) <(ktracectl report two.kts) | grep -c here)" "marks"
}

case_share_killed_stopping() { # the reader is killed while a session stops: the stop is exact, and no call hangs
        local i pid
        viewer beside -e raw_syscalls:sys_enter -f 'id == 1000'
        for i in 1 2 3; do
                ktracectl create "one$i" -a --share --lifetime linger -e raw_syscalls:sys_enter -f 'id == 1000'
                ktracectl stream "one$i" -o "one$i.kts" 2>"stream$i.err" &
                started+=("$!")
                within 20 test -s "one$i.kts" || fail "no stream: $(cat "stream$i.err")"
                ktracectl start "one$i"
                "$TARGET" calls 500 1000
                sleep 0.3
                pid=$(reader)
                kill -STOP "$pid"
                ktracectl stop "one$i" &
                sleep 0.2
                kill -KILL "$pid"
                wait $! || fail "the stop failed"
                "$TARGET" calls 500 1000
                same 500 "$(recorded_by "one$i")" "calls of a session that was stopped"
                ktracectl destroy "one$i"
                wait "${started[-1]}" || fail "the stream: $(cat "stream$i.err")"
                same 500 "$(calls_in "one$i.kts" sys_enter)" "calls until the stop"
        done
        viewer_ends beside
        same 3000 "$(calls_in beside.kts sys_enter)" "calls of the other session"
}

case_share_killed_often() { # readers that end again and again end their sessions with the reason, and nothing is left
        local i
        viewer one -e raw_syscalls:sys_enter
        viewer two -e raw_syscalls:sys_enter
        "$TARGET" calls 100 1000
        for i in 1 2 3 4 5; do reader_killed; done
        kill -KILL "$(reader)"
        wait "${viewers[one]}" || true
        wait "${viewers[two]}" || true
        grep -q 'the reader of its shared instance has ended again and again' background.err ||
                fail "$(cat background.err)"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
        # What was passed on before is there.
        for name in one two; do ktracectl report $name.kts >/dev/null || fail "$name"; done
        viewers=()
        viewer three -e raw_syscalls:sys_enter
        "$TARGET" calls 100 1000
        viewer_ends three
        same 100 "$(calls_in three.kts sys_enter)" "calls of three"
}

case_share_worker() { # the stream worker of one viewer is killed: the others are complete
        viewer one -e raw_syscalls:sys_enter
        viewer two -e raw_syscalls:sys_enter
        "$TARGET" calls 1000 1000
        kill -KILL "$(ktracectl list --json=short | jq -r '.[0].id' | xargs ktracectl show --json=short |
                jq '.statistics."worker-pid"')"
        wait "${viewers[one]}" || true
        unset 'viewers[one]'
        "$TARGET" calls 1000 1000
        viewer_ends two
        same 2000 "$(calls_in two.kts sys_enter)" "calls of two"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

case_share_restart() { # without kept descriptors, shared sessions end with the daemon; nothing is left
        ! service_manager || skip "systemd keeps descriptors"
        ktracectl create one -a --share --lifetime linger -e raw_syscalls:sys_enter
        ktracectl start one
        killed
        same '[]' "$(ktracectl list --json=short)" "sessions"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

# restarts_end: the trap of a case with kept descriptors.
restarts_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}
users_restarts_end() {
        rm -f "$RULES"
        restarts_end
}
restarted() { # as systemctl does
        local pid
        pid=$(daemon_pid)
        restart_daemon
        within 30 another "$pid" || fail "no daemon started"
}
# killed_after COMMAND...: the daemon does nothing while the command runs, and is killed then.
killed_after() {
        kill -STOP "$(daemon_pid)"
        "$@"
        killed
}
id_of() { ktracectl show --json=short "$1" | jq -r .id; }
# shares_are NUMBERS: of the viewers of each shared instance, in order.
shares_are() { [ "$(ktracectl status --json=short | jq -c '[.daemon.shares[].viewers] | sort')" = "$1" ]; }
case_share_restart_kept() { # kills and restarts of the daemon cost no shared session an event
        trap restarts_end EXIT
        kept
        local processes
        viewer one -e raw_syscalls:sys_enter -f "$CALLS"
        viewer two -e raw_syscalls:sys_enter -f "$CALLS" -e raw_syscalls:sys_exit -f "$CALLS"
        processes=$(ktracectl status --json=short | jq '.daemon.shares[].pid, .daemon.consumers[].pid')
        paced 15000
        killed
        viewer three -e raw_syscalls:sys_enter -f "$CALLS" # right after the restart
        same '[3]' "$(ktracectl status --json=short | jq -c '[.daemon.shares[].viewers]')" "viewers"
        "$TARGET" calls 100 1000
        viewer_ends three
        restarted
        killed
        # shellcheck disable=SC2086 # three numbers
        kill -0 $processes || fail "the reader or a worker has ended"
        ktracectl verify
        paced_ends
        "$TARGET" calls 100 1001
        same "$CALLS" "$(kernel_filter)" "the kernel's filter"
        viewer_ends one
        viewer_ends two
        for name in one two; do
                accounted $name.kts 15000
                same 0 "$lost_events" "lost events of $name"
        done
        same 100 "$(calls_in three.kts sys_enter)" "calls of three"
        same '100 100 100' "$(calls_in two.kts sys_enter) $(calls_in two.kts sys_exit) \
$(count two.kts '.event == "sys_exit" and .fields.id == 1001')" "calls of two"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

case_share_restart_two() { # two shared instances; one reader is killed, the other's socket is lost while no daemon runs
        ! service_manager || skip "systemd loses no descriptors"
        users_rule '"max-buffer-kb-per-uid": 100000'
        trap users_restarts_end EXIT
        kept
        local first second pids
        viewer one -e raw_syscalls:sys_enter -f 'id == 110'
        first=$(share_id)
        user_viewer large -b 2048 -e raw_syscalls:sys_enter -f 'id == 110'
        second=$(share_id 1)
        viewer two -e raw_syscalls:sys_exit -f "$CALLS" -e raw_syscalls:sys_enter -f "$CALLS"
        viewer_of stranger theirs -e raw_syscalls:sys_enter -f 'id == 110' # beside large
        shares_are '[2,2]' || fail "viewers: $(ktracectl status --json=short | jq -c .daemon.shares)"
        paced 10000
        pids="$(reader "$first") $(reader "$second")"
        echo "share-reader-$second" >lost
        killed_after kill -KILL "${pids% *}"
        within 20 shares_are '[2,2]' || fail "viewers: $(ktracectl status --json=short | jq -c .daemon.shares)"
        within 20 reader_is_new "${pids% *}" "$first" || fail "no other reader"
        within 20 reader_is_new "${pids#* }" "$second" || fail "no other reader of the second instance"
        paced_ends
        "$TARGET" calls 100 1000
        viewer_lost one
        viewer_lost two
        viewer_lost large
        viewer_lost theirs
        accounted one.kts 10000
        accounted theirs.kts 10000
        accounted two.kts 10000
        accounted large.kts 10000
        same 100 "$(calls_in two.kts sys_enter)" "calls of two"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

event_is() { cat "$TRACEFS/instances/ktrace-$(share_id)/events/$1/enable"; }
case_share_restart_removed() { # sessions that cannot continue leave the shared instance; the others notice nothing
        ! service_manager || skip "systemd loses no descriptors"
        trap restarts_end EXIT
        kept
        local id name
        viewer one -e raw_syscalls:sys_enter -f "$CALLS"
        viewer gone -e raw_syscalls:sys_exit -f 'id == 1000'
        for name in lost old; do
                ktracectl create $name -a --share --lifetime linger -e "sched:sched_process_$([ $name = lost ] &&
                        echo fork || echo exit)"
                ktracectl start $name
        done
        same '1 1 1' "$(event_is raw_syscalls/sys_exit) $(event_is sched/sched_process_fork) \
$(event_is sched/sched_process_exit)" "events"
        paced 10000
        echo "share-memory-$(id_of lost)" >lost
        id=$(id_of old)
        kill -STOP "$(daemon_pid)"
        kill -KILL "${viewers[gone]}"
        jq '.shared.protocol = 1' "$STATE_DIR/$id.json" >state
        cp state "$STATE_DIR/$id.json"
        killed
        unset 'viewers[gone]'
        within 20 n_running 1 || fail "$(ktracectl list)"
        within 20 shares_are '[1]' || fail "viewers: $(ktracectl status --json=short | jq -c .daemon.shares)"
        same '0 0 0' "$(event_is raw_syscalls/sys_exit) $(event_is sched/sched_process_fork) \
$(event_is sched/sched_process_exit)" "events of the sessions that have ended"
        same 3 "$(grep -cE 'ended by a restart|left the bus' "$NATIVE/keeper.log")" "reasons in the journal"
        viewer later -e raw_syscalls:sys_enter -f "$CALLS"
        "$TARGET" calls 100 1000
        viewer_ends later
        paced_ends
        viewer_ends one
        accounted one.kts 10000
        same 0 "$lost_events" "lost events"
        same 100 "$(calls_in later.kts sys_enter)" "calls of a later session"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

is_stopped() { [ "$(ktracectl show --json=short "$1" | jq -r .state)" = stopped ]; }
case_share_restart_stopping() { # the next daemon completes a stop and an end that the reader has not answered
        trap restarts_end EXIT
        kept
        local pid stream
        viewer beside -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl create one -a --share --lifetime linger -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl stream one -o one.kts 2>stream.err &
        stream=$!
        started+=("$stream")
        within 20 test -s one.kts || fail "no stream: $(cat stream.err)"
        ktracectl start one
        "$TARGET" calls 500 1000
        pid=$(reader)
        kill -STOP "$pid"
        ktracectl stop one >stop.out 2>&1 &
        within 20 is_kept stopping || fail "not stopping"
        killed
        kill -CONT "$pid"
        within 20 is_stopped one || fail "$(ktracectl list)"
        "$TARGET" calls 500 1000
        same 500 "$(recorded_by one)" "calls until the stop"
        ktracectl start one
        "$TARGET" calls 500 1000
        kill -STOP "$pid"
        ktracectl destroy one >destroy.out 2>&1 &
        within 20 is_kept ending || fail "not ending"
        killed
        kill -CONT "$pid"
        wait "$stream" || fail "the stream: $(cat stream.err)"
        same 1000 "$(calls_in one.kts sys_enter)" "calls of the stream"
        same "$pid" "$(reader)" "the reader"
        viewer_ends beside
        same 1500 "$(calls_in beside.kts sys_enter)" "calls of the other session"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

case_share_restart_busy() { # [deep] readers and daemons are killed in turn while sessions come and go; all is counted
        trap restarts_end EXIT
        kept
        local i
        viewer one -e raw_syscalls:sys_enter -f 'id == 110'
        viewer two -e raw_syscalls:sys_enter -f "$CALLS" -e raw_syscalls:sys_exit -f "$CALLS"
        paced 100000
        for i in {1..12}; do
                [ $((i % 4)) != 0 ] || reader_killed
                viewer "more$i" -e raw_syscalls:sys_enter -f 'id == 1000'
                "$TARGET" calls 50 1000
                killed
                "$TARGET" calls 50 1000
                viewer_lost "more$i"
                [ "$(calls_in "more$i.kts" sys_enter)" = 100 ] || fail "session $i: $(calls_in "more$i.kts" sys_enter)"
        done
        paced_ends
        viewer_lost one
        viewer_lost two
        accounted one.kts 100000
        accounted two.kts 100000
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}
