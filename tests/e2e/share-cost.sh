# SPDX-License-Identifier: LGPL-2.1-or-later
# What sessions that share an instance cost, and the limits of that.

# sharing NAME WORD...: a running session of the user that may share. It stays until it is destroyed.
sharing() {
        local name=$1
        shift
        user ktracectl create -q "$name" -a --share --lifetime linger -b 64 "$@" >/dev/null
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
        sharing first -e raw_syscalls:sys_enter -f 'id == 1001'
        sharing second -e raw_syscalls:sys_enter -f 'id == 1002'
        sharing other -e sched:sched_process_exit
        same 1 "$(instances)" "instances"
        "$TARGET" calls 30000 1000
        within 10 names_are other || fail "sessions: $(names)"
        user ktracectl destroy other
}

case_share_rate_lost() { # events that a full ring drops count for the session that records many, and for no other
        sharing_rule '"max-event-rate": 5000'
        sharing hot -e raw_syscalls:sys_enter
        sharing cool -e sched:sched_process_exit
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
