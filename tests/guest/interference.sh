# SPDX-License-Identifier: LGPL-2.1-or-later
# Other tracing tools on the same tracefs: their changes to our sessions are reported, and they see none of our events.

tools_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        perf probe -q -d 'mine*' 2>/dev/null || true
        ktracectl probes remove opens 2>/dev/null || true
        leave_case
}
# listening NAME FILE: writes the notifications of the session to FILE.
listening() {
        ktracectl --json stream "$1" --notify >"$2" 2>"$2.err" &
        started+=("$!")
        within 20 grep -q waiting "$2.err" || fail "$(cat "$2.err")"
}
# numbered USEC: starts a system session `box` that streams the numbered calls of a target to t.kts, until `counted`.
numbered() {
        ktracectl create box --scope system -b 1024 -e raw_syscalls:sys_enter -f 'id == 110'
        listening box reported
        background ktracectl stream box -o t.kts
        STREAM=$BACKGROUND
        ktracectl start box
        within 20 test -s t.kts || fail "no stream"
        "$TARGET" until stop "$1" >made &
        CALLER=$!
        started+=("$CALLER")
        more_recorded
}
# more_recorded: waits until another event is recorded.
more_recorded() {
        local n
        n=$(ktracectl --json=short show box | jq .statistics.recorded)
        within 20 recorded_beyond "$n" || fail "no new event is recorded: $(ktracectl show box) $(tail -n 2 reported)"
}
recorded_beyond() { ktracectl --json=short show box | jq -e ".statistics.recorded > $1"; }
# uptime_nsec: prints the machine's uptime in nanoseconds, as in the records.
uptime_nsec() { awk '{ printf "%.0f\n", $1 * 1e9 }' /proc/uptime; }
# foreign COMMAND...: runs another program that reads the session's instance, and takes records from it. The time is in
# the file foreign.
foreign() {
        local began
        began=$(uptime_nsec)
        "$@" || true
        echo "[$began, $(uptime_nsec)]" >>foreign
}
# is_restored: whether the session's instance has its settings again.
is_restored() {
        local instance
        instance=$TRACEFS/instances/ktrace-$(ktracectl --json=short show box | jq -r .id)
        [ "$(cat "$instance/tracing_on")" = 1 ] && [ "$(cat "$instance/events/raw_syscalls/sys_enter/enable")" = 1 ] &&
                [ "$(cat "$instance/events/raw_syscalls/sys_enter/filter")" = 'id == 110' ]
}
# counted: ends the target; the number of its calls is in $MADE. Each missing call must be in a reported gap, which
# begins at most 100 ms late on this slow machine, or at a time when a foreign program read the instance. If the clock
# was changed, times may run backwards.
counted() {
        within 20 is_restored || fail "does not record again: $(cat reported)"
        more_recorded
        : >stop
        wait "$CALLER" || fail "the target"
        MADE=$(cat made)
        ktracectl destroy box || fail "box has ended: $(tail -n 2 reported)"
        wait "$STREAM" || true
        ktracectl convert t.kts --to json |
                jq -c 'select(.event == "sys_enter" and .fields.id == 110 and .comm == "target") |
                        [.fields.args[0], .ts]' >calls
        touch foreign
        jq -s --slurpfile r <(jq -c 'select(.kind == "interference") | [."from-nsec", ."until-nsec"]' reported; cat \
                foreign) '
                sort_by(.[0]) | . as $c | [range(1; length) | select($c[.][0] > $c[. - 1][0] + 1) |
                        [$c[. - 1], $c[.]]] |
                {calls: ($c | length), first: $c[0][0], last: $c[-1][0], gaps: length,
                 unreported: map(select(. as $g | any($r[]; .[0] - 1e8 <= ($g | map(.[1]) | max) and .[1] >= ($g |
                         map(.[1]) | min)) | not))}' calls >counts
        same "1 $MADE" "$(jq -r '"\(.first) \(.last)"' counts)" "the first and the last call: $(jq -c . counts)"
        same '[]' "$(jq -c .unreported counts)" "gaps that were not reported: $(jq -c . \
                counts) $(jq -c 'select(.kind == "interference") | [.reason, ."from-nsec", ."until-nsec"]' reported)"
        jq -c . counts
}
reported_some() { [ "$(n_reported)" -ge 1 ]; }
n_reported() { jq -s 'map(select(.kind == "interference")) | length' reported; }
gone() { ktracectl list --json=short | jq -e --arg name "$1" 'any(.[]; .name == $name) | not'; }

# reset_ends SESSION: trace-cmd turns an event off before it removes the probe. If ktraced is faster, it turns the event
# on again, the probe cannot be removed, and the session goes on with it.
reset_ends() {
        trace-cmd reset
        within 10 gone "$1"
}

case_tools_reset() { # [deep] trace-cmd reset ends sessions with probes, with a reason; others continue
        trap tools_end EXIT
        ktracectl probes add opens --on do_sys_openat2 'dfd = $arg1 : s32'
        ktracectl create probed --mode flight --scope system -b 64 --probe opens
        ktracectl start probed
        listening probed reported.probed
        numbered 2000
        trace-cmd reset
        counted
        same 0 "$(n_reported)" "changes: $(cat reported)"
        same "$MADE" "$(wc -l <calls)" "calls"
        within 20 gone probed || within 100 reset_ends probed || fail "it goes on without its probe"
        jq -se 'any(.[]; .kind == "interference" and (.reason | test("opens")))' reported.probed ||
                fail "$(cat reported.probed)"
        within 20 grep -q '^p:ktrace_u0/opens do_sys_openat2 dfd=' "$TRACEFS/kprobe_events" ||
                fail "not restored: $(cat "$TRACEFS/kprobe_events")"
        expect 0 ktracectl record -q --scope system --probe opens -o u.kts -- cat /etc/passwd
        [ "$(count u.kts '.event == "opens"')" -gt 0 ] || fail "no records of it"
}

case_tools_reset_all() { # [deep] trace-cmd reset -a in a recording: each missing call is in a reported gap
        trap tools_end EXIT
        user ktracectl record -q -e raw_syscalls:sys_enter -f 'id == 110' -o f.kts -- sleep 60 2>fenced.err &
        local fenced=$!
        started+=("$fenced")
        within 20 is_running || fail "$(cat fenced.err)"
        numbered 2000
        trace-cmd reset -a
        within 20 reported_some || fail "nothing reported"
        counted
        wait "$fenced" && fail "the fenced session ended well" || true
        grep -q 'interference\|another program' fenced.err || fail "$(cat fenced.err)"
        journalctl -b -o cat MESSAGE_ID="$(sed -n 's/^#define AUDIT_ID_INTERFERENCE *"\(.*\)"/\1/p' /run/job/audit.h)" |
                grep -q 'put back' || fail "not in the journal"
}

case_tools_record_ours() { # [deep] trace-cmd record in our instance is reported, and cannot remove the instance
        trap tools_end EXIT
        local id
        numbered 2000
        id=$(ktracectl --json=short show box | jq -r .id)
        foreign trace-cmd record -q -B "ktrace-$id" -e sched:sched_process_exec -o x.dat sleep 0.2 >trace-cmd.out 2>&1
        within 20 reported_some || fail "nothing reported"
        counted
}

case_tools_beside() { # [deep] trace-cmd, perf and bpftrace count the same with our sessions, and are not in them
        trap tools_end EXIT
        snapshot_top >before
        (set +e; while [ ! -e over ]; do
                ktracectl create other --mode flight --scope system -b 64 -e raw_syscalls:sys_enter -f 'id == 110' \
                        -e sched:sched_switch
                ktracectl start other
                ktracectl stop other
                ktracectl destroy other
        done) >/dev/null 2>&1 &
        local other=$!
        started+=("$other")
        numbered 3000
        # Of so many events trace-cmd itself loses some here, also without other traces.
        trace-cmd record -q -e raw_syscalls:sys_enter -f 'id == 111' -o top.dat "$TARGET" calls 1000 111 >/dev/null
        [ "$(trace-cmd report -i top.dat 2>/dev/null | grep -c 'NR 111')" -gt 0 ] || fail "trace-cmd"
        same '' "$(trace-cmd report -i top.dat 2>/dev/null | grep sys_enter | grep -v 'NR 111')" \
                "trace-cmd's own filter"
        trace-cmd record -q -B mine -e raw_syscalls:sys_enter -f 'id == 111' -o mine.dat "$TARGET" calls 1000 111 \
                >/dev/null
        [ "$(trace-cmd report -i mine.dat 2>/dev/null | grep -c 'NR 111')" -gt 0 ] || fail "trace-cmd in an instance"
        perf record -q -a -m 1024 -e raw_syscalls:sys_enter --filter 'id == 111' -o perf.data "$TARGET" calls 1000 111 \
                >/dev/null
        same 1000 "$(perf script -i perf.data -F event 2>/dev/null | grep -c sys_enter)" "perf"
        perf probe -q --add 'mine=vfs_read' || fail "perf probe"
        perf probe -q -d mine || fail "perf probe -d"
        same 500 "$(bpftrace -q -e 'tracepoint:raw_syscalls:sys_enter /args->id == 111/ { @n = count(); }' \
                -c "$TARGET calls 500 111" | sed -n 's/^@n: //p')" "bpftrace"
        : >over
        wait "$other" || true
        ! ktracectl show other >/dev/null 2>&1 || ktracectl destroy other || true
        within 20 gone other || fail "the command does not end"
        counted
        same "$MADE" "$(wc -l <calls)" "calls"
        same 0 "$(n_reported)" "changes: $(cat reported)"
        [ ! -d "$TRACEFS/instances/mine" ] || rmdir "$TRACEFS/instances/mine"
        within 20 no_instance || fail "$(ls "$TRACEFS/instances")"
        snapshot_top >after
        diff before after || fail "the top of tracefs is not as it was"
}
# Prints the settings of the top buffer.
snapshot_top() {
        local file
        for file in set_event current_tracer buffer_size_kb trace_clock tracing_on kprobe_events uprobe_events \
                set_event_pid tracing_cpumask error_log \
                options/overwrite events/enable events/raw_syscalls/sys_enter/filter; do
                # " (expanded: N)" until the first recording there.
                echo "$file: $(sed 's/ (expanded.*//' "$TRACEFS/$file")"
        done
        ls "$TRACEFS/instances"
}

case_tools_top_unchanged() { # our sessions do not change the settings of the top buffer
        trap 'echo 0 >"$TRACEFS/events/sched/sched_process_exec/enable"
                echo 0 >"$TRACEFS/events/sched/sched_process_exec/filter"
                echo "-:mine/theirs" >>"$TRACEFS/kprobe_events"
                tools_end' EXIT
        local n
        echo 'p:mine/theirs vfs_fsync' >>"$TRACEFS/kprobe_events"
        echo 'pid > 1' >"$TRACEFS/events/sched/sched_process_exec/filter"
        echo 1 >"$TRACEFS/events/sched/sched_process_exec/enable"
        snapshot_top >before
        n=$(grep -c sched_process_exec "$TRACEFS/trace" || true)
        ktracectl probes add opens --on do_sys_openat2 'dfd = $arg1 : s32'
        ktracectl create box --scope system -b 64 --probe opens -e 'sched:*'
        ktracectl start box
        expect 0 user ktracectl record -q -e sched:sched_process_exec -o t.kts -- true
        expect 0 ktracectl record -q --scope system -e raw_syscalls:sys_enter -o u.kts -- true
        ktracectl destroy box
        ktracectl probes remove opens
        snapshot_top >after
        diff before after || fail "the top of tracefs is not as it was"
        [ "$(grep -c sched_process_exec "$TRACEFS/trace")" -gt "$n" ] || fail "the others' events do not arrive"
}

case_tools_perf_probe_all() { # perf probe -d of all probes fails for probes in use; the others are restored
        trap tools_end EXIT
        ktracectl probes add opens --on do_sys_openat2 'dfd = $arg1 : s32'
        perf probe -q -d '*:*' >perf.out 2>&1 || true
        within 20 grep -q '^p:ktrace_u0/opens ' "$TRACEFS/kprobe_events" ||
                fail "not restored: $(cat "$TRACEFS/kprobe_events" perf.out)"
        ktracectl create probed --mode flight --scope system -b 64 --probe opens
        ktracectl start probed
        perf probe -q -d '*:*' >perf.out 2>&1 || true
        sleep 0.5
        cat /etc/passwd >/dev/null
        expect 0 ktracectl snapshot probed -o t.kts
        [ "$(count t.kts '.event == "opens"')" -gt 0 ] || fail "no records of it"
        ktracectl destroy probed
        echo '-:ktrace_u0/opens' >>"$TRACEFS/kprobe_events"
        within 20 grep -q '^p:ktrace_u0/opens ' "$TRACEFS/kprobe_events" || fail "not restored the second time"
}
