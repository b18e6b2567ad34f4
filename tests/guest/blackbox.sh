# SPDX-License-Identifier: LGPL-2.1-or-later
# The black box with systemd: OnFailure=ktrace-last@%n.service of a service that crashes.

failure_end() {
        systemctl stop crashes.service || true
        systemctl reset-failed crashes.service || true
        rm -rf /run/systemd/system/crashes.service /var/lib/ktrace-last
        systemctl daemon-reload
        ktracectl blackbox disable || true
        leave_case
}
crashes() { # runs the service until it has failed, and ktrace-last@ has ended
        systemctl start crashes.service
        within 30 has_failed || fail "$(systemctl status crashes.service)"
        within 30 [ -s /var/lib/ktrace-last/crashes.service.dat ] || fail "$(journalctl -u 'ktrace-last@*' -o cat)"
}
has_failed() { [ "$(systemctl is-failed crashes.service)" = failed ]; }
kept() { ktracectl report /var/lib/ktrace-last/crashes.service.dat; }

case_last_of_failed_unit() { # a service that crashes leaves the last seconds in a file that only root can read
        trap failure_end EXIT
        ktracectl blackbox enable --preset calls --memory 16M
        cat >/run/systemd/system/crashes.service <<EOS
[Unit]
OnFailure=ktrace-last@%n.service
[Service]
User=$USER_UID
WorkingDirectory=$T
ExecStart=$APP crash
EOS
        systemctl daemon-reload
        crashes
        local pid
        pid=$(systemctl show -P ExecMainPID crashes.service)
        same "600 root" "$(stat -c '%a %U' /var/lib/ktrace-last/crashes.service.dat)" "the file"
        ! user cat /var/lib/ktrace-last/crashes.service.dat 2>err || fail "the user of the service reads it"
        kept >all
        same 1 "$(grep -cE "^ *app-$pid .* sys_enter_write: .* count: 0x0*17$" all)" "requests of the service"
        grep -qE "^ *app-$pid .* signal_generate: +sig=6 " all || fail "no abort: $(grep "app-$pid" all | tail -n 5)"
        expect 0 ktracectl last -u crashes.service
        grep -qE "^ *app-$pid .* signal_generate: +sig=6 " out || fail "$(tail -n 5 out)"
        # The next failure takes its place.
        crashes
        within 20 sh -c '[ $(ls /var/lib/ktrace-last | wc -l) = 1 ]' || fail "$(ls -a /var/lib/ktrace-last)"
        ktracectl blackbox disable
        ! systemctl is-enabled ktrace-session@blackbox.service || fail "still enabled"
        within 20 no_instance || fail "its instance is left"
}

# The black box for users: what they get, and that it is all that they get.
box_end() {
        ktracectl blackbox disable || true
        leave_case
}
box_begin() { # starts it, and waits until it answers users
        trap box_end EXIT
        ktracectl blackbox enable --preset calls --memory 64M
        within 20 user ktracectl last --since 1ms || fail "$(user ktracectl last --since 1ms 2>&1)"
        sleep 3 # the second reading of /proc
}
writes() { count_events ".event == \"sys_enter_write\" and .pid == $2" <"$1"; }

case_last_of_user() { # a user reads what own programs did before it asked, and nothing of other users
        box_begin
        local mine theirs
        user sh -c "echo \$\$ >mine; exec $APP 5" &
        stranger sh -c "cd /tmp; echo \$\$; exec sleep 0.2" >theirs
        wait $!
        mine=$(cat mine) theirs=$(cat theirs)
        expect 0 user ktracectl last --since 1min -o mine.json
        expect 0 user ktracectl last -p "$mine" --to calls
        same 5 "$(grep -cE '^\[pid +[0-9]+\] write\(.*\) = 23$' out)" "printed calls"
        expect 0 user ktracectl last summary
        grep -qE '^write +[0-9]+ ' out || fail "$(cat out)"
        expect 0 user ktracectl last -o whole.dat
        grep -q "app-$mine" <(ktracectl report whole.dat) || fail "no name: $(ktracectl report whole.dat | tail -n 3)"
        expect 0 user ktracectl last -p "$mine" -o again.json
        expect 0 ktracectl last -p "$mine,$theirs" -o all.json
        # One more is the shell's, which has become the program.
        same 6 "$(writes mine.json "$mine")" "writes of the user's program"
        same 0 "$(count_events ".pid == $theirs" <mine.json)" "records of the stranger"
        same 0 "$(count_events '.pid == 0 or .pid == 1' <mine.json)" "records of the system"
        same 6 "$(writes again.json "$mine")" "writes at a later time"
        same 6 "$(writes all.json "$mine")" "writes for root, after the user's snapshots"
        [ "$(count_events ".pid == $theirs" <all.json)" -gt 0 ] || fail "root has no records of the stranger"
}
