# SPDX-License-Identifier: LGPL-2.1-or-later
# The limits that systemd sets on all stream workers together, through ktrace.slice.

slice_end() {
        systemctl set-property --runtime ktrace.slice MemoryMax=infinity CPUQuota=
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}

case_slice_memory() { # [deep] a worker that uses too much memory is killed; its stream is reported as incomplete
        trap slice_end EXIT
        recording user ktracectl record -q -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts \
                -- "$TARGET" paced 4000 3000
        ktracectl create hog --scope system -b 32768 -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl stream hog -o - --to kts 2>hog.err | (within 80 test -e over; cat >h.kts; : >read) &
        started+=("$!")
        ktracectl start hog
        "$TARGET" calls 500000 1000
        systemctl set-property --runtime ktrace.slice MemoryMax=16M
        timeout 20 ktracectl destroy hog || true
        : >over
        within 40 test -e read || fail "its reader waits"
        ktracectl report h.kts >/dev/null 2>report.err || true
        grep -q 'no end frame' report.err || fail "the report does not say that the file is cut: $(cat report.err)"
        prints '[Oo][Oo][Mm]' journalctl -b -o cat -u 'ktrace-consumer@*' ||
                fail "nothing was killed: $(journalctl -b -o cat -u 'ktrace-consumer@*' | tail -n 5)"
        wait "$RECORDING" || fail "status $?: $(cat background.err)"
        same 4000 "$(count t.kts '.event == "sys_enter"')" "calls of the other's"
}

case_slice_cpu() { # workers with too little CPU time lose events, and each lost event is counted
        trap slice_end EXIT
        ktracectl create slow --scope system -b 64 -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start slow
        background ktracectl stream slow -o t.kts
        within 20 test -s t.kts || fail "no stream: $(cat background.err)"
        systemctl set-property --runtime ktrace.slice CPUQuota=1%
        "$TARGET" calls 200000 1000
        systemctl set-property --runtime ktrace.slice CPUQuota=
        within 60 sh \
                -c 'ktracectl --json=short show slow | jq -e ".statistics.recorded + .statistics.lost == 200000"' ||
                fail "$(ktracectl --json=short show slow | jq -c .statistics)"
        ktracectl destroy slow
        wait "$BACKGROUND" || true
        ktracectl report t.kts --receipt --json=short >receipt || true
        local n
        n=$(count t.kts '.event == "sys_enter"')
        [ "$n" -lt 200000 ] || fail "nothing was lost: the limit did nothing"
        [ "$n" -gt 0 ] || fail "nothing was recorded"
}

case_status_line() { # systemctl status shows the number of sessions and streams
        trap slice_end EXIT
        ktracectl create box --mode flight --scope system -b 64 -e raw_syscalls:sys_enter
        recording user ktracectl record -q -e raw_syscalls:sys_enter -f 'id == 1000' -o t.kts -- sleep 80
        within 20 sh -c "systemctl status ktraced.service | grep -q 'Status: \"2 sessions, 1 stream\"'" ||
                fail "$(systemctl status ktraced.service | head -n 12)"
        systemd-cgls --no-pager -u ktrace.slice -l >cgls
        grep -q "ktrace-consumer: $(user ktracectl list --json=short | jq -r '.[0].id')" cgls || fail "$(cat cgls)"
}
