# SPDX-License-Identifier: LGPL-2.1-or-later
# Keys of a spec that apply to the whole trace: cpus, stacktrace, tracer and locked.

keys_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}

case_keys_cpus() { # [asan] cpus: only the listed CPUs are recorded
        trap keys_end EXIT
        [ "$(nproc)" -gt 1 ] || skip "this machine has one CPU"
        recording ktracectl record -q --scope system --cpus 1 -e raw_syscalls:sys_enter --where 'id == 1000' -o t.kts
        taskset -c 0 "$TARGET" calls 3 1000
        taskset -c 1 "$TARGET" calls 5 1000
        ends_well 5
        same 5 "$(count t.kts 'true')" "events"
        same 5 "$(count t.kts '.cpu == 1')" "on CPU 1"
        same '"1"' "$(ktracectl report --receipt --json=short t.kts | jq .spec.cpus)" "in the receipt"
}

case_keys_cpus_refused() { # cpus: a malformed list, a missing CPU and a fenced session are refused
        refused 2 'cpus: "0-99999" is not a list' ktracectl create x --scope system --cpus 0-99999 \
                -e raw_syscalls:sys_enter
        refused 2 'cpus: 3-1 runs backwards: write 1-3' ktracectl create x --scope system --cpus 3-1 \
                -e raw_syscalls:sys_enter
        refused 2 '--cpus "8191": there is no CPU 8191: this machine has' ktracectl create x --scope system \
                --cpus 8191 -e raw_syscalls:sys_enter
        refused 2 '--cpus "0": whose the records are' user ktracectl create x --scope own --cpus 0 \
                -e raw_syscalls:sys_enter
        within 20 no_instance || fail "an instance was made"
}

case_keys_locked() { # locked: after the start the owner can only end the session; root can do everything
        trap keys_end EXIT
        background user setpriv --no-new-privs sleep 100
        user ktracectl create mine -q --locked --scope own -e raw_syscalls:sys_enter --lifetime linger:600
        user ktracectl start mine
        user ktracectl show mine >show
        grep -q '^ *Locked.*true' show || fail "show: $(cat show)"
        local verb
        for verb in start stop clear; do
                refused 3 "made with 'locked'" user ktracectl $verb mine
        done
        refused 3 "made with 'locked'" user ktracectl set mine sys_enter off
        refused 3 "made with 'locked'" user ktracectl set mine buffer-kb 64
        same '"running"' "$(user ktracectl show mine --json=short | jq .state)" "state"
        user ktracectl mark mine "still here"
        expect 0 ktracectl stop "$(session_id mine)"
        refused 3 "made with 'locked'" user ktracectl start mine
        expect 0 ktracectl start "$(session_id mine)"
        expect 0 user ktracectl destroy mine
}

case_keys_locked_owner_leaves() { # locked: the session still ends when its creator leaves
        trap keys_end EXIT
        local spec='{"scope": "system", "locked": true, "events": ["raw_syscalls:sys_enter"], "where": "id == 1000"}'
        echo "$spec" >spec.json
        recording ktracectl record -q --spec spec.json -o t.kts
        kill -9 "$RECORDING"
        within 30 no_instance || fail "the session is left"
}

case_keys_stacktrace() { # stacktrace: each event has the kernel's stack, with symbols for users who may see them
        trap keys_end EXIT
        recording ktracectl record -q --scope system --stacktrace -e raw_syscalls:sys_enter --where 'id == 1000' \
                -o t.kts
        "$TARGET" calls 3 1000
        ends_well 3
        same '3 3' "$(count t.kts '.event == "sys_enter"') $(count t.kts '.event == "kernel_stack"')" \
                "events and stacks"
        ktracectl report t.kts >t.txt
        grep -q 'kernel_stack:' t.txt || fail "$(head t.txt)"
        refused 3 "stacktrace: .* does not grant kernel addresses" \
                user ktracectl create x --scope own --stacktrace -e raw_syscalls:sys_enter
}

has_tracer() { # NAME
        mkdir "$TRACEFS/instances/keys-probe"
        local known
        known=$(cat "$TRACEFS/instances/keys-probe/available_tracers")
        (: >>"$TRACEFS/instances/keys-probe/set_ftrace_filter") 2>/dev/null || known=
        rmdir "$TRACEFS/instances/keys-probe"
        [[ " $known " == *" $1 "* ]]
}

# The kernel's name of sync(2). The kernel lists only one of several names of a function.
sync_function() { grep -m 1 -xE '__(x64|ia32|arm64)_sys_sync|ksys_sync' "$TRACEFS/available_filter_functions"; }

case_keys_tracer() { # [guest smoke] tracer: each call of the chosen function is recorded by name, and no other function
        trap keys_end EXIT
        has_tracer function || skip "this kernel's instances have no function tracer"
        recording ktracectl record -q --scope system --tracer function --function "$(sync_function)" -o t.kts
        sync
        sync
        ends_well 2
        same '2 2' "$(count t.kts '.event == "function"') $(count t.kts 'true')" "calls"
        ktracectl report t.kts >t.txt
        same 2 "$(grep -c 'function: .*sys_sync$' t.txt)" "by name: $(cat t.txt)"
        same nop "$(cat "$TRACEFS/current_tracer")" "the top level's tracer"
}

case_keys_tracer_stops() { # [guest smoke] tracer: a stopped session traces no function, and continues after a start
        trap keys_end EXIT
        has_tracer function || skip "this kernel's instances have no function tracer"
        local function before
        function=$(sync_function)
        before=$(wc -l <"$TRACEFS/enabled_functions") # systemd's BPF programs, for example
        ktracectl create calls -q --mode flight --scope system --tracer function --function "${function%?}?" \
                -e raw_syscalls:sys_enter \
                --where 'id == 1000'
        sync
        ktracectl start calls
        sync
        ktracectl stop calls
        same "$before" "$(wc -l <"$TRACEFS/enabled_functions")" "functions patched after a stop"
        sync
        ktracectl start calls
        sync
        ktracectl snapshot -q calls -o t.kts
        same 2 "$(count t.kts '.event == "function"')" "calls"
}

case_keys_tracer_graph() { # [guest smoke] function_graph records calls and returns between start and stop
        trap keys_end EXIT
        has_tracer function_graph || skip "instances of Linux $(uname -r) have no function_graph tracer"
        ktracectl create graph -q --mode flight --scope system --tracer function_graph --function "$(sync_function)"
        sync
        ktracectl start graph
        sync
        sync
        ktracectl stop graph
        sync
        ktracectl start graph
        sync
        ktracectl stop graph
        expect 0 ktracectl verify
        ktracectl snapshot -q graph -o t.kts
        same 3 "$(count t.kts '.event == "funcgraph_exit"')" "calls between start and stop"
}

case_keys_tracer_refused() { # [guest] tracer: an empty list, commands as names and unknown functions are refused
        trap keys_end EXIT
        refused 2 '--function: missing' ktracectl create x --scope system --tracer function
        refused 2 '--function: require a tracer' ktracectl create x --scope system --function '*' \
                -e raw_syscalls:sys_enter
        refused 2 'neither the name of a function' ktracectl create x --scope system --tracer function \
                --function schedule:traceoff
        refused 2 'tracer: "wakeup" is not known' ktracectl create x --scope system --tracer wakeup --function '*'
        expect 3 user ktracectl --no-ask-password create x --scope system --tracer function --function schedule
        has_tracer function || skip "this kernel's instances have no function tracer"
        refused 2 'nosuchfunctionatall matches no function' ktracectl create x --scope system --tracer function \
                --function nosuchfunctionatall
        refused 2 'nosuch\* matches no function' ktracectl create x --scope system --tracer function \
                --function vfs_read --function 'nosuch*'
        if ! has_tracer function_graph; then
                refused 1 'no function_graph for instances; it has: .*function' \
                        ktracectl create x --scope system --tracer function_graph --function vfs_read
        fi
}

case_keys_per_cpu() { # a single CPU of a recording can be shown, converted and streamed
        trap keys_end EXIT
        [ "$(nproc)" -gt 1 ] || skip "this machine has one CPU"
        recording ktracectl record -q --scope system -e raw_syscalls:sys_enter --where 'id == 1000' -o t.kts
        taskset -c 0 "$TARGET" calls 3 1000
        taskset -c 1 "$TARGET" calls 5 1000
        ends_well 8
        same 8 "$(count t.kts true)" "merged"
        same 3 "$(ktracectl report --cpu 0 t.kts | grep -c sys_enter)" "CPU 0"
        same 5 "$(ktracectl convert t.kts --to json --cpu 1 | jq -c 'select(.event != null)' | wc -l)" "CPU 1"
        same 8 "$(ktracectl report --cpu 0-1,7 t.kts | grep -c sys_enter)" "both"
        local cpu
        for cpu in 0 1; do
                ktracectl convert t.kts --cpu $cpu -o cpu$cpu.dat
        done
        same '3 5' "$(ktracectl report cpu0.dat | grep -c sys_enter) $(ktracectl report cpu1.dat | grep -c sys_enter)" \
                "a file for each"
        refused 2 'has all CPUs' ktracectl convert t.kts --to kts --cpu 0
        refused 2 '3-1 runs backwards' ktracectl report --cpu 3-1 t.kts
        ktracectl create box -q --mode flight --scope system -e raw_syscalls:sys_enter --where 'id == 1000'
        ktracectl start box
        taskset -c 0 "$TARGET" calls 2 1000
        taskset -c 1 "$TARGET" calls 4 1000
        same 4 "$(ktracectl snapshot -q box --cpu 1 -o - | grep -c sys_enter)" "a snapshot as text"
        ktracectl snapshot -q box --cpu 0 -o s.dat
        same 2 "$(ktracectl report s.dat | grep -c sys_enter)" "a snapshot as a file"
        refused 2 'has all CPUs' ktracectl snapshot -q box --cpu 0 -o s.kts
}
