# SPDX-License-Identifier: LGPL-2.1-or-later
# The black box over a crash, which Linux has since 6.12: what root finds afterwards, whatever users have read before.
# suite: trixie
# append: panic=1
# append: reserve_mem=4M:4096:ktrace
# append: trace_instance=blackbox^traceoff@ktrace,sched:sched_process_fork,\
# append: sched:sched_process_exec,sched:sched_process_exit,signal:signal_generate,oom:mark_victim
# append: ktrace.boot=blackbox:c3287cecd7791f65

STATE=/run/ktrace/state/.boot.json
EXECUTION='.event == "sched_process_exec" and .fields.filename == "/run/before-the-crash"'

run_word() { cp /bin/true "/run/$1" && user "/run/$1"; }
crashes() { ktracectl spool list --json=short | jq -r '.[] | select(.kind == "crash").id'; }
has_crash() { [ -n "$(crashes)" ]; }
# has_records: a recording of a crash has the execution of run_word. On a busy machine, the first attempt may fail.
has_records() {
        local id
        for id in $(crashes); do
                ktracectl spool fetch "$id" -o "$id.kts" || continue
                [ "$(count "$id.kts" "$EXECUTION")" = 0 ] || return 0
        done
        return 1
}

boot1_enable() { # enable prints the words, and knows whether the kernel was booted with them
        expect 0 ktracectl blackbox enable --persistent 8M
        grep -q '^A reboot is needed' out || fail "$(cat out)"
        tail -n 1 out | grep -q '^reserve_mem=8M:4096:ktrace trace_instance=blackbox^traceoff@ktrace,.* ktrace.boot=' ||
                fail "$(cat out)"
        expect 0 ktracectl blackbox enable --persistent 4M
        grep -q '^Crash: 4M more .* twice the cost' out || fail "$(cat out)"
        grep -q '^The kernel was booted for this' out || fail "$(cat out) is not for $(cat /proc/cmdline)"
        ! grep -q reserve_mem out || fail "$(cat out)"
        same true "$(ktracectl --json=short blackbox status | jq .persistent)" "status"
        grep -q '^Crash: ' <(ktracectl blackbox status) || fail "$(ktracectl blackbox status)"
        refused 2 '"8X"' ktracectl blackbox enable --persistent 8X
}

boot1_read() { # a user reads the black box of this boot, which takes nothing from what is kept over a crash
        within 120 test -e $STATE || fail "not noted: $(journalctl -u ktraced -b -o cat)"
        within 30 user ktracectl last --since 1ms || fail "$(user ktracectl last --since 1ms 2>&1)"
        sleep 3 # the second reading of /proc
        run_word before-the-crash
        expect 0 user ktracectl last --since 5min -o mine.json
        same 1 "$(count_events "$EXECUTION" <mine.json)" "executions that the user reads"
        expect 0 user ktracectl last --since 5min -o mine.json
        has_crash && fail "$(ktracectl spool list)"
        sync
}
end_1() { echo c >/proc/sysrq-trigger; }

boot2_root() { # after the crash, root has the records before it as a recording, and the black box runs again
        within 120 has_records || fail "$(ktracectl spool list; journalctl -u ktraced -b -o cat)"
        # On a busy machine the start at boot may have taken too long.
        within 120 systemctl start ktrace-session@blackbox.service || fail "it does not start"
        expect 0 ktracectl last --since 1ms
        same 1 "$(cat "$TRACEFS/instances/blackbox/tracing_on")" "recording for the next crash"
}

boot2_user() { # users get nothing of the boot before: not its recording, and not with last
        same '[]' "$(user ktracectl spool list --json=short | jq -c .)" "recordings that the user sees"
        refused 1 '' user ktracectl spool fetch "$(crashes | head -n 1)" -o stolen.kts
        within 30 user ktracectl last --since 1ms || fail "$(user ktracectl last --since 1ms 2>&1)"
        expect 0 user ktracectl last --since 60min -o mine.json
        same 0 "$(count_events "$EXECUTION" <mine.json)" "executions of that boot"
        expect 0 ktracectl blackbox disable
        grep -q 'remove the words with trace_instance=blackbox' out || fail "$(cat out)"
}
