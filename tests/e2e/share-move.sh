# SPDX-License-Identifier: LGPL-2.1-or-later
# A session that fills the ring of the others in its instance gets an instance of its own. The noisy session records
# numbered names of tasks: since Linux 6.13 a session that records system calls stays.
. "$here/share.sh"

# A session holds at most 4 MiB that its client has not read, so a larger ring could not be read at once.
NOISY=(-b 600 -e task:task_rename)
QUIET=(-b 4096 -e raw_syscalls:sys_exit -f 'id == 1001')
named=0
# names N [CPU]: N further events of the noisy session.
names() {
        taskset -c "${2:-0}" "$TARGET" renames $named "$1"
        named=$((named + $1))
}
# crowd: the reader of the first instance finds the ring of CPU 0 nearly full. Nothing is lost.
crowd() {
        local pid
        pid=$(reader "$(share_id)")
        kill -STOP "$pid"
        while [ "$(ring_bytes)" -lt $((4096 * 1024 * 80 / 100)) ]; do names 3000; done
        kill -CONT "$pid"
}
ring_bytes() { awk '$1 == "bytes:" { print $2 }' "$TRACEFS/instances/ktrace-$(share_id)/per_cpu/cpu0/stats"; }
viewers_are() { [ "$(viewers_of_instances)" = "$1" ]; }
has_moved() { within 20 viewers_are '[1,1]' || fail "viewers: $(viewers_of_instances)"; }
share_of() { ktracectl show --json=short "$1" | jq -r '."shared-instance"'; }

# numbers_in FILE: of the names, as they were recorded.
numbers_in() {
        ktracectl report --json=short "$1" |
                jq -r 'select(.event == "task_rename").fields.newcomm | select(test("^r[0-9]+$"))[1:]'
}
# has_names FILE: it has each name once. [in order]: and in order.
has_names() {
        numbers_in "$1" >numbers
        [ "${2:-}" != "in order" ] || sort -nuc numbers || fail "$1: a name is there twice, or not in order"
        sort -n numbers | cmp - <(seq 0 $((named - 1))) || fail "$1: $(wc -l <numbers) of $named names"
}
# has_returns FILE N: N returns of call 1001, and nothing else.
has_returns() {
        same "$2 sys_exit" "$(ktracectl convert "$1" --to json | jq -r '.event // empty' | sort | uniq -c | xargs)" \
                "what is in $1"
}

case_move_exact() { # a session that fills the ring moves to an instance of its own; no event is lost or repeated
        local i before
        viewer quiet "${QUIET[@]}"
        viewer noisy "${NOISY[@]}"
        same '[2]' "$(viewers_of_instances)" "viewers of each instance"
        before=$(share_id)
        crowd
        # It moves while the CPUs record for both.
        taskset -c $(($(nproc) - 1)) "$TARGET" calls 60000 1001 &
        started+=("$!")
        for i in {1..10}; do names 3000; done
        wait "${started[-1]}"
        has_moved
        same "$before" "$(share_id)" "the instance of the quiet session"
        "$TARGET" calls 500 1001
        viewer_ends quiet
        names 300 $(($(nproc) - 1))
        viewer_ends noisy
        has_returns quiet.kts 60500
        has_names noisy.kts "in order"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

case_move_busy() { # [deep] all CPUs record without a pause while the session moves, again and again
        local round i lost
        for round in 1 2 3 4 5 6; do
                viewer quiet "${QUIET[@]}"
                viewer noisy "${NOISY[@]}"
                named=0
                crowd
                for i in $(seq 0 $(($(nproc) - 1))); do
                        taskset -c "$i" "$TARGET" renames $named 50000 &
                        started+=("$!")
                        named=$((named + 50000))
                done
                has_moved
                wait "${started[@]: -$(nproc)}"
                viewer_lost noisy
                viewer_ends quiet
                numbers_in noisy.kts | sort -n >numbers
                same "" "$(uniq -d numbers)" "names that are there twice"
                lost=$(ktracectl convert noisy.kts --to json | jq -s 'map(.lost? // 0 | numbers) | add')
                figure "round $round: $(wc -l <numbers) of $named names, $lost lost"
                [ $(($(wc -l <numbers) + lost)) -ge $named ] || fail "names are missing that are not counted as lost"
        done
}

case_move_marks() { # the marks of a session that moves are in its stream once, in order
        local i
        session_of quiet "${QUIET[@]}"
        session_of noisy "${NOISY[@]}"
        crowd
        for i in $(seq 40); do ktracectl mark noisy "mark $i"; done
        has_moved
        ktracectl mark noisy "mark 41"
        session_ends noisy
        session_ends quiet
        same "$(seq -f 'mark %g' 41)" "$(ktracectl convert noisy.kts --to json |
                jq -r 'select(.event == "print") | .fields.buf' | grep -o 'mark.*')" "marks"
        same 0 "$(count quiet.kts '.event == "print"')" "marks of the other session"
        has_names noisy.kts
}

# session_of NAME WORD...: a running session that may share, and its stream into NAME.kts.
declare -A streams=()
session_of() {
        local name=$1
        shift
        ktracectl create -q "$name" -a --share --lifetime linger "$@" >/dev/null
        ktracectl stream "$name" -o "$name.kts" 2>"$name.err" &
        streams[$name]=$!
        started+=("$!")
        within 20 test -s "$name.kts" || fail "no stream: $(cat "$name.err")"
        ktracectl start "$name"
}
session_ends() {
        ktracectl stop "$1"
        ktracectl destroy "$1"
        wait "${streams[$1]}" || fail "the stream of $1: $(cat "$1.err")"
}

case_move_alone() { # nobody joins the session that has moved, and it can be stopped, switched and started as before
        local name
        session_of quiet "${QUIET[@]}"
        session_of noisy "${NOISY[@]}"
        crowd
        has_moved
        within 10 ktracectl verify
        sleep 1 # a look for changes by others
        same '0 0' "$(interferences)" "interferences"
        session_of third -b 64 -e task:task_rename
        same '[2,1]' "$(viewers_of_instances)" "viewers of each instance"
        [ "$(share_of noisy)" != "$(share_of quiet)" ] || fail "they share $(share_of noisy)"
        ktracectl stop noisy
        "$TARGET" renames 1000000 70
        ktracectl start noisy
        names 30
        ktracectl set noisy task:task_rename off
        "$TARGET" renames 1000000 70
        ktracectl set noisy task:task_rename on
        "$TARGET" calls 5 1001
        for name in quiet third noisy; do session_ends $name; done
        has_returns quiet.kts 5
        same 170 "$(numbers_in third.kts | wc -l)" "names in third"
        has_names noisy.kts "in order"
}

case_move_stop() { # [deep] a session that is stopped while it moves ends with all its events
        local i
        for i in 0 1 2 3; do
                named=0
                session_of quiet "${QUIET[@]}"
                session_of noisy "${NOISY[@]}"
                crowd
                sleep "0.0$((i * 3))"
                ktracectl stop noisy
                "$TARGET" renames 1000000 50
                "$TARGET" calls 10 1001
                session_ends quiet
                ktracectl destroy noisy
                wait "${streams[noisy]}" || fail "the stream of noisy: $(cat noisy.err)"
                has_returns quiet.kts 10
                has_names noisy.kts "in order"
                within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
        done
}

case_move_restart() { # a session that has moved survives kills of its reader and of ktraced
        local pid noisy name
        kept
        session_of quiet "${QUIET[@]}"
        session_of noisy "${NOISY[@]}"
        crowd
        has_moved
        noisy=$(share_of noisy)
        names 100
        sleep 0.5
        pid=$(reader "$noisy")
        kill -KILL "$pid"
        within 20 reader_is_new "$pid" "$noisy" || fail "no other reader"
        names 100
        pid=$(daemon_pid)
        kill -KILL "$pid"
        names 100
        within 20 ktracectl status || fail "no daemon started"
        has_moved
        same "$noisy" "$(share_of noisy)" "the instance of noisy"
        session_of third -b 64 -e task:task_rename
        [ "$noisy" != "$(share_of third)" ] || fail "a session has joined it"
        names 100
        "$TARGET" calls 50 1001
        for name in quiet third noisy; do session_ends $name; done
        has_returns quiet.kts 50
        has_names noisy.kts "in order"
}

case_move_killed() { # [deep] readers and ktraced are killed while a session moves: each event is recorded or counted
        local pid round name
        kept
        for round in 1 2 3 4 5 6 7 8; do
                named=0
                session_of quiet "${QUIET[@]}"
                session_of noisy "${NOISY[@]}"
                crowd
                sleep "0.0$round"
                pid=$([ $((round % 2)) = 0 ] && daemon_pid || reader "$(share_id)")
                kill -KILL "$pid"
                names 200
                "$TARGET" calls 200 1001
                within 20 ktracectl status || fail "no daemon started"
                sleep 0.5
                figure "round $round: $(viewers_of_instances), $(ktracectl list --json=short | jq -c 'map(.state)')"
                for name in quiet noisy; do
                        ktracectl stop $name || continue # ktraced was killed in the middle of the move
                        [ "$(calls_recorded $name)" -ge $([ $name = quiet ] && echo 200 || echo "$named") ] ||
                                fail "$name: $(ktracectl show --json=short $name | jq -c .statistics)"
                        ktracectl destroy $name
                done
                within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
                wait "${streams[@]}" || true
        done
}

case_move_refused() { # a session stays if its user's limit has no room for another instance
        user_rule "\"scopes\": [\"system\"], \"processes\": \"any\", \"max-linger-sec\": 600,
                \"events\": [\"raw_syscalls:*\", \"task:*\"],
                \"limits\": {\"max-buffer-kb-per-uid\": $(($(nproc) * 10000))}"
        chmod 777 .
        user_viewer quiet "${QUIET[@]}"
        user_viewer noisy "${NOISY[@]}"
        user ktracectl create -q own -a --lifetime linger -b 4096 -e raw_syscalls:sys_exit
        crowd
        sleep 1.5 # the reader says at most once a second that the ring is full
        same '[2]' "$(viewers_of_instances)" "viewers of each instance"
        user ktracectl destroy own
        "$TARGET" calls 20 1001
        viewer_ends quiet
        viewer_ends noisy
        has_returns quiet.kts 20
        has_names noisy.kts "in order"
}

case_move_end() { # a session that is destroyed while it moves leaves nothing
        local i
        for i in 1 2 3; do
                session_of quiet "${QUIET[@]}"
                session_of noisy "${NOISY[@]}"
                crowd
                sleep "0.0$i"
                ktracectl destroy noisy
                "$TARGET" calls 10 1001
                session_ends quiet
                has_returns quiet.kts 10
                within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
                wait "${streams[noisy]}" || true
        done
}
