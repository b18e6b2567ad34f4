# SPDX-License-Identifier: LGPL-2.1-or-later
# Sessions that record nothing: no process of ktraced wakes up.

# switches PID...: prints how often the threads of these processes have slept and were woken.
switches() {
        local pid
        for pid in "$@"; do
                cat "/proc/$pid"/task/*/status
        done | awk '$1 == "voluntary_ctxt_switches:" { n += $2 } END { print n }'
}

# workers: prints the pids of all consumers.
workers() { ktracectl --json=short status | jq .daemon.consumers[].pid; }
has_workers() { [ "$(workers | wc -l)" = "$1" ]; }

idle_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        ktracectl spool remove disk || true
        leave_case
}

case_idle_sleeps() { # [deep] sessions that record nothing, and watches of them, wake no process for ten seconds
        trap idle_end EXIT
        local event=(-e raw_syscalls:sys_enter -f 'id == 1000') before=() clients=() n_workers=5 pid daemon workers
        local after
        # A daemon of its own: a daemon records the number of denials of other cases up to half a minute later.
        expect 0 ktracectl status
        killed
        background ktracectl record -q -a "${event[@]}" -o root.kts
        clients+=("$BACKGROUND")
        background ktracectl record -q -a "${event[@]}" -o -
        clients+=("$BACKGROUND")
        background user ktracectl record -q "${event[@]}" -o user.kts -- sleep 80
        clients+=("$BACKGROUND")
        background user ktracectl record -q "${event[@]}" -o - -- sleep 80
        clients+=("$BACKGROUND")
        background user ktracectl hist "${event[@]}" --key id -- sleep 80
        clients+=("$BACKGROUND")
        background ktracectl watch --all-users
        clients+=("$BACKGROUND")
        background user ktracectl --varlink watch
        clients+=("$BACKGROUND")
        within 20 has_workers "$n_workers" || fail "$(ktracectl status)"
        ktracectl create -q flight --mode flight -a "${event[@]}" >/dev/null
        ktracectl start flight
        echo '{"scope": "system", "spool": {"max-bytes": 2097152, "sync": 1}}' >disk.json
        ktracectl create -q disk --spec disk.json "${event[@]}" >/dev/null
        ktracectl start disk
        within 20 has_workers $((n_workers + 1)) || fail "$(ktracectl status)"
        sleep 4
        # A daemon that was idle before would end 30 s later: in deep runs the ten seconds contain that moment.
        [ -z "${TAP_DEEP:-}" ] || sleep 12
        daemon=$(daemon_pid)
        mapfile -t workers < <(workers)
        sleep 2
        for pid in "$daemon" "${workers[@]}" "${clients[@]}"; do
                before[pid]=$(switches "$pid")
        done
        sleep 10
        for pid in "$daemon" "${workers[@]}" "${clients[@]}"; do
                after=$(switches "$pid")
                echo "$pid $(tr '\0' ' ' <"/proc/$pid/cmdline"): $((after - before[pid]))"
        done >woken
        cat woken
        ! grep -v ': 0$' woken || fail "woken: $(cat woken)"
}

# delays: reads lines of text, and prints how many milliseconds after its event each line came. The resolution of
# /proc/uptime is 10 ms.
delays() {
        local line up
        while read -r line; do
                read -r up _ </proc/uptime
                [[ $line =~ \ ([0-9]+)\.([0-9]{3})[0-9]*:\ sys_enter ]] || continue
                echo $((${up/./}0 - 10#${BASH_REMATCH[1]}${BASH_REMATCH[2]}))
        done
}
middle() { sort -n "$1" | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'; }

case_latency() { # twenty events a second are soon printed, each on its own, also in a fenced session
        local text=(ktracectl record -q -e raw_syscalls:sys_enter -f 'id == 1000' -o - --to text) pid
        paced() { for _ in $(seq 40); do "$1" calls 1 1000 && sleep 0.05; done; }
        export -f paced
        "${text[@]}" -a > >(delays >all) 2>err &
        pid=$!
        started+=("$pid")
        within 20 is_running || fail "$(cat err)"
        paced "$TARGET"
        kill -INT "$pid"
        wait "$pid" || fail "status $?: $(cat err)"
        user "${text[@]}" -- bash -c "paced $TARGET" > >(delays >own) 2>err || fail "status $?: $(cat err)"
        sleep 0.5
        [ "$(wc -l <all)" -ge 40 ] && [ "$(wc -l <own)" -ge 40 ] || fail "lines: $(wc -l all own)"
        [ "$(middle all)" -le 30 ] || fail "of all processes: $(middle all) ms of $(sort -n all | tr '\n' ' ')"
        [ "$(middle own)" -le 50 ] || fail "own: $(middle own) ms of $(sort -n own | tr '\n' ' ')"
}
