# SPDX-License-Identifier: LGPL-2.1-or-later
# What sessions that share an instance cost, and the limits of that.

# sharing NAME KB WORD...: a running session of the user that may share. It stays until it is destroyed.
sharing() {
        local name=$1 kb=$2
        shift 2
        user ktracectl create -q "$name" -a --share --lifetime linger -b "$kb" "$@" >/dev/null
        user ktracectl start "$name"
}
sharing_rule() {
        user_rule '"scopes": ["system"], "processes": "any", "events": ["raw_syscalls:*", "sched:sched_process_exit"],
                "max-linger-sec": 600, "limits": {'"$1"'}'
}
names() { ktracectl list --json=short | jq -r '[.[].name] | sort | join(" ")'; }
names_are() { [ "$(names)" = "$1" ]; }
reader() { ktracectl status --json=short | jq '.daemon.shares[0].pid'; }

case_share_rate() { # what the kernel records for a session counts against its limit, also if its filter drops it
        sharing_rule '"max-event-rate": 5000'
        # They differ, so the kernel has no filter and records the calls of all processes.
        sharing first 64 -e raw_syscalls:sys_enter -f 'id == 1001'
        sharing second 64 -e raw_syscalls:sys_enter -f 'id == 1002'
        sharing other 64 -e sched:sched_process_exit
        same 1 "$(instances)" "instances"
        "$TARGET" calls 30000 1000
        within 10 names_are other || fail "sessions: $(names)"
        user ktracectl destroy other
}

case_share_rate_lost() { # events that a full ring drops count for the session that records many, and for no other
        sharing_rule '"max-event-rate": 5000'
        sharing hot 64 -e raw_syscalls:sys_enter
        sharing cool 64 -e sched:sched_process_exit
        same 1 "$(instances)" "instances"
        # The ring of 64 kB keeps some 1500 calls of each CPU.
        kill -STOP "$(reader)"
        "$TARGET" calls 100000 1000
        kill -CONT "$(reader)"
        within 10 names_are cool || fail "sessions: $(names)"
        sleep 1.5 # the limit is checked once a second
        same cool "$(names)" "sessions"
        user ktracectl show --json=short cool | jq .statistics.lost >lost
        [ "$(cat lost)" -gt 50000 ] || fail "the ring was not full: $(cat lost) lost"
        user ktracectl destroy cool
}

counted_kb() { user ktracectl status --json=short | jq ".limits.\"buffer-kb\""; }
case_share_memory() { # a shared instance counts once against max-buffer-kb-per-uid, with its size, until it is gone
        local cpus
        cpus=$(nproc)
        sharing_rule "\"max-buffer-kb-per-uid\": $((cpus * 3000))"
        sharing large 2048 -e raw_syscalls:sys_enter
        sharing small 64 -e raw_syscalls:sys_enter
        same $((cpus * 2048)) "$(counted_kb)" "kB of two sessions"
        user ktracectl destroy large
        within 10 names_are small
        same $((cpus * 2048)) "$(counted_kb)" "kB while the instance is still large"
        refused 1 'max-buffer-kb-per-uid' user ktracectl create boot -a --share --clock boot -b 2048 \
                --lifetime linger -e raw_syscalls:sys_enter
        user ktracectl destroy small
        sharing other 2048 --clock boot -e raw_syscalls:sys_enter
        same $((cpus * 2048)) "$(counted_kb)" "kB of the next instance"
        user ktracectl destroy other
}

# woken: how often the daemon has slept and was woken.
woken() { awk '$1 == "voluntary_ctxt_switches:" { n += $2 } END { print n }' "/proc/$(daemon_pid)"/task/*/status; }
case_share_idle() { # [deep] the daemon sleeps while sessions that share an instance record nothing
        local i before n
        for i in 1 2 3 4; do
                ktracectl create "idle$i" -q -a --share --lifetime linger -e raw_syscalls:sys_enter -f 'id == 1000'
                ktracectl start "idle$i"
        done
        sleep 2
        before=$(woken)
        sleep 2
        n=$(($(woken) - before))
        figure "wake-ups in two seconds: $n"
        [ "$n" -le 10 ] || fail "$n wake-ups"
        # A record ends the rest: the losses of a full ring are known at once.
        "$TARGET" calls 10 1000
        sleep 0.5
        same 10 "$(ktracectl show --json=short idle1 | jq .statistics.recorded)" "records"
        for i in 1 2 3 4; do ktracectl destroy "idle$i"; done
}
