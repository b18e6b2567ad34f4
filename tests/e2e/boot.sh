# SPDX-License-Identifier: LGPL-2.1-or-later
# A boot trace in an instance, as kernels make it that know trace_instance=. Here the test makes the instance, and the
# command line is a file in this mount namespace. ../guest/boots/early.sh tests the kernel's own words.

boot_begin() { # SPEC [MORE]: as booted with the words for the spec, and more
        service_manager && skip "the daemon sees the command line that the kernel has"
        ktracectl bootconfig -q --kernel=6.12 "$1" >words || fail "no words"
        echo "quiet $(cat words) ${2:-}" >cmdline
        mount --bind cmdline /proc/cmdline
        trap boot_end EXIT
}
boot_end() {
        umount /proc/cmdline 2>/dev/null || true
        rm -f "$STATE_DIR/.boot.json"
        ! service_is_up || kill "$(daemon_pid)"
        rmdir "$TRACEFS/instances/boottest" 2>/dev/null || true
        leave_case
}
service_is_up() { busctl status org.ktrace1 2>/dev/null; }
is_down() { ! service_is_up; }
boot_entry() {
        ktracectl spool list --json=short | jq -r '.[] | select(.kind == "boot" and .name == "boottest") | .id'
}
has_entry() { [ -n "$(boot_entry)" ]; }
is_over() { test -e "$STATE_DIR/.boot.json"; }

# daemon_anew: starts a daemon that has not looked for a boot trace yet.
daemon_anew() {
        ! service_is_up || kill "$(daemon_pid)"
        within 30 is_down || fail "the daemon does not end"
        rm -f "$STATE_DIR/.boot.json"
        ktracectl status >/dev/null
}

# boot_instance EVENT...: makes an instance with events, as the kernel would at boot.
boot_instance() {
        mkdir "$TRACEFS/instances/boottest"
        for event in "$@"; do
                echo "$event" >>"$TRACEFS/instances/boottest/set_event"
        done
        /bin/true
}
boot_spec() {
        echo '{"name":"boottest","scope":"system","mode":"flight","clock":"local",
                "events":["sched:sched_process_exec"]}' >spec.json
}

case_boot_instance() { # a boot trace in an instance is moved once to root's recordings, and the instance is removed
        local id
        boot_spec
        boot_begin spec.json
        boot_instance sched:sched_process_exec
        daemon_anew
        within 30 has_entry || fail "no entry"
        within 30 is_over || fail "not recorded"
        id=$(boot_entry)
        expect 0 ktracectl spool fetch "$id" -o boot.kts
        [ "$(count boot.kts '.fields.filename == "/bin/true"')" -ge 1 ] || fail "$(ktracectl report boot.kts)"
        [ ! -e "$TRACEFS/instances/boottest" ] || fail "the instance is there"
        same '[]' "$(stranger ktracectl spool list --json=short | tr -d ' \n')" "what a stranger sees"
        expect 1 stranger ktracectl spool fetch "$id" -o x.kts
        expect 1 stranger ktracectl spool remove "$id"
        boot_instance sched:sched_process_exec
        kill "$(daemon_pid)"
        within 30 is_down
        ktracectl status >/dev/null
        sleep 0.5
        grep -q sched_process_exec "$TRACEFS/instances/boottest/set_event" || fail "accepted a second time"
        expect 0 ktracectl spool remove "$id"
}

case_boot_others() { # a boot trace is left alone if another program uses it or its words were changed
        boot_spec
        boot_begin spec.json
        boot_instance sched:sched_process_exec sched:sched_process_exit
        daemon_anew
        within 30 is_over || fail "not recorded"
        same "" "$(boot_entry)" "an entry"
        grep -q sched_process_exec "$TRACEFS/instances/boottest/set_event" || fail "it was turned off"
        rmdir "$TRACEFS/instances/boottest"
        umount /proc/cmdline
        boot_begin spec.json trace_event=sched:sched_switch
        boot_instance sched:sched_process_exec
        daemon_anew
        sleep 0.5
        same "" "$(boot_entry)" "an entry"
        grep -q sched_process_exec "$TRACEFS/instances/boottest/set_event" || fail "it was turned off"
}
