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
        within 5 ktracectl spool remove disk || true
        leave_case
}

case_idle_sleeps() { # [asan] sessions that record nothing wake no process for ten seconds
        trap idle_end EXIT
        local before=() event=(-e raw_syscalls:sys_enter -f 'id == 1000') clients=() n_workers=5 pid daemon workers after
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
        within 20 has_workers "$n_workers" || fail "$(ktracectl status)"
        ktracectl create -q flight --mode flight -a "${event[@]}" >/dev/null
        ktracectl start flight
        echo '{"scope": "system", "spool": {"max-bytes": 2097152, "sync": 1}}' >disk.json
        ktracectl create -q disk --spec disk.json "${event[@]}" >/dev/null
        ktracectl start disk
        within 20 has_workers $((n_workers + 1)) || fail "$(ktracectl status)"
        sleep 4
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
