# SPDX-License-Identifier: LGPL-2.1-or-later
# A random walk. Three users call random verbs with random arguments through both doors. A fourth process, chaos, kills
# the daemon, the workers of streams and fills disks. Each walker has a sequence of random numbers of its own, which
# depends only on SEED. Almost every result of a verb is right in such a walk. What is wrong at any time is a complaint:
# a verb that hangs, that dies of a signal, or that reports success for a recording without all its events.
#
# A third of the time the daemon is killed too. Then it is left alone, and what it holds after the second third, without
# sessions, is compared with what it holds after the last one.

# At most so much more after the last third than after the second one.
declare -A growth_max=(
        [rss-kb]=1024                 # of the daemon: its allocator keeps what it has once needed
        [descriptors]=2               # of the daemon: one caller that has not left yet has two
        [threads]=0
        [trace_event_file]=1000       # slab objects; one instance that was left has more than 1500
        [ftrace_event_field]=500      # one probe that was left has few, a hundred have these
        [tracefs_inode_cache]=1500    # one instance that was looked at has some hundreds, freed when memory is needed
)
verb_limit=90 # seconds; no verb waits so long, even on a machine that is busy

# draw N: a random number from 0 to N-1 in $DRAWN. Not in a subshell, which would not advance the sequence.
draw() { DRAWN=$((RANDOM % $1)); }
# draw_word WORD...: one of them in $DRAWN.
draw_word() {
        draw $#
        shift "$DRAWN"
        DRAWN=$1
}
complain() { echo "$who: $*: $(tail -n 3 "$home/err" 2>/dev/null)" >>"$T/complaints"; }

# call VERB...: as the walker, through one of the doors. One in ten is killed. The status is in $STATUS, "killed" then.
call() {
        local door='' pid delay=
        draw 2
        [ "$DRAWN" = 0 ] || door=--varlink
        draw 10
        [ "$DRAWN" != 0 ] || { draw 8; delay=0.$DRAWN; }
        AS_EXEC=exec as "$who" setpriv --no-new-privs ktracectl $door --no-ask-password --no-pager "$@" \
                >"$home/out" 2>"$home/err" </dev/null &
        pid=$!
        if [ -n "$delay" ]; then
                sleep "$delay"
                kill -KILL "$pid" 2>/dev/null || true
        elif ! timeout "$verb_limit" tail -s 0.05 --pid="$pid" -f /dev/null; then
                complain "hangs for $verb_limit s: $*"
                kill -KILL "$pid" || true
        fi
        STATUS=0
        wait "$pid" || STATUS=$?
        echo "$(date +%T) $STATUS ${delay:+killed }$door $*" >>"$home/log"
        case $STATUS in
        137) [ -n "$delay" ] || complain "was killed: $*" ;;
        129 | 13[0-9]) complain "died of signal $((STATUS - 128)): $*" ;;
        esac
        [ -z "$delay" ] || STATUS=killed
}
# draw_session WORD...: one of these names in $SESSION. The name says what kind of session verb_create makes.
draw_session() { draw_word "$@"; SESSION=$DRAWN; }
every_session=(stream1 stream2 flight spool none)
# draw_output SUFFIX...: a file name in $OUTPUT, sometimes on a disk that is full now and then.
draw_output() {
        local folder
        draw_word "$home" "$home" "$T/small"
        folder=$DRAWN
        draw_word "$@"
        OUTPUT=$folder/$who.$DRAWN
        rm -f "$OUTPUT"
}
event=(-e raw_syscalls:sys_enter -f 'id == 1000') # a system call that exists nowhere else

# record: of a command. If it ends well, each call is in the file or counted as lost.
verb_record() {
        local calls buffer n lost
        draw 3000
        calls=$DRAWN
        draw_word 8 64 512
        buffer=$DRAWN
        draw_output kts dat
        call record -q -b "$buffer" "${event[@]}" -o "$OUTPUT" -- "$TARGET" calls "$calls" 1000
        [ "$STATUS" = 0 ] || return 0
        lost=$(sed -nE 's/.* kB, ([0-9,]+) lost.*/\1/p' "$home/err" | tr -d ,)
        # Not with call: it must not be killed.
        n=$(ktracectl convert "$OUTPUT" --to json 2>"$home/err" | count_events '.event == "sys_enter"') || n=-1
        # A user's session loses events of its fence too.
        [ "$n" = "$calls" ] || [ $((n + ${lost:-0})) -ge "$calls" ] ||
                complain "success, but $n events of $calls and ${lost:-none} lost: $OUTPUT, buffer $buffer"
}
# readable: the output of a call that ended well. That of another one, which may be cut, kills no reader.
readable() {
        local status=0
        [ -e "$OUTPUT" ] || return 0
        ktracectl convert "$OUTPUT" --to json >/dev/null 2>"$home/err" || status=$?
        case $STATUS/$status in
        */0 | */4) ;;
        0/* | */1[2-9][0-9]) complain "a call ended with $STATUS, and its output $OUTPUT is read with $status" ;;
        esac
}
verb_record_text() {
        draw_output json txt
        call record -q "${event[@]}" -e 'sched:sched_process_*' -o "$OUTPUT" -- "$TARGET" calls 50 1000
}
verb_record_flight() {
        draw_output kts dat
        call record -q --flight -b 64 "${event[@]}" -o "$OUTPUT" -- "$TARGET" calls 5000 1000
        readable
}
verb_read() {
        draw_word kts dat json
        [ ! -e "$home/$who.$DRAWN" ] || call report "$home/$who.$DRAWN"
}
verb_create() {
        local options=()
        draw_session "${every_session[@]:0:4}"
        case $SESSION in flight) options+=(--mode=flight) ;; spool) options+=(--spool=1M) ;; esac
        draw_word own own own system
        options+=(--scope "$DRAWN")
        draw_word '' '' '' '--lifetime=linger:3s' '--locked' '--probe=mine' \
                '--trigger=raw_syscalls:sys_exit if id == 1000 do notify' \
                '--trigger=raw_syscalls:sys_exit if id == 1000 do snapshot'
        [ -z "$DRAWN" ] || options+=("$DRAWN")
        draw_word 8 64 1024
        call create "$SESSION" -b "$DRAWN" "${event[@]}" "${options[@]}"
        call start "$SESSION"
        verb_work
}
verb_work() { as "$who" setpriv --no-new-privs "$TARGET" calls 3000 1000; }
of_session() { draw_session "${every_session[@]}" && call "$1" "$SESSION" "${@:2}"; }
verb_start() { of_session start; }
verb_stop() { of_session stop; }
verb_clear() { of_session clear; }
verb_destroy() { of_session destroy; }
verb_show() { of_session show; }
verb_mark() { of_session mark the walk goes on; }
verb_set() {
        draw_word on off
        of_session set raw_syscalls:sys_enter "$DRAWN"
        draw_word 8 64 256
        of_session set buffer-kb "$DRAWN"
}
verb_snapshot() {
        draw_output kts dat
        call snapshot flight -o "$OUTPUT"
        readable
}
# Until it is interrupted, if the session does not end before.
verb_stream() {
        local reader
        draw_session stream1 stream2 flight
        draw_output kts dat
        draw_word "-o$OUTPUT" "-o$OUTPUT" --notify
        AS_EXEC=exec as "$who" timeout -k "$verb_limit" -s INT 1 ktracectl stream "$SESSION" "$DRAWN" >"$home/out" \
                2>"$home/err" </dev/null &
        reader=$!
        verb_work
        STATUS=0
        wait $reader || STATUS=$?
        [ "$STATUS" != 137 ] || complain "stream does not end after SIGINT"
}
verb_hist() { call hist "${event[@]}" --key id -- "$TARGET" calls 100 1000; }
verb_list() {
        draw_word list status events 'probes list' 'saved list' 'spool list' verify
        # shellcheck disable=SC2086 # two words
        call $DRAWN
}
verb_probe() {
        draw_word mine other
        call probes add "$DRAWN" --on "$home/prog:probed_add" 'a = $arg1 : s64'
        draw_word mine other
        draw 3
        [ "$DRAWN" != 0 ] || call probes remove mine
}
verb_spool() {
        draw_output kts dat
        call spool fetch spool -o "$OUTPUT"
        readable
        draw 2
        [ "$DRAWN" != 0 ] || call spool remove spool
}
verb_policy() { call policy reload; }
verbs=(record record record_text record_flight read create create create create work start stop clear destroy show mark
        set snapshot stream hist list probe spool policy)

# walker UID: random verbs until the file ./stop is there. Its numbers go on in the next third.
walker() {
        who=$1 home=$T/u$1
        RANDOM=$((SEED + who + third * 7919))
        until [ -e "$T/stop" ]; do
                draw_word "${verbs[@]}"
                "verb_$DRAWN" || true
        done
}

fill() { # FOLDER: its disk is full, or no longer
        if [ -e "$1/ballast" ]; then rm "$1/ballast"; else head -c 64M /dev/zero >"$1/ballast" 2>/dev/null || true; fi
}
# chaos WORD...: one of these events every second or so.
chaos() {
        who=chaos home=$T
        RANDOM=$((SEED + third))
        until [ -e "$T/stop" ]; do
                draw 20
                sleep "$((DRAWN / 10)).$((DRAWN % 10))"
                draw_word "$@"
                echo "$(date +%T) $DRAWN" >>"$T/chaos.log"
                case $DRAWN in
                worker) kill_worker ;;
                daemon) ! pid=$(daemon_pid 2>/dev/null) || kill -KILL "$pid" || true ;;
                restart) restart_daemon ;;
                small) fill "$T/small" ;;
                spool) fill "$NATIVE/state" ;;
                esac
        done
}
kill_worker() {
        local workers
        mapfile -t workers < <(pgrep -f "^$NATIVE/bin/ktrace-consumer")
        draw 100
        [ "${#workers[@]}" = 0 ] || kill -KILL "${workers[DRAWN % ${#workers[@]}]}" 2>/dev/null || true
}

# walk_for SECONDS CHAOS...: all walkers and chaos, until this time is over.
walk_for() {
        local seconds=$1 pid pids=()
        shift
        rm -f "$T/stop"
        for uid in 0 "$USER_UID" "$STRANGER_UID"; do
                walker "$uid" &
                pids+=($!)
        done
        chaos "$@" &
        pids+=($!)
        started+=("${pids[@]}")
        sleep "$seconds"
        touch "$T/stop"
        for pid in "${pids[@]}"; do wait "$pid" || fail "a walker ended with status $?"; done
        [ ! -s "$T/complaints" ] || fail "$(tail -n 5 "$T"/u*/log "$T/chaos.log"; cat "$T/complaints")"
}

# nothing_left: after the walkers have ended, root removes what they made; the daemon itself must remove all the rest.
has_only_prepared() { n_instances "$(ktracectl status --json=short | jq '.daemon.prepared | length')"; }
nothing_left() {
        rm -f "$T/small/ballast" "$NATIVE/state/ballast"
        within 30 ktracectl status || fail "the daemon does not answer"
        clear_up 2>"$T/err" || fail "sessions or probes cannot be removed: $(cat "$T/err")"
        within 30 spool_over || fail "recordings do not end: $(ktracectl spool list)"
        ktracectl spool list --json=short | jq -r '.[].id' | xargs -r ktracectl spool remove
        within 30 no_worker || fail "stream workers are left: $(pgrep -af "^$NATIVE/bin/ktrace-consumer")"
        wait_clean
        within 10 has_only_prepared || fail "instances are left: $(ls "$TRACEFS/instances")"
        ! grep -s ktrace_ "$TRACEFS/dynamic_events" || fail "probes are left"
        same '[]' "$(ktracectl list --json=short)" sessions
        same '' "$(find "$STATE_DIR" -name '*.json')" "files about sessions"
}
spool_over() { ktracectl spool list --json=short | jq -e 'all(.state == "ended" or .state == "crashed")'; }
no_worker() { ! pgrep -f "^$NATIVE/bin/ktrace-consumer"; }

# measure: a line `NAME NUMBER` for each name of growth_max that can be read.
measure() {
        local pid
        pid=$(daemon_pid)
        awk '/^VmRSS:/ { print "rss-kb", $2 } /^Threads:/ { print "threads", $2 }' "/proc/$pid/status"
        echo "descriptors $(find "/proc/$pid/fd" -mindepth 1 | wc -l)"
        [ ! -r /proc/slabinfo ] || awk '/^(trace_event_file|ftrace_event_field|tracefs_inode_cache) / \
                { print $1, $2 }' /proc/slabinfo
}
leave_walk() {
        local status=$?
        (leave_case)
        if ! within 10 umount "$NATIVE/state"; then
                echo "FAILED: after the end of the daemon its disk is in use: $(fuser -vm "$NATIVE/state" 2>&1)"
                umount -l "$NATIVE/state"
                status=1
        fi
        [ ! -s "$NATIVE/failed" ] || cat "$NATIVE/failed"
        exit "$status"
}
# The daemon's log is long: what failed stands after it, where tap.sh shows it.
fail() {
        echo "FAILED: $*" | tee -a "$NATIVE/failed"
        exit 1
}
# not_grown: compares with ./middle; ./grown says what is more than growth_max.
not_grown() {
        local name number was
        measure >end
        : >grown
        while read -r name number; do
                was=$(awk -v name="$name" '$1 == name { print $2 }' middle)
                [ $((number - was)) -le "${growth_max[$name]}" ] ||
                        echo "$name from $was to $number, more than ${growth_max[$name]}" >>grown
        done <end
        [ ! -s grown ]
}
settled() { sleep 5 && measure >"$1"; } # callers have left, and the kernel has freed what waited for RCU

case_soak() { # [deep] a random walk of three users leaves nothing, and the daemon does not grow
        local third pid uid
        chmod 755 "$T"
        mkdir "$T/small"
        for uid in 0 "$USER_UID" "$STRANGER_UID"; do
                install -d -o "$uid" "$T/u$uid"
                install -o "$uid" "$PROBED" "$T/u$uid/prog" # probes are allowed in a user's own programs
        done
        mount -t tmpfs -o size=1M,mode=1777 tmpfs "$T/small"
        daemon_ends
        mount -t tmpfs -o size=16M,mode=755 tmpfs "$NATIVE/state"
        trap leave_walk EXIT
        kept
        # A process of each user that may always be traced.
        for uid in "$USER_UID" "$STRANGER_UID"; do background as "$uid" setpriv --no-new-privs sleep infinity; done
        third=1
        walk_for $((SOAK_SECONDS / 3)) worker worker daemon restart small spool
        nothing_left
        pid=$(daemon_pid)
        third=2
        walk_for $((SOAK_SECONDS / 3)) worker worker small spool
        nothing_left
        settled middle
        third=3
        walk_for $((SOAK_SECONDS / 3)) worker worker small spool
        nothing_left
        same "$pid" "$(daemon_pid)" "the daemon, which nobody killed"
        cat u*/log | awk '{ n[/ killed / ? "killed" : $2 == 0 ? "well" : "other"]++ }
                END { print n["well"] " calls ended well, " n["other"] " did not, " n["killed"] " were killed" }' \
                >>"$SOAK_REPORT"
        sleep 5
        # Other programs of the machine may have instances too, for a moment.
        within 60 not_grown || fail "grew too much from the second third to the end: $(cat grown)"
        paste -d' ' middle end | awk '{ print $1 ": " $2 " after two thirds, " $4 " at the end" }' >>"$SOAK_REPORT"
}
