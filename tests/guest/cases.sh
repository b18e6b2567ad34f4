# SPDX-License-Identifier: LGPL-2.1-or-later
# Cases that need a machine with systemd, D-Bus and polkitd.

case_activation() { # [smoke] the first D-Bus call starts the daemon, although no unit is enabled
        systemctl stop ktraced.service
        same inactive "$(systemctl is-active ktraced.service || true)" state
        user ktracectl list >/dev/null
        same active "$(systemctl is-active ktraced.service)" state
}

case_varlink_activation() { # the first Varlink call starts the daemon, also without D-Bus; the socket stays
        systemctl stop ktraced.socket ktraced.service
        [ ! -e /run/ktrace/org.ktrace1 ] || fail "the socket is left"
        systemctl start ktraced.socket
        same inactive "$(systemctl is-active ktraced.service || true)" state
        same 666 "$(stat -c %a /run/ktrace/org.ktrace1)" "the socket's mode"
        inode=$(stat -c %i /run/ktrace/org.ktrace1)
        ktracectl --varlink verify || fail "it finds something: $(ktracectl --varlink verify 2>&1)"
        same inactive "$(systemctl is-active ktraced.service || true)" "state after verify, which starts nothing"
        user env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nowhere ktracectl --varlink list >/dev/null
        same active "$(systemctl is-active ktraced.service)" state
        systemctl stop ktraced.service
        same "$inode" "$(stat -c %i /run/ktrace/org.ktrace1)" "the socket is systemd's"
        # This also holds after a restart, and together with the bus.
        user ktracectl --varlink list >/dev/null
        systemctl restart ktraced.service
        user ktracectl --varlink list >/dev/null
        user ktracectl list >/dev/null
        same "$inode" "$(stat -c %i /run/ktrace/org.ktrace1)" "the socket is systemd's"
}

case_consumer_unit() { # a stream worker is an instance of ktrace-consumer@.service with its own user
        background user ktracectl record -e raw_syscalls:sys_enter -o t.kts -- sleep 80
        within 20 sh -c "systemctl list-units --no-legend --state=running 'ktrace-consumer@*' | grep -q ." ||
                fail "no unit: $(systemctl list-units --no-legend 'ktrace-consumer*')"
        unit=$(systemctl list-units --no-legend --plain --state=running 'ktrace-consumer@*' | awk '{ print $1; exit }')
        pid=$(systemctl show -P MainPID "$unit")
        same ktrace-consumer "$(stat -c %U "/proc/$pid/status" | sed 's/root/ktrace-consumer/')" "owner"
        same "$(id -u ktrace-consumer)" "$(awk '$1 == "Uid:" { print $3 }' "/proc/$pid/status")" "effective uid"
        grep -q '^CapPrm:.*0000000000000000$' "/proc/$pid/status" || fail "it has capabilities"
        grep -q '^Seccomp:.*2$' "/proc/$pid/status" || fail "no seccomp filter"
        systemctl show -P Slice "$unit" | matches -x ktrace.slice || fail "not in ktrace.slice"
}

case_monitor_refused() { # an ordinary user may not monitor the bus
        user ktracectl create heard -e raw_syscalls:sys_enter --scope own
        ! stranger timeout 20 busctl monitor org.ktrace1 >seen 2>err || fail "the monitor ran"
        ! grep -q 'ktrace1' seen || fail "heard: $(head seen)"
        grep -qi 'denied\|permi' err || fail "not refused: $(cat err)"
        user ktracectl destroy heard
}

case_varlinkctl() { # [smoke] systemd's own client calls the daemon, checks its interface and gets its errors
        command -v varlinkctl >/dev/null || skip "systemd $(systemctl --version | awk '{ print $2; exit }') has none"
        local socket=/run/ktrace/org.ktrace1
        systemctl start ktraced.socket
        user varlinkctl info $socket >info
        grep -q 'org.ktrace1' info || fail "$(cat info)"
        user varlinkctl introspect $socket org.ktrace1 >interface
        varlinkctl validate-idl interface || fail "not valid: $(cat interface)"
        user varlinkctl call $socket org.ktrace1.ListSessions '{}' >sessions || fail "$(cat sessions)"
        ! user varlinkctl call $socket org.ktrace1.GetSession '{"id": "nosuch"}' >out 2>&1 || fail "$(cat out)"
        grep -q 'org.ktrace1\.' out || fail "no error of the interface: $(cat out)"
}

case_log_control() { # systemctl service-log-level works
        user ktracectl list >/dev/null
        same info "$(systemctl service-log-level ktraced.service)" level
        systemctl service-log-level ktraced.service debug
        same debug "$(systemctl service-log-level ktraced.service)" level
        systemctl service-log-level ktraced.service info
        ! user busctl set-property org.ktrace1 /org/freedesktop/LogControl1 org.freedesktop.LogControl1 LogLevel s \
                debug \
                2>/dev/null || fail "an ordinary user may set it"
}

case_introspection() { # introspection returns the installed XML
        for interface in Manager Session; do
                [ -s "/usr/share/dbus-1/interfaces/org.ktrace1.$interface.xml" ] || fail "no XML of $interface"
        done
        user gdbus introspect --system --dest org.ktrace1 --object-path /org/ktrace1 >seen
        for method in CreateSession ListSessions GetSession ListEvents DescribeEvent GetLimits; do
                grep -q "$method" seen || fail "no $method"
        done
}

rss_kb() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$(daemon_pid)/status"; }
is_small() { [ "$(rss_kb)" -lt 8192 ]; }

case_idle_memory() { # the daemon with an idle session uses less than 8 MB
        user ktracectl create idle -e raw_syscalls:sys_enter --scope own
        user ktracectl list >/dev/null
        # It keeps the kernel's lists of functions for 5 s after the last call that needed them.
        within 20 is_small || fail "RSS $(rss_kb) kB: $(grep '^Rss' "/proc/$(daemon_pid)/status" | xargs)"
        user ktracectl destroy idle
}

case_unit_of_a_caller() { # [smoke] the daemon finds the systemd unit of a caller
        systemd-run -q --wait --pipe --unit=facts-test /run/job/tools/test-facts >out || fail "$(cat out)"
        grep '^ok 1' out | matches -v SKIP || fail "skipped: $(cat out)"
}

case_sandbox() { # [smoke] systemd-analyze security rates the unit 0.7 or better
        systemd-analyze security --no-pager --threshold=7 ktraced.service
}
