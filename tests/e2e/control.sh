# SPDX-License-Identifier: LGPL-2.1-or-later
# Changes of a running session: events on and off, clear, the buffer size.

control_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}

# Two events of a system call that no other program makes.
controlled() {
        trap control_end EXIT
        ktracectl create box --mode flight --scope system -e 'raw_syscalls:sys_*' --where 'id == 1000'
        ktracectl start box
}
# entries and exits in the buffer
held() {
        ktracectl snapshot -q box -o t.kts
        echo "$(count t.kts '.event == "sys_enter"') $(count t.kts '.event == "sys_exit"')"
}

case_control_set() { # an event that is switched off records nothing until it is on again; other events continue
        controlled
        "$TARGET" calls 3 1000
        ktracectl set box raw_syscalls:sys_exit off
        "$TARGET" calls 5 1000
        same '8 3' "$(held)" "with exits off"
        ktracectl stop box
        ktracectl start box
        "$TARGET" calls 2 1000
        same '10 3' "$(held)" "after a stop"
        ktracectl set box 'raw_syscalls:*' off
        "$TARGET" calls 7 1000
        same '10 3' "$(held)" "all off"
        ktracectl stop box
        ktracectl set box sys_exit on
        ktracectl start box
        "$TARGET" calls 1 1000
        same '10 4' "$(held)" "set while stopped"
        ktracectl set box 'raw_syscalls:*' on
        "$TARGET" calls 1 1000
        same '11 5' "$(held)" "all on"
}

case_control_refused() { # set refuses unknown events, events that the fence needs, and other users' sessions
        controlled
        refused 1 'sched:sched_switch: the session has no such event' ktracectl set box sched:sched_switch on
        # shellcheck disable=SC2046 # 65 words
        expect 1 busctl call org.ktrace1 "/org/ktrace1/session/$(ktracectl list --json=short | jq -r '.[0].id')" \
                org.ktrace1.Session \
                Configure 'a{sv}' 1 events-off as 65 $(yes sys_exit | head -n 65)
        grep -q 'events-off: 64 names of 256 bytes at most' err || fail "$(cat err)"
        refused 2 'on or off' ktracectl set box raw_syscalls:sys_exit maybe
        refused 1 'no session has this name' user ktracectl set box raw_syscalls:sys_exit off
        ktracectl destroy box
        background user setpriv --no-new-privs sleep 100
        recording user ktracectl record -q --scope own -e raw_syscalls:sys_enter -e sched:sched_process_fork -o t.kts
        local id
        id=$(user ktracectl list --json=short | jq -r '.[0].id')
        refused 2 'sched_process_fork stays on' user ktracectl set "$id" sched:sched_process_fork off
        expect 0 user ktracectl set "$id" '*:*' off
        expect 0 user ktracectl set "$id" raw_syscalls:sys_enter on
        refused 1 'trace of all processes' user ktracectl clear "$id"
        ends_well
}

case_control_clear() { # clear drops the recorded events, and later ones are recorded
        controlled
        "$TARGET" calls 4 1000
        same '4 4' "$(held)" "before"
        ktracectl clear box
        same '0 0' "$(held)" "after the clearing"
        "$TARGET" calls 2 1000
        same '2 2' "$(held)" "since"
}

case_control_resize() { # the buffer can grow and shrink during a recording, and a snapshot has its contents
        controlled
        "$TARGET" calls 4 1000
        ktracectl set box buffer-kb 4096
        same 4096 "$(ktracectl show box --json=short | jq .spec.\"buffer-kb\")" "size shown"
        "$TARGET" calls 3 1000
        same '7 7' "$(held)" "grown"
        same 2 "$(ktracectl report t.kts | grep -c 'print: .*ktraced: .* 4096 kB a CPU')" "lines that tell of the gap"
        ktracectl set box buffer-kb 128
        "$TARGET" calls 2 1000
        same '9 9' "$(held)" "shrunk"
        ktracectl set box buffer-kb 8192
        "$TARGET" calls 30000 1000
        same '30009 30009' "$(held)" "room for all"
}

case_control_resize_refused() { # a refused buffer size changes nothing: too large for machine or rule, or fenced
        controlled
        "$TARGET" calls 4 1000
        refused 2 'number of kB' ktracectl set box buffer-kb much
        refused 2 'kB on each CPU are possible' ktracectl set box buffer-kb 1
        refused 2 'kB on each CPU are possible' ktracectl set box buffer-kb 99999999999999999999999
        expect 1 busctl call org.ktrace1 "/org/ktrace1/session/$(ktracectl list --json=short | jq -r '.[0].id')" \
                org.ktrace1.Session \
                Configure 'a{sv}' 1 buffer-kb s 4096
        grep -q 'expected a number from 0, got a string' err || fail "$(cat err)"
        same 1024 "$(ktracectl show box --json=short | jq .spec.\"buffer-kb\")" "size after refusals"
        same '4 4' "$(held)" "after refusals"
        ktracectl destroy box
        user ktracectl create mine -q --scope own -e raw_syscalls:sys_enter --lifetime linger:600
        expect 0 user ktracectl set mine buffer-kb 2048
        refused 1 'max-buffer-kb' user ktracectl set mine buffer-kb 1000000
        background user setpriv --no-new-privs sleep 100
        user ktracectl start mine
        refused 1 'only before its first start' user ktracectl set mine buffer-kb 1024
        user ktracectl destroy mine
}

case_control_counts() { # status reports how many events were recorded, kept, dropped and switched off, for each CPU
        controlled
        "$TARGET" calls 4 1000
        ktracectl set box sys_exit off
        same '["raw_syscalls:sys_exit"]' "$(ktracectl show box --json=short | jq -c .off)" "what is off"
        ktracectl status box --json=short >s
        same 8 "$(jq .statistics.recorded s)" "recorded"
        same 8 "$(jq '[.statistics.cpus[].entries] | add' s)" "kept"
        same '0 0' "$(jq -r '.statistics | "\([.cpus[].dropped] | add) \([.cpus[].overwritten] | add)"' s)" \
                "nothing lost"
        same true "$(jq '.statistics | [.cpus[] | select(.entries > 0) | ."now-nsec" > ."oldest-nsec"] | all' s)" \
                "times"
        ktracectl status box | grep -E 'cpu [0-9]+: .* 0 dropped, 0 overwritten, .* s back' >/dev/null ||
                fail "$(ktracectl status box)"
}

case_control_resize_restart() { # a changed buffer size survives a restart of the daemon
        trap control_end EXIT
        ktracectl create box -q --mode flight --scope system -e raw_syscalls:sys_enter --where 'id == 1000'
        ktracectl start box
        ktracectl set box buffer-kb 2048
        local pid
        pid=$(daemon_pid)
        kill -KILL "$pid"
        within 30 sh -c "! kill -0 $pid 2>/dev/null" || fail "not killed"
        within 30 ktracectl status || fail "no daemon started"
        same 2048 "$(ktracectl show box --json=short | jq '.spec."buffer-kb"')" "size"
}

case_control_several() { # start, stop and destroy take several sessions; an error for one does not affect the others
        for name in first second third; do
                ktracectl create $name --scope system -b 64 -e sched:sched_process_exec
        done
        expect 0 ktracectl start first third
        expect 1 ktracectl start first second nobody
        grep -q '^ktracectl: first: the session is running' err || fail "$(cat err)"
        grep -q '^ktracectl: nobody: no session' err || fail "$(cat err)"
        same 3 "$(ktracectl --json=short list | jq 'map(select(.state == "running")) | length')" running
        expect 0 ktracectl destroy third second first
        same 0 "$(ktracectl --json=short list | jq length)" sessions
        refused 2 '--lifetime "client": .*would end with this command: write linger' ktracectl create gone \
                --lifetime client --scope system -e sched:sched_process_exec
}
