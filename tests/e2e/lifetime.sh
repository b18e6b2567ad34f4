# SPDX-License-Identifier: LGPL-2.1-or-later
# How sessions end.

# Whether no timer will end the session.
case_client_killed() { # [asan] if the client is killed, its session and instance are removed
        background user ktracectl record -e raw_syscalls:sys_enter -o t.kts -- sleep 100
        within 30 is_running || fail "the recording did not start: $(cat background.err)"
        pkill -9 -x -P "$BACKGROUND" ktracectl || kill -9 "$BACKGROUND"
        within 30 no_instance || fail "the instance is still there"
        same '[]' "$(user ktracectl list --json=short)" "sessions left"
}

case_linger() { # [deep] linger:TIME keeps a session for that time after its creator has left
        begun=$(awk '{ print int($1) }' /proc/uptime)
        user ktracectl create lingers -e raw_syscalls:sys_enter --scope own --lifetime linger:10s
        n_instances 1 || fail "gone with its creator"
        within 60 no_instance || fail "still there after a minute"
        [ $(($(awk '{ print int($1) }' /proc/uptime) - begun)) -ge 10 ] || fail "gone too early"
}

case_lifetime_unit() { # [guest] unit:NAME ends a session with the unit's last process of any user
        lives_in kt-life.service 0
        user ktracectl create lives -e raw_syscalls:sys_enter --scope own --lifetime unit:kt-life.service
        user ktracectl show --json=short lives | jq -e '.spec.lifetime == "unit:kt-life.service"' >/dev/null ||
                fail "$(user ktracectl show --json lives)"
        sleep 1
        n_instances 1 || fail "gone before its unit"
        kill "$BACKGROUND"
        within 30 no_instance || fail "still there without its unit"
}

case_lifetime_unit_empty() { # [guest] unit:NAME refuses a missing unit and a unit without processes
        refused 1 'lifetime: unit:kt-none.service has no processes, or there is none' \
                user ktracectl create lives -e raw_syscalls:sys_enter --scope own --lifetime unit:kt-none.service
        refused 2 'names no unit with processes' \
                user ktracectl create lives -e raw_syscalls:sys_enter --scope own --lifetime unit:kt-none
        within 20 no_instance || fail "a session was made"
}

case_lifetime_unit_of_strangers() { # unit:NAME does not find another user's unit
        new_cgroup /user.slice
        new_cgroup "/user.slice/user-$STRANGER_UID.slice"
        new_cgroup "/user.slice/user-$STRANGER_UID.slice/kt-theirs.service"
        background stranger sleep 100
        echo "$BACKGROUND" >"$CGROUP/cgroup.procs"
        refused 1 'has no processes, or there is none' \
                user ktracectl create lives -e raw_syscalls:sys_enter --scope own --lifetime unit:kt-theirs.service
        expect 0 ktracectl create lives -e sched:sched_process_exec --scope system --lifetime unit:kt-theirs.service
}

case_hanging_client() { # [asan] a client that hangs between CreateSession and Start soon loses its session
        background user python3 -c '
import dbus, time
manager = dbus.Interface(dbus.SystemBus().get_object("org.ktrace1", "/org/ktrace1"), "org.ktrace1.Manager")
manager.CreateSession(dbus.Dictionary({"scope": "own", "events": dbus.Array(["raw_syscalls:sys_enter"])},
                                      signature="sv"))
print("created", flush=True)
time.sleep(100)'
        within 30 grep -q created background.out || fail "$(cat background.err)"
        n_instances 1 || fail "no instance"
        within 60 no_instance || fail "still there, long after the set time"
        kill -0 "$BACKGROUND" || fail "the client did not hang"
}

case_daemon_killed() { # [guest] if the daemon is killed and does not return, the recording ends with an error
        ! service_manager || skip "systemd starts it again: restart_record"
        background user ktracectl record -e raw_syscalls:sys_enter -o t.kts -- sleep 8
        within 30 is_running || fail "the recording did not start: $(cat background.err)"
        kill -9 "$(daemon_pid)"
        status=0
        wait "$BACKGROUND" || status=$?
        same 125 "$status" "exit status"
        grep -q . background.err || fail "no message was printed"
        within 30 user ktracectl status || fail "the daemon does not start again"
}

case_daemon_exits_idle() { # [deep] an idle daemon exits and removes the instances that it has prepared
        with_pool
        user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- true
        within 20 is_filled || fail "not prepared: $(ktracectl status --json)"
        within 60 sh -c "! busctl --list --unique --acquired --no-legend list 2>/dev/null | grep -q '^org.ktrace1 '" ||
                fail "still on the bus after a minute"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

case_restart_while_sessions() { # a starting daemon removes what a killed one has left
        user ktracectl status >/dev/null
        mkdir "$TRACEFS/instances/ktrace-00000000deadbeef"
        expect 1 ktracectl verify
        kill -9 "$(daemon_pid)"
        within 30 user ktracectl status || fail "the daemon does not start"
        within 30 no_instance || fail "the orphan is still there"
}

case_stream_opened_again() { # after a reader has left an idle stream, the next reader can open it
        sleep 100 &
        started+=($!)
        ktracectl create idle --scope "pids:$!" -e raw_syscalls:sys_enter >id
        ktracectl start idle
        local i
        for i in 1 2; do
                ktracectl stream idle -o - --to kts >$i.kts &
                within 20 test -s $i.kts || fail "no stream"
                kill -INT $!
                wait $! || fail "status $?"
                within 20 no_worker idle || fail "the stream is open"
        done
        expect 0 ktracectl destroy idle
}
no_worker() { ! prints Worker ktracectl status "$1"; }
