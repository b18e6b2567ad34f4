# SPDX-License-Identifier: LGPL-2.1-or-later
# Existing instances of other programs: a session reads them, changes them for a while and restores them.

BORROWED=ktest-borrowed

borrowed_begin() {
        trap borrowed_end EXIT
        mkdir "$TRACEFS/instances/$BORROWED"
        theirs=$TRACEFS/instances/$BORROWED
}
borrowed_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        [ ! -d "$TRACEFS/instances/$BORROWED" ] || within 20 rmdir "$TRACEFS/instances/$BORROWED"
        leave_case
}
# state: everything that a session may change.
state() {
        local file
        for file in tracing_on buffer_percent buffer_size_kb trace_clock current_tracer options/overwrite set_event \
                events/raw_syscalls/sys_enter/filter events/raw_syscalls/sys_exit/filter; do
                echo "$file: $(cat "$theirs/$file")"
        done
}

case_borrowed_lines() { # a session reads the messages in an existing instance without events, and the instance stays
        borrowed_begin
        local before
        before=$(state)
        recording ktracectl record -q --scope system --instance $BORROWED -o t.kts
        echo "from its maker" >"$theirs/trace_marker"
        echo "again" >"$theirs/trace_marker"
        ends_well 2
        same 2 "$(count t.kts '.event == "print"')" "lines"
        prints 'from its maker' ktracectl report t.kts || fail "$(ktracectl report t.kts)"
        same "$before" "$(state)" "the instance"
        same "\"$BORROWED\"" "$(ktracectl report --receipt --json=short t.kts | jq .spec.instance)" "in the receipt"
}

case_borrowed_events() { # events, filters and tracing_on of an existing instance are restored at the end
        borrowed_begin
        echo 'id == 1000' >"$theirs/events/raw_syscalls/sys_exit/filter"
        echo 1 >"$theirs/events/raw_syscalls/sys_exit/enable"
        echo 'id == 1001' >"$theirs/events/raw_syscalls/sys_enter/filter"
        echo boot >"$theirs/trace_clock"
        echo 0 >"$theirs/tracing_on"
        local before
        before=$(state)
        recording ktracectl record -q --scope system --instance $BORROWED -e raw_syscalls:sys_enter -f 'id == 1000' \
                -o t.kts
        "$TARGET" calls 5 1000
        refused 1 'a session reads .* already' ktracectl create x --scope system --instance $BORROWED
        refused 1 "not the session's own" ktracectl clear "$(ktracectl list --json=short | jq -r '.[0].id')"
        refused 1 "not the session's own" ktracectl set "$(ktracectl list --json=short | jq -r '.[0].id')" buffer-kb 64
        ! rmdir "$theirs" 2>/dev/null || fail "it could be removed while a session reads it"
        ends_well 10
        same '5 5' "$(count t.kts '.event == "sys_enter"') $(count t.kts '.event == "sys_exit"')" "events"
        same "$before" "$(state)" "the instance"
        # The owner has stopped it: nothing else is recorded.
        "$TARGET" calls 3 1000
        same 0 "$(grep -vc '^#' "$theirs/trace")" "records that are left"
}

case_borrowed_refused() { # --instance refuses paths, own instances, missing ones, keys that disturb others, and users
        borrowed_begin
        local try='ktracectl create x --scope system'
        refused 2 'instance: "../x" contains characters other than' $try --instance ../x
        refused 2 'instance: ".." is a directory' $try --instance ..
        refused 2 "belongs to ktraced" $try --instance ktrace-0123456789abcdef
        refused 2 'there is no nobody-made-it' $try --instance nobody-made-it
        refused 2 '--buffer "64": cannot be set' $try --instance $BORROWED -b 64
        refused 2 '--clock "boot": cannot be set' $try --instance $BORROWED --clock boot
        refused 2 'write mode stream' $try --instance $BORROWED --mode flight
        refused 2 '--cpus "0": would change' $try --instance $BORROWED --cpus 0
        refused 2 'write scope system' ktracectl create x --scope own --instance $BORROWED
        expect 3 user ktracectl --no-ask-password create x --scope system --instance $BORROWED
        echo 1 >"$theirs/events/raw_syscalls/sys_enter/enable"
        ktracectl create taken -q --scope system --instance $BORROWED -e raw_syscalls:sys_enter -f 'id == 1'
        refused 2 'is already on in .*, and stays as it is: it takes no filter' ktracectl start taken
        ktracectl destroy taken
        same 1 "$(cat "$theirs/events/raw_syscalls/sys_enter/enable")" "its event"
}

case_borrowed_destroy() { # destroying a running session restores the existing instance that it used
        borrowed_begin
        local before
        before=$(state)
        ktracectl create taken -q --scope system --instance $BORROWED -e raw_syscalls:sys_enter -f 'id == 1'
        ktracectl start taken
        grep -q sys_enter "$theirs/set_event" || fail "it is not on"
        ktracectl destroy taken
        same "$before" "$(state)" "the instance"
        [ -d "$theirs" ] || fail "it was removed"
}

case_borrowed_restart() { # a session in an existing instance survives a killed daemon and restores it at the end
        borrowed_begin
        echo 'id == 1001' >"$theirs/events/raw_syscalls/sys_enter/filter"
        local before pid
        before=$(state)
        ktracectl create taken -q --scope system --instance $BORROWED -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start taken
        pid=$(daemon_pid)
        kill -KILL "$pid"
        within 30 sh -c "! kill -0 $pid 2>/dev/null" || fail "not killed"
        within 30 ktracectl status || fail "no daemon started"
        same '"running"' "$(ktracectl show taken --json=short | jq .state)" "state"
        "$TARGET" calls 3 1000
        same 3 "$(ktracectl status taken --json=short | jq .statistics.recorded)" "recorded"
        ktracectl destroy taken
        same "$before" "$(state)" "the instance"
        [ -d "$theirs" ] || fail "it was removed"
}

case_borrowed_ending() { # if the daemon is killed during the end of a session, the next one restores the instance
        borrowed_begin
        local hits=0 before ends=$((SECONDS + 60))
        restored() { [ "$before" = "$(state)" ]; }
        before=$(state)
        while [ "$hits" -lt 2 ] && [ "$SECONDS" -lt "$ends" ]; do
                ktracectl create box --scope system --instance $BORROWED -e raw_syscalls:sys_enter -f 'id == 1000' \
                        -e raw_syscalls:sys_exit
                ktracectl start box
                ktracectl destroy box 2>/dev/null &
                BACKGROUND=$!
                ! killed_when ending || hits=$((hits + 1))
                wait "$BACKGROUND" || true
                within 20 restored || fail "the instance: $(diff <(echo "$before") <(state))"
                same '[]' "$(ktracectl list --json=short)" "sessions"
        done
        [ "$hits" -gt 0 ] || skip "no session was ending when the daemon was killed"
}
