# SPDX-License-Identifier: LGPL-2.1-or-later
# Saved sessions over boots: enabled in the first, running early in the second, and how they end.

# The second event shows when recording began: at the latest with the answer to the caller.
BOX='{"mode": "flight", "scope": "system", "buffer-kb": 512, "events": ["sched:sched_process_exec",
        {"name": "sched:sched_switch", "filter": "next_comm == \"ktracectl\""}]}'
UNIT=ktrace-session@box.service

usec() { systemctl show -P "$2" "$1"; }
# figure NAME VALUE: for the reader of the results.
figure() { echo "$1 $2" >>/run/job/out/figures; }
multi_user() { usec multi-user.target ActiveEnterTimestampMonotonic; }
is_running() { ktracectl --json=short list | jq -e 'any(.name == "box" and .state == "running")'; }
is_failed() { [ "$(systemctl is-failed $UNIT)" = failed ]; }
# status_says TEXT: whether systemctl status prints TEXT. Its exit status is that of the unit.
status_says() {
        systemctl status $UNIT >status || true
        grep -q "$1" status || fail "no '$1' in: $(cat status)"
}
# first_event: prints its time in us, by the clock of systemd's time stamps.
first_event() {
        ktracectl snapshot box -o box.kts
        ktracectl convert box.kts --to json | jq -s 'map(select(.event != null).ts) | min / 1000 | floor'
}

boot1_enable() { # a saved session is enabled but not running yet
        figure multi-user-without "$(multi_user)"
        mkdir -p /etc/ktrace/sessions.d
        echo "$BOX" >/etc/ktrace/sessions.d/box.json
        expect 0 ktracectl saved check box
        systemctl enable $UNIT
        [ "$(systemctl is-active $UNIT)" = inactive ] || fail "it runs already"
}

boot2_early() { # the session runs before sysinit.target and before D-Bus
        figure multi-user-with "$(multi_user)"
        [ "$(systemctl is-active $UNIT)" = active ] || fail "$(systemctl status -n 20 $UNIT ktraced.service)"
        ready=$(usec $UNIT ActiveEnterTimestampMonotonic)
        [ "$ready" -le "$(usec sysinit.target ActiveEnterTimestampMonotonic)" ] ||
                fail "ready only after sysinit.target"
        [ "$ready" -lt "$(usec dbus.socket ActiveEnterTimestampMonotonic)" ] || fail "ready only after dbus.socket"
        # The daemon was ready before the bus, and has joined it by now.
        [ "$(usec ktraced.service ActiveEnterTimestampMonotonic)" \
                -lt "$(usec dbus.socket ActiveEnterTimestampMonotonic)" ] ||
                fail "ktraced was ready only after dbus.socket"
        within 20 is_running || fail "$(ktracectl list)"
        busctl status org.ktrace1 >/dev/null || fail "not on the bus"
        status_says 'Status: "Session .* is running"'
}

boot2_first_event() { # the session has events from early in the boot
        daemon=$(usec ktraced.service ExecMainStartTimestampMonotonic)
        first=$(first_event)
        figure daemon-start "$daemon"
        figure daemon-ready "$(usec ktraced.service ActiveEnterTimestampMonotonic)"
        figure session-start "$(usec $UNIT ExecMainStartTimestampMonotonic)"
        figure session-ready "$(usec $UNIT ActiveEnterTimestampMonotonic)"
        figure first-event "$first"
        figure sysinit "$(usec sysinit.target ActiveEnterTimestampMonotonic)"
        [ "$first" -lt "$(multi_user)" ] || fail "the first event came at $first us"
        ktracectl convert box.kts --to json |
                jq -es 'any(.[]; .fields.filename? | strings | test("dbus-(daemon|broker)"))' >/dev/null ||
                fail "the bus's start was not seen"
}

boot2_chain() { # no dependency delays the unit
        local unit
        for unit in $UNIT ktraced.service; do
                systemctl list-dependencies --after --all --plain $unit >chain
                ! grep -E 'basic.target|sysinit.target|dbus|local-fs.target' chain || fail "$unit: $(cat chain)"
        done
        grep -q 'sys-kernel-tracing.mount' chain || fail "not after tracefs: $(cat chain)"
}

boot2_restarts() { # session and unit survive a restart and a kill of the daemon
        id=$(ktracectl --json=short list | jq -r '.[0].id')
        systemctl restart ktraced.service
        within 20 is_running || fail "not after a restart"
        sleep 1
        same active "$(systemctl is-active $UNIT)" state
        pid=$(daemon_pid)
        kill -KILL "$pid"
        within 20 sh -c "[ \$(systemctl show -P MainPID ktraced.service) != $pid ] &&
                [ \$(systemctl show -P MainPID ktraced.service) != 0 ]"
        within 20 is_running || fail "not after a kill"
        sleep 1
        same active "$(systemctl is-active $UNIT)" state
        same "$id" "$(ktracectl --json=short list | jq -r '.[0].id')" "the session"
        [ "$(first_event)" -lt "$(multi_user)" ] || fail "what it held is gone"
}

boot2_stop() { # stopping the unit ends the session without a failure
        systemctl stop $UNIT
        same inactive "$(systemctl is-active $UNIT)" state
        within 20 no_instance || fail "the session is there"
        systemctl start $UNIT
        is_running || fail "started, and not running"
}

boot2_together() { # stopping the unit together with the daemon is no failure
        local i
        for i in 1 2 3; do
                systemctl stop ktraced.service $UNIT
                same inactive "$(systemctl is-active $UNIT)" "state, time $i"
                within 20 no_instance || fail "the session is there"
                systemctl start $UNIT
        done
        is_running || fail "started, and not running"
}

boot2_killed() { # killing the unit's process ends the session
        kill -KILL "$(systemctl show -P MainPID $UNIT)"
        within 20 no_instance || fail "the session is there"
        within 20 is_failed || fail "$(systemctl is-failed $UNIT)"
        systemctl start $UNIT
}

boot2_destroyed() { # destroying the session fails the unit, with the reason
        ktracectl destroy box
        within 20 is_failed || fail "$(systemctl is-failed $UNIT)"
        status_says 'session box was destroyed'
        systemctl reset-failed $UNIT
}

boot2_broken() { # a mistake in the file fails the unit, and its status shows the place
        echo '{"scope": "system", "events": [}' >/etc/ktrace/sessions.d/box.json
        ! systemctl start $UNIT 2>/dev/null || fail "it has started"
        status_says '/etc/ktrace/sessions.d/box.json:1:32: '
        echo "$BOX" >/etc/ktrace/sessions.d/box.json
        systemctl start $UNIT
        is_running || fail "not running"
        # For the shutdown.
        mkdir -p /etc/systemd/system/$UNIT.d
        printf '[Service]\nExecStopPost=+/bin/sh -c "echo $$SERVICE_RESULT >/var/lib/result"\nTimeoutStopSec=400\n' \
                >/etc/systemd/system/$UNIT.d/result.conf
        mkdir -p /etc/systemd/system/ktraced.service.d
        printf '[Service]\nTimeoutStopSec=400\n' >/etc/systemd/system/ktraced.service.d/stop.conf
        systemctl daemon-reload
        date +%s >/var/lib/went
}

boot2_spool() { # a second session, to disk, is running when the machine shuts down
        echo '{"scope": "system", "spool": {"sync": 1},
                "events": [{"name": "sched:sched_process_exec", "filter": "filename == \"/bin/true\""}]}' \
                >/etc/ktrace/sessions.d/log.json
        systemctl restart ktraced.service
        systemctl start ktrace-session@log.service
        for _ in $(seq 50); do /bin/true; done
        within 30 logged 50 || fail "not in the file: $(ktracectl spool list)"
        ktracectl create alone --spool=2M -a -e sched:sched_process_exec
        ktracectl start alone
}
logged() { # N: so many calls are in the recording
        ktracectl spool list --json=short >out
        ktracectl spool fetch "$(jq -r '.[] | select(.name == "log").id' out)" -o log.kts || true
        [ "$(count log.kts '.fields.filename == "/bin/true"')" = "$1" ]
}

boot3_spool() { # the recording to disk is complete, and its list entry and stream say how it ended
        within 20 logged 50 || fail "$(ktracectl spool list --json)"
        has_ended log 'shutdown|destroyed'
        # Only ktraced could end the recording that has no unit.
        has_ended alone shutdown
}
has_ended() { # NAME CODES: so does the recording, in the list and at the end of its stream
        ktracectl spool list --json=short >out
        jq -e --arg name "$1" --arg codes "^($2)$" \
                '.[] | select(.name == $name) | .state == "ended" and .lost == 0 and (.code | test($codes))' out \
                >/dev/null || fail "$1: $(cat out)"
        ktracectl spool fetch "$(jq -r --arg name "$1" '.[] | select(.name == $name).id' out)" -o ended.kts
        ktracectl report --receipt ended.kts >receipt
        grep -qE "code: +($2)" receipt || fail "the stream of $1 was cut: $(cat receipt)"
}

boot3_clean() { # the session ended quickly at shutdown and started again
        # The time of the shutdown only. A stop job that hangs takes 400 s.
        took=$(($(date +%s) - $(cut -d. -f1 /proc/uptime) - $(cat /var/lib/went || echo 0)))
        [ "$took" -lt 300 ] || fail "it took $took s"
        same success "$(cat /var/lib/result)" "the unit's end"
        figure multi-user-with "$(multi_user)"
        within 20 is_running || fail "not running: $(systemctl is-active $UNIT)"
        systemctl disable $UNIT
}

boot4_without() { # a disabled session does not start
        figure multi-user-without "$(multi_user)"
        no_instance || fail "there is a session"
}
