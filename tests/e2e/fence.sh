# SPDX-License-Identifier: LGPL-2.1-or-later
# Events that end a user's session: a traced process gains privileges, or another program changes the session.

fence_target() { background user setpriv --no-new-privs "$TARGET" paced 2000 50000; }

# fence_recording ARGUMENTS...: starts a recording into t.kts in the background.
fence_recording() {
        background user ktracectl record -q -e raw_syscalls:sys_enter -e sched:sched_process_exec -o t.kts "$@"
        within 30 is_running || fail "the recording did not start: $(cat background.err)"
        RECORDING=$BACKGROUND
}
fence_instance() { echo "$TRACEFS"/instances/ktrace-*; }
# fence_ends REASON: the recording fails with this reason.
fence_ends() {
        local status=0
        wait "$RECORDING" || status=$?
        same 1 "$status" "status of record"
        grep -Eq "$1" background.err || fail "no reason: $(cat background.err)"
}

case_fence_foreign_pids() { # a session ends if another program adds a pid to its list
        fence_target
        fence_recording -p "$BACKGROUND"
        sleep 0.5
        echo 1 >>"$(fence_instance)/set_event_pid"
        fence_ends 'another program.*set_event_pid'
        same 0 "$(count t.kts '.pid == 1')" "records of process 1"
}

case_fence_foreign_emptying() { # a session ends if another program empties its pid list, with own records only
        fence_target
        pid=$BACKGROUND
        fence_recording -p "$pid"
        sleep 0.5
        : >"$(fence_instance)/set_event_pid"
        fence_ends 'another program.*set_event_pid'
        same 0 "$(count t.kts ".event != null and .pid != $pid")" "others' records"
}

case_fence_foreign_filter() { # a session ends if another program removes its filter
        fence_target
        fence_recording -p "$BACKGROUND"
        sleep 0.5
        echo 0 >"$(fence_instance)/events/raw_syscalls/sys_enter/filter"
        fence_ends 'another program.*raw_syscalls/sys_enter/filter'
}

case_fence_foreign_while_stopped() { # [guest] a stopped session ends if another program changes it
        fence_target
        expect 0 user ktracectl create halted --scope "pids:$BACKGROUND" -e raw_syscalls:sys_enter
        expect 0 user ktracectl start halted
        expect 0 user ktracectl stop halted
        sleep 0.3
        echo 0 >"$(fence_instance)/tracing_on"
        # The guard acts at once. The daemon looks once a minute whether it has, while nothing is recorded.
        within 100 sh -c '! ktracectl list --json=short | grep -q halted' || fail "the session is still there"
}

# The guard needs a kernel with kprobes.
needs_kprobes() { [ -e "$TRACEFS/kprobe_events" ] || skip "the kernel has no kprobes"; }

fence_su() { background user sh -c 'while [ ! -e go ]; do sleep 0.2; done; /bin/su --version; sleep 100'; }

has_calls() { [ "$(count t.kts '.event == "sys_enter"')" -gt 0 ]; }

case_fence_setuid() { # [guest smoke] a session ends when a traced process gains privileges, and records nothing of them
        needs_kprobes
        fence_su
        fence_recording -p "$BACKGROUND"
        # Reports that have not arrived by then will not come.
        within 30 has_calls || fail "nothing is recorded"
        touch go
        fence_ends 'changed its credentials'
        # The kernel reports a program only after its new credentials are in force.
        same 0 "$(count t.kts '.event == "sched_process_exec" and .fields.filename == "/bin/su"')" "records of su"
        has_calls || fail "nothing was recorded before"
}

case_fence_setuid_while_stopped() { # [deep guest] a session ends when a process gains privileges while it is stopped
        needs_kprobes
        fence_su
        expect 0 user ktracectl create halted --scope "pids:$BACKGROUND" -e raw_syscalls:sys_enter
        expect 0 user ktracectl start halted
        expect 0 user ktracectl stop halted
        touch go
        # While nothing is recorded, the daemon looks at the guard once a minute.
        within 100 sh -c '! ktracectl list --json=short | grep -q halted' || fail "the session is still there"
}

# fence_sudo: makes a set-uid program that returns to the user's ids, as sudo does for the user's own name.
fence_sudo() {
        install -d -m 755 "$T.door"
        install -m 4755 "$TARGET" "$T.door/sudo"
}
# guard_ended FILE: the end of the stream names the guard and the cause.
guard_ended() {
        ktracectl report --receipt --json=short "$1" | jq -c .end >end.json || fail "no receipt of $1"
        same guard "$(jq -r .code end.json)" "the code at the end of $1"
        jq -r .reason end.json | matches '^a traced process changed its credentials' ||
                fail "the end of $1: $(cat end.json)"
}

case_fence_sudo_to_oneself() { # [guest] a set-uid program that returns to the user's ids ends the session
        needs_kprobes
        fence_sudo
        background user sh -c 'while [ ! -e go ]; do sleep 0.2; done; "$0" own sleep 100' "$T.door/sudo"
        fence_recording -p "$BACKGROUND"
        within 30 has_calls || fail "nothing is recorded"
        touch go
        fence_ends 'changed its credentials'
        guard_ended t.kts
}

case_fence_sudo_at_create() { # [guest] set-uid programs that run while sessions are created end them
        needs_kprobes
        fence_sudo
        local n=0
        # Most sessions are refused at the start, because the program has other ids then. Some begin in between.
        background user sh -c 'while :; do "$0" own true; "$0" own sleep 1; done' "$T.door/sudo"
        for i in $(seq 20); do
                ! user ktracectl record -q -e raw_syscalls:sys_enter -p "$BACKGROUND" -o "t$i.kts" 2>err ||
                        fail "the session has not ended"
                [ -e "t$i.kts" ] || continue
                guard_ended "t$i.kts"
                n=$((n + 1))
                [ $n -lt 3 ] || return 0
        done
        [ $n -gt 0 ] || fail "no stream began"
}

case_fence_harmless() { # [guest] a process that may gain privileges but does not is traced to its end
        needs_kprobes
        background user \
                sh -c 'while [ ! -e go ]; do sleep 0.2; done; i=0; while [ $i -lt 5 ]; do /bin/true; i=$((i + 1)); done
                touch done; sleep 100'
        fence_recording -p "$BACKGROUND"
        touch go
        within 30 test -e done || fail "the process is slow"
        kill -INT "$RECORDING"
        wait "$RECORDING" || fail "status $?: $(cat background.err)"
        same 5 "$(count t.kts '.event == "sched_process_exec" and .fields.filename == "/bin/true"')" "programs"
}

has_guard_probe() { grep -q '^p:ktrace_guard/commit_creds ' "$TRACEFS/kprobe_events"; }
has_no_guard_probe() { ! has_guard_probe; }

case_fence_guard_goes() { # [guest] the probe of the guard is removed with the last guarded session, and comes back
        needs_kprobes
        fence_su
        for name in one two later; do
                expect 0 user ktracectl create "$name" --scope "pids:$BACKGROUND" -e raw_syscalls:sys_enter
        done
        expect 0 user ktracectl start one two
        local one="$TRACEFS/instances/ktrace-$(ktracectl list --json=short | jq -r '.[] | select(.name == "one").id')"
        [ -d "$one" ] || fail "no instance $one"
        expect 0 user ktracectl destroy one
        within 20 sh -c "[ ! -e $one ]" || fail "the session is still there"
        has_guard_probe || fail "no guard"
        expect 0 user ktracectl destroy two
        within 20 has_no_guard_probe || fail "the probe is still there"
        expect 0 user ktracectl start later
        has_guard_probe || fail "no guard of a session from before"
        touch go
        within 20 sh -c '! ktracectl list --json=short | grep -q later' || fail "the guard has not ended the session"
        within 20 has_no_guard_probe || fail "the probe is still there after that"
}
