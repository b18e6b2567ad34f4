# SPDX-License-Identifier: LGPL-2.1-or-later
# A ring buffer in memory that survives a reset and a crash, which Linux has since 6.12.
# suite: trixie
# append: panic=1
# append: reserve_mem=4M:4096:ktrace
# append: trace_instance=kept^traceoff@ktrace,sched:sched_process_exec ktrace.boot=kept:9fd116bda78cc5c6

STATE=/run/ktrace/state/.boot.json

entries() { ktracectl spool list --json=short | jq -r '.[].id'; }
n_entries() { [ "$(ktracectl spool list --json=short | jq 'map(select(.kind == "crash")) | length')" = "$1" ]; }
is_noted() { within 120 test -e $STATE || fail "not noted: $(journalctl -u ktraced -u ktrace-collect -b -o cat)"; }
run_word() { cp /bin/true "/run/$1" && "/run/$1"; }
# has_word WORD: one entry has the execution of run_word.
has_word() {
        local id n=0
        for id in $(entries); do
                expect 0 ktracectl spool fetch "$id" -o "$id.kts"
                n=$((n + $(count "$id.kts" ".event == \"sched_process_exec\" and .fields.filename == \"/run/$1\"")))
        done
        same 1 "$n" "events of $1"
}

boot1_words() { # ktracectl bootconfig prints the words that this kernel was booted with
        echo '{"name":"kept","scope":"system","mode":"flight","clock":"local","events":["sched:sched_process_exec"]}' \
                >/etc/ktrace/kept.json
        expect 0 ktracectl bootconfig --persistent 4M /etc/ktrace/kept.json
        grep -qF "$(cat out)" /proc/cmdline || fail "$(cat out) is not in $(cat /proc/cmdline)"
        systemctl -q enable ktrace-collect.service
}

boot1_nothing() { # the first boot has no data of an earlier one, stores nothing, and records for the next
        systemctl start ktrace-collect.service
        is_noted
        same '' "$(entries)" "entries"
        same 'the previous boot left no records' "$(jq -r .left $STATE)" "what the daemon noted"
        same 1 "$(cat $TRACEFS/instances/kept/tracing_on)" "tracing_on"
        run_word before-the-reset
}

boot2_reset() { # after a reset, the events before it are stored
        is_noted
        n_entries 1 || fail "$(ktracectl spool list)"
        has_word before-the-reset
        run_word before-the-crash
}
end_2() { echo c >/proc/sysrq-trigger; }

boot3_crash() { # after a crash, the events before it are stored
        is_noted
        n_entries 2 || fail "$(ktracectl spool list)"
        has_word before-the-crash
}

boot3_once() { # the next daemon of this boot stores nothing again
        systemctl restart ktraced.service
        expect 0 ktracectl spool list
        sleep 1
        n_entries 2 || fail "$(ktracectl spool list)"
}
