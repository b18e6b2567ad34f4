# SPDX-License-Identifier: LGPL-2.1-or-later
# A session that fills the ring of the others in its instance gets an instance of its own.
. "$here/share.sh"

# A record of a call has about 64 bytes. The ring of 8 MB on each CPU then has some 130,000 calls.
NEARLY_FULL=110000
# crowd: the reader of the first instance finds the ring of CPU 0 nearly full. Nothing is lost. $calls counts the calls.
crowd() {
        local pid
        pid=$(reader "$(share_id)")
        kill -STOP "$pid"
        taskset -c 0 "$TARGET" calls $NEARLY_FULL 1000
        kill -CONT "$pid"
        calls=$((calls + NEARLY_FULL))
}
viewers_are() { [ "$(viewers_of_instances)" = "$1" ]; }
share_of() { ktracectl show --json=short "$1" | jq -r '."shared-instance"'; }
lost_by() { ktracectl show --json=short "$1" | jq .statistics.lost; }
ids() { ktracectl list --json=short | jq -r '.[].id'; }

case_move_exact() { # a session that fills the ring moves to an instance of its own, and nobody loses or repeats an event
        local i calls=0 before
        viewer quiet -b 8192 -e raw_syscalls:sys_exit -f 'id == 1001'
        viewer noisy -b 8192 -e raw_syscalls:sys_enter -f 'id >= 1000 && id <= 1001'
        same '[2]' "$(viewers_of_instances)" "viewers of each instance"
        before=$(share_id)
        crowd
        # It moves while all CPUs record for both.
        for i in 0 1; do taskset -c $((i % $(nproc))) "$TARGET" calls 60000 $((1000 + i)) & started+=("$!"); done
        within 20 viewers_are '[1,1]' || fail "viewers: $(viewers_of_instances)"
        wait "${started[@]: -2}"
        same "$before" "$(share_id)" "the instance of the quiet session"
        "$TARGET" calls 500 1001
        viewer_ends quiet
        "$TARGET" calls 300 1000
        viewer_ends noisy
        same "60500 1001" "$(ktracectl report --json=short quiet.kts | jq .fields.id | sort | uniq -c | xargs)" "quiet"
        same "$((calls + 60300)) 1000 60500 1001" "$(ids_in noisy.kts)" "calls of noisy"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

case_move_marks() { # the marks of a session that moves are in its stream once, in order
        local calls=0 i id
        viewer quiet -b 8192 -e raw_syscalls:sys_exit -f 'id == 1001'
        viewer noisy -b 8192 -e raw_syscalls:sys_enter -f 'id == 1000'
        id=$(ids | while read -r one; do
                ktracectl show --json=short "$one" | jq -e '.spec.events | tostring | test("sys_enter")' >/dev/null &&
                        echo "$one"
        done)
        crowd
        for i in $(seq 60); do ktracectl mark "$id" "mark $i"; done
        within 20 viewers_are '[1,1]' || fail "viewers: $(viewers_of_instances)"
        ktracectl mark "$id" "mark 61"
        viewer_ends noisy
        viewer_ends quiet
        same "$(seq -f 'mark %g' 61)" "$(ktracectl convert noisy.kts --to json |
                jq -r 'select(.event == "print") | .fields.buf' | grep -o 'mark.*')" "marks"
        same 0 "$(count quiet.kts '.event == "print"')" "marks of the other session"
        same $calls "$(calls_in noisy.kts sys_enter)" "calls"
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
two_sessions() {
        session_of quiet -b 8192 -e raw_syscalls:sys_exit -f 'id == 1001'
        session_of noisy -b 8192 -e raw_syscalls:sys_enter -f 'id >= 1000 && id <= 1001'
}

case_move_alone() { # nobody joins the session that has moved, and it can be stopped, switched and started as before
        local calls=0
        two_sessions
        crowd
        within 20 viewers_are '[1,1]' || fail "viewers: $(viewers_of_instances)"
        within 10 ktracectl verify
        session_of third -b 64 -e raw_syscalls:sys_enter -f 'id == 1000'
        same '[2,1]' "$(viewers_of_instances)" "viewers of each instance"
        [ "$(share_of noisy)" != "$(share_of quiet)" ] || fail "they share $(share_of noisy)"
        ktracectl stop noisy
        "$TARGET" calls 70 1000
        ktracectl start noisy
        "$TARGET" calls 30 1000
        ktracectl set noisy raw_syscalls:sys_enter off
        "$TARGET" calls 70 1000
        ktracectl set noisy raw_syscalls:sys_enter on
        "$TARGET" calls 5 1001
        for name in quiet third noisy; do session_ends $name; done
        same 5 "$(count quiet.kts .)" "returns of quiet"
        same "170 1000" "$(ids_in third.kts)" "calls of third"
        same "$((calls + 30)) 1000 5 1001" "$(ids_in noisy.kts)" "calls of noisy"
}

case_move_restart() { # a session that has moved survives kills of its reader and of ktraced
        local calls=0 pid noisy
        kept
        two_sessions
        crowd
        within 20 viewers_are '[1,1]' || fail "viewers: $(viewers_of_instances)"
        noisy=$(share_of noisy)
        "$TARGET" calls 100 1000
        sleep 0.3
        pid=$(reader "$noisy")
        kill -KILL "$pid"
        within 20 reader_is_new "$pid" "$noisy" || fail "no other reader"
        "$TARGET" calls 100 1001
        pid=$(daemon_pid)
        kill -KILL "$pid"
        "$TARGET" calls 100 1000
        within 20 ktracectl status || fail "no daemon started"
        within 10 viewers_are '[1,1]' || fail "viewers: $(viewers_of_instances)"
        same "$noisy" "$(share_of noisy)" "the instance of noisy"
        session_of third -b 64 -e raw_syscalls:sys_enter -f 'id == 1000'
        [ "$noisy" != "$(share_of third)" ] || fail "a session has joined it"
        "$TARGET" calls 100 1000
        for name in quiet third noisy; do session_ends $name; done
        same 100 "$(count quiet.kts .)" "returns of quiet"
        same "$((calls + 300)) 1000 100 1001" "$(ids_in noisy.kts)" "calls of noisy"
}

case_move_killed() { # [deep] readers and ktraced are killed while a session moves: each event is recorded or counted
        local i pid round calls
        kept
        for round in 1 2 3 4 5 6; do
                calls=0
                two_sessions
                crowd
                sleep "0.0$round"
                pid=$([ $((round % 2)) = 0 ] && daemon_pid || reader "$(share_id)")
                kill -KILL "$pid"
                "$TARGET" calls 200 1001
                within 20 ktracectl status || fail "no daemon started"
                sleep 0.5
                figure "round $round: $(viewers_of_instances), $(ktracectl list --json=short | jq -c 'map(.state)')"
                for name in quiet noisy; do
                        ktracectl stop $name || continue # the daemon was killed in the middle of the move
                        [ "$(calls_recorded $name)" -ge $([ $name = quiet ] && echo 200 || echo $((calls + 200))) ] ||
                                fail "$name: $(ktracectl show --json=short $name | jq -c .statistics)"
                        ktracectl destroy $name
                done
                within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
                wait "${streams[@]}" || true
        done
}

case_move_refused() { # a session stays if its user's limit has no room for another instance
        local calls=0
        user_rule "\"scopes\": [\"system\"], \"processes\": \"any\", \"max-linger-sec\": 600,
                \"events\": [\"raw_syscalls:*\"], \"limits\": {\"max-buffer-kb-per-uid\": $(($(nproc) * 9000))}"
        chmod 777 .
        user_viewer quiet -b 8192 -e raw_syscalls:sys_exit -f 'id == 1001'
        user_viewer noisy -b 8192 -e raw_syscalls:sys_enter -f 'id == 1000'
        crowd
        sleep 1.5 # the reader says at most once a second that the ring is full
        same '[2]' "$(viewers_of_instances)" "viewers of each instance"
        "$TARGET" calls 20 1001
        viewer_ends quiet
        viewer_ends noisy
        same 20 "$(count quiet.kts .)" "returns of quiet"
        same $calls "$(calls_in noisy.kts sys_enter)" "calls of noisy"
}

case_move_end() { # a session that is destroyed while it moves leaves nothing
        local calls=0 i
        for i in 1 2 3; do
                two_sessions
                crowd
                sleep "0.0$i"
                ktracectl destroy noisy
                "$TARGET" calls 10 1001
                session_ends quiet
                same 10 "$(count quiet.kts .)" "returns of quiet"
                within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
                wait "${streams[noisy]}" || true
        done
}
