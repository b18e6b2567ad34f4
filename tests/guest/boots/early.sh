# SPDX-License-Identifier: LGPL-2.1-or-later
# Before and after the daemon: a trace of the boot by the kernel's command line, and crashes.
# append: memmap=4M$0x70000000 panic=1 trace_event=sched:sched_process_exec,module:*
# append: kprobe_event=p:ktrace_boot/opened,do_sys_openat2,file=+0($arg2):ustring
# append: trace_buf_size=512K trace_clock=mono trace_options=nooverwrite ktrace.boot=early:83b03558728f0608

STATE=/run/ktrace/state/.boot.json

entries() { ktracectl spool list --json=short | jq -r ".[] | select(.kind == \"$1\") | .id"; }
n_entries() { [ "$(entries "$1" | wc -l)" = "$2" ]; }
# begins FILE: prints the time of the first event in ms.
begins() { ktracectl convert "$1" --to json | jq -s '[.[] | select(.event != null) | .ts] | min / 1000000 | floor'; }

spec() {
        mkdir -p /etc/ktrace/probes.d
        echo '{"probes":[{"name":"opened","raw":"p:opened do_sys_openat2 file=+0($arg2):ustring"}]}' \
                >/etc/ktrace/probes.d/early.json
        echo '{"name":"early","scope":"system","buffer-kb":512,
                "events":["sched:sched_process_exec","module:*"],"probes":["opened"]}' \
                >/etc/ktrace/early.json
}

boot1_words() { # ktracectl bootconfig prints the words that this kernel was booted with
        spec
        expect 0 ktracectl bootconfig /etc/ktrace/early.json
        grep -qF "$(cat out)" /proc/cmdline || fail "$(cat out) is not in $(cat /proc/cmdline)"
        grep -q 'Linux 6.1' err || fail "$(cat err)"
        ! tr '\0' '\n' </proc/1/environ | matches ktrace || fail "the mark came to PID 1: $(cat /proc/1/environ)"
}

boot1_untouched() { # before the first start of the daemon the trace runs, and verify finds no fault
        ! systemctl -q is-active ktraced.service || fail "ktraced runs"
        grep -q sched:sched_process_exec $TRACEFS/set_event || fail "$(cat $TRACEFS/set_event)"
        expect 0 ktracectl verify
}

boot1_taken() { # the daemon's first start stores the boot trace, from before PID 1, with its probe
        local id started first probed=
        # Linux 6.1 sometimes makes a probe of the command line without its directory.
        [ ! -e $TRACEFS/events/ktrace_boot/opened/format ] || probed=1
        systemctl start ktrace-collect.service
        within 120 n_entries boot 1 || fail "no entry: $(journalctl -u ktraced -u ktrace-collect -b -o cat)"
        within 60 test -e $STATE || fail "not noted: $(journalctl -u ktraced -b -o cat)"
        id=$(entries boot)
        expect 0 ktracectl spool fetch "$id" -o early.kts
        started=$(($(systemctl show -P ExecMainStartTimestampMonotonic ktraced.service) / 1000))
        first=$(begins early.kts)
        [ "$first" -lt "$started" ] || fail "the first event at $first ms, the daemon at $started ms"
        [ "$(count early.kts '.event == "sched_process_exec" and .fields.filename == "/init"')" = 1 ] || fail "no /init"
        [ "$(count early.kts '.event == "sched_process_exec" and .fields.filename == "/lib/systemd/systemd"')" \
                -ge 1 ] || fail "no PID 1"
        if [ -n "$probed" ]; then
                [ "$(count early.kts '.event == "opened"')" -gt 100 ] || fail "no hits of the probe"
        else
                prints 'no format for ktrace_boot:opened' journalctl -u ktraced -b -o cat ||
                        fail "the missing format is not reported"
        fi
        echo "# the first event $first ms after the kernel began, the daemon's start at $started ms, $(ktracectl \
                report early.kts | wc -l) lines"
        ktracectl report --receipt early.kts >receipt
        grep -q 'Begun by: *trace_event=sched:sched_process_exec' receipt || fail "$(cat receipt)"
}

boot1_quiet() { # afterwards no event and no probe is left, and the top buffer is as before
        within 60 test -e $STATE
        same '' "$(cat $TRACEFS/set_event)" "events that are on"
        ! grep ktrace_ $TRACEFS/kprobe_events || fail "a probe is left"
        same 1 "$(cat $TRACEFS/options/overwrite)" overwrite
        same 50 "$(cat $TRACEFS/buffer_percent)" buffer_percent
        same 1 "$(cat $TRACEFS/tracing_on)" tracing_on
        expect 0 ktracectl verify
}

boot1_once() { # the next daemon of this boot takes nothing and leaves the top buffer alone
        echo sched:sched_process_exec >>$TRACEFS/set_event
        systemctl restart ktraced.service
        systemctl stop ktraced.service
        systemctl start ktraced.service
        expect 0 ktracectl spool list
        same sched:sched_process_exec "$(cat $TRACEFS/set_event)" "the event of the other program"
        n_entries boot 1 || fail "$(ktracectl spool list)"
        echo '!sched:sched_process_exec' >>$TRACEFS/set_event
}

boot1_strangers_see_nothing() { # another user can neither list nor read nor remove the boot trace
        local id
        id=$(entries boot)
        same '[]' "$(stranger ktracectl spool list --json=short | tr -d ' \n')" "what a stranger sees"
        expect 1 stranger ktracectl spool fetch "$id" -o x.kts
        [ ! -s x.kts ] || fail "a stranger has it"
        expect 1 stranger ktracectl spool remove "$id"
        ! stranger ls /var/lib/ktrace 2>/dev/null || fail "a stranger sees the spool"
        n_entries boot 1 || fail "it is gone"
}
end_1() { systemctl -q enable ktrace-collect.service; } # for the boots that follow

boot2_by_itself() { # the trace of the next boot is stored without a command, and the first is still there
        within 120 n_entries boot 2 || fail "$(ktracectl spool list; journalctl -u ktraced -b -o cat)"
        within 60 test -e $STATE || fail "not complete: $(journalctl -u ktraced -b -o cat)"
        for id in $(entries boot); do
                expect 0 ktracectl spool fetch "$id" -o "$id.kts"
                [ "$(count "$id.kts" '.fields.filename == "/init"')" -ge 1 ] || fail "$id has no /init"
        done
        n_entries crash 0 || fail "a crash before the crash"
}

boot2_ramoops() { # a crash is prepared, with a session in an instance and a trace in the top buffer
        echo ramoops >/etc/modules-load.d/ramoops.conf
        echo 'options ramoops mem_address=0x70000000 mem_size=0x400000 record_size=0x40000 max_reason=3' \
                >/etc/modprobe.d/ramoops.conf
        rm -f /etc/systemd/system/systemd-pstore.service # the image masks it
        mkdir -p /etc/systemd/system/systemd-pstore.service.d
        printf '[Unit]\nAfter=systemd-modules-load.service\n' >/etc/systemd/system/systemd-pstore.service.d/ramoops.conf
        systemctl daemon-reload
        systemctl -q enable systemd-pstore.service
        modprobe ramoops
}
end_2() { crash two; }

# crash WORD: crashes the machine after a mark in the top buffer and one in a session's instance.
crash() {
        local session lost
        sysctl -q kernel.ftrace_dump_on_oops=1
        echo 16 >/sys/kernel/tracing/buffer_size_kb
        echo >/sys/kernel/tracing/trace
        echo sched:sched_process_exec >>/sys/kernel/tracing/set_event
        session=$(ktracectl create crashed -a -e sched:sched_process_exec)
        ktracectl start "$session"
        sync
        echo '{"spool": {"sync": 1, "rotate-bytes": 1048576}}' >/run/lost.json
        lost=$(ktracectl create "lost-$1" -a --spec /run/lost.json -e sched:sched_process_exec)
        ktracectl start "$lost"
        for _ in $(seq 50); do /bin/true; done
        for _ in $(seq 60); do ! is_written "lost-$1" || break; sleep 0.5; done # if never, the next boot tells
        sleep 4
        # Last, because the loop's events can overwrite marks in a buffer of 16 kB.
        ktracectl mark "$session" "in the session, boot $1"
        echo "in the top buffer, boot $1" >/sys/kernel/tracing/trace_marker
        echo c >/proc/sysrq-trigger
}

# is_written NAME: waits until the recording's file has its events, and one more second until they are on disk.
is_written() {
        local id
        id=$(ktracectl spool list --json=short | jq -r ".[] | select(.name == \"$1\") | .id")
        ktracectl -q spool fetch "$id" -o /run/lost.kts || true
        [ "$(ktracectl convert /run/lost.kts --to json | jq -c 'select(.fields.filename? == "/bin/true")' |
                wc -l)" -ge 50 ]
}

# has_crash N WORD: whether the Nth crash is stored, with the top buffer of that boot as text.
has_crash() {
        local id
        within 60 n_entries crash "$1" ||
                fail "$(ktracectl spool list; ls -laR /sys/fs/pstore /var/lib/systemd/pstore /run/ktrace/crash; \
                journalctl -u ktraced -u ktrace-collect -u systemd-pstore -b -o cat)"
        for id in $(entries crash); do
                refused 2 'contains text of a crash' ktracectl spool fetch "$id" --to dat
                refused 1 'has no such file' ktracectl spool fetch "$id" --file nobody.txt -o -
                expect 0 ktracectl spool fetch "$id" -o -
                grep -q 'Dumping ftrace buffer' out || fail "$id: $(head -c 1000 out)"
                ! grep -q "in the session" out || fail "an instance has outlived the crash"
                ! grep -q "in the top buffer, boot $2" out || return 0
        done
        fail "none of boot $2: $(tail -c 2000 out)"
}

boot3_crashed() { # crash records that systemd has archived are collected and stay in the archive
        has_crash 1 two
        [ -n "$(find /var/lib/systemd/pstore -type f)" ] || fail "systemd-pstore has archived nothing"
        within 120 n_entries boot 3 || fail "$(ktracectl spool list)"
        stranger ktracectl spool list --json=short | jq -e 'length == 0' || fail "a stranger sees it"
        refused 1 '.' stranger ktracectl spool fetch "$(entries crash)" -o x
}

boot3_recorded() { # a recording to disk is complete up to a second before the crash
        local entry
        entry=$(ktracectl spool list --json=short | jq '.[] | select(.name == "lost-two")')
        same crashed "$(jq -r .state <<<"$entry")" "state of $entry"
        ktracectl spool fetch "$(jq -r .id <<<"$entry")" -o lost.kts || true
        same 50 "$(count lost.kts '.fields.filename == "/bin/true"')" "events"
}

boot3_once() { # crash records are collected only once
        systemctl start ktrace-collect.service
        systemctl restart ktraced.service
        sleep 1
        n_entries crash 1 || fail "$(ktracectl spool list)"
}

boot3_mask() { # systemd-pstore is masked for the next crash
        systemctl -q disable systemd-pstore.service
        ln -sf /dev/null /etc/systemd/system/systemd-pstore.service
        same 1 "$(sysctl -n kernel.dmesg_restrict)" dmesg_restrict
}
end_3() { crash three; }

boot4_pstore() { # crash records in pstore are read and left there
        has_crash 2 three
        [ -n "$(ls /sys/fs/pstore)" ] || fail "pstore was emptied"
        systemctl start ktrace-collect.service
        sleep 1
        n_entries crash 2 || fail "$(ktracectl spool list)"
}

boot4_others() { # a boot trace in a top buffer that another program uses is left alone, as the journal says
        systemctl stop ktraced.service
        rm -f $STATE
        echo sched:sched_switch >>$TRACEFS/set_event
        systemctl start ktraced.service
        within 60 test -e $STATE || fail "$(journalctl -u ktraced -b -o cat | tail -n 5)"
        grep -q sched:sched_switch $TRACEFS/set_event || fail "$(cat $TRACEFS/set_event)"
        prints 'another user has also turned on sched:sched_switch' journalctl -u ktraced -b -o cat ||
                fail "$(journalctl -u ktraced -b -o cat | tail -n 5)"
        echo '!sched:sched_switch' >>$TRACEFS/set_event
}

boot4_removed() { # root removes the stored traces
        local id
        for id in $(entries boot) $(entries crash) $(entries session); do
                expect 0 ktracectl spool remove "$id"
        done
        expect 0 ktracectl spool list --json=short
        same 0 "$(jq length out)" "entries that are left"
}
