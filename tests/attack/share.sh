# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks on an instance that the attacker's session shares with one of root. The attacker may trace the calls of all
# processes, without kernel addresses.

# shared EVENT SCRIPT, $FILTER: the rule's. Root records EVENT as the kernel wrote it, and the user the calls, in one
# instance, while the script runs. The user's stream is t.kts.
shared() {
        local users
        rules "{\"name\": \"attack\", \"subjects\": [{\"uid\": $USER_UID}], \"scopes\": [\"system\"],
                \"processes\": \"any\", \"addresses\": \"zero\",
                \"events\": [{\"name\": \"raw_syscalls:sys_enter\", \"filter\": \"${FILTER:-id >= 0}\"}]}"
        ktracectl record -q -a --share --unredacted -o root.kts -e "$1" &
        started+=($!)
        within 20 is_running || fail "root's session did not start"
        chmod 777 .
        AS_EXEC=exec user ktracectl record -q -a --share -o t.kts -e raw_syscalls:sys_enter &
        users=$!
        started+=($users)
        within 20 both_run || fail "the user's session did not start"
        shift
        "$@"
        kill -INT $users
        wait $users || true
}
both_run() { ktracectl list --json=short | jq -e '[.[] | select(.state == "running")] | length == 2'; }

case_share_noise() { # make root lose records: the user's further events fill the ring of both
        defended_by share-users
        local lost
        rules "{\"name\": \"attack\", \"subjects\": [{\"uid\": $USER_UID}], \"scopes\": [\"system\"],
                \"processes\": \"any\", \"max-linger-sec\": 600, \"events\": [\"raw_syscalls:*\"]}"
        ktracectl create -q victim -a --share --lifetime linger -b 64 -e raw_syscalls:sys_exit -f "id == $VICTIM_CALL"
        user ktracectl create -q noise -a --share --lifetime linger -b 64 -e 'raw_syscalls:*'
        ktracectl start victim
        user ktracectl start noise
        # The readers are slow for once.
        ktracectl status --json=short | jq '.daemon.shares[].pid' | xargs kill -STOP
        "$TARGET" calls 20000 $OWN_CALL
        ktracectl status --json=short | jq '.daemon.shares[].pid' | xargs kill -CONT
        "$TARGET" calls 10 $VICTIM_CALL
        lost=$(ktracectl show --json=short victim | jq .statistics.lost)
        verdict "$lost" "records that root lost"
}

case_share_events() { # get events of root's session that no rule grants
        defended_by share-users share-events share-cuts
        shared raw_syscalls:sys_exit "$TARGET" calls 100 $VICTIM_CALL
        verdict "$(records t.kts | awk '$1 != "sys_enter" { n++ } END { print n + 0 }')" "records of other events"
}

kernel_argument() {
        /usr/bin/python3 -c 'import ctypes
for _ in range(50): ctypes.CDLL(None).syscall(1000, ctypes.c_ulong(0xffffffff81234560))'
}
case_share_cuts() { # get the kernel addresses that root's session shows
        defended_by share-users share-cuts
        shared raw_syscalls:sys_enter kernel_argument
        verdict "$(ktracectl report t.kts | grep -c ffffffff81234560 || true)" "addresses"
}

both_numbers() {
        "$TARGET" calls 50 $OWN_CALL
        "$TARGET" calls 50 $VICTIM_CALL
}
case_share_filters() { # get records that the filter of the rule excludes, beside a session without a filter
        defended_by share-users share-filters
        FILTER="id == $OWN_CALL" shared raw_syscalls:sys_enter both_numbers
        verdict "$(calls_in t.kts $VICTIM_CALL)" "calls that the rule excludes"
}

marks_secret() { ktracectl mark "$(ktracectl list --json=short | jq -r '.[] | select(.uid == 0) | .id')" root-secret; }
case_share_marks() { # read the marks of root's session
        defended_by share-users share-marks
        shared raw_syscalls:sys_enter marks_secret
        verdict "$(ktracectl report t.kts | grep -c root-secret || true)" "marks"
}

# two_differ: two sessions of the user, whose filters differ and let nothing through. So the kernel records all calls.
two_differ() {
        local i
        for i in 1 2; do
                user ktracectl create -q "calls$i" -a --share --lifetime linger -b 2048 -e raw_syscalls:sys_enter \
                        -f "id == $((VICTIM_CALL + i))"
                user ktracectl start "calls$i"
        done
}
case_share_rate() { # make the kernel record more than max-event-rate, with filters that differ
        defended_by share-rate
        rules "{\"name\": \"attack\", \"subjects\": [{\"uid\": $USER_UID}], \"scopes\": [\"system\"],
                \"processes\": \"any\", \"max-linger-sec\": 600, \"limits\": {\"max-event-rate\": 100},
                \"events\": [\"raw_syscalls:sys_enter\"]}"
        two_differ
        background stranger "$TARGET" paced 20000 4000 # so slow that no event is lost
        sleep 4
        verdict "$(ktracectl list --json=short | jq '[.[] | select(.state == "running")] | length')" \
                "sessions that go on over their limit"
}

ring_kb() { cat "$TRACEFS"/instances/ktrace-*/buffer_total_size_kb | awk '{ n += $1 } END { print n + 0 }'; }
case_share_memory() { # hold more ring memory than the limit: the sessions that made the instances large are gone
        defended_by share-memory
        local limit=$(($(nproc) * 3000)) clock kb
        rules "{\"name\": \"attack\", \"subjects\": [{\"uid\": $USER_UID}], \"scopes\": [\"system\"],
                \"processes\": \"any\", \"max-linger-sec\": 600, \"limits\": {\"max-buffer-kb-per-uid\": $limit},
                \"events\": [\"raw_syscalls:sys_enter\"]}"
        local share=(-q -a --share --lifetime linger -e raw_syscalls:sys_enter)
        for clock in mono boot global; do
                user ktracectl create large "${share[@]}" --clock $clock -b 2048 || true
                user ktracectl create small$clock "${share[@]}" --clock $clock -b 64 || true
                user ktracectl destroy large || true
        done
        kb=$(ring_kb)
        verdict "$((kb > limit ? kb - limit : 0))" "kB of ring buffers over the limit"
}
