# SPDX-License-Identifier: LGPL-2.1-or-later
# Instances that are prepared for the next sessions. The other cases have none (max-prepared-kb 0).

prepared() { # with the instances of sessions
        find "$TRACEFS/instances" -maxdepth 1 -regextype posix-extended -regex '.*/ktrace-[0-9a-f]{16}' | sort
}
# records_exactly FILE USER...: a recording of 50 calls has 50.
records_exactly() {
        local file=$1
        shift
        expect 0 "$@" ktracectl record -q -e raw_syscalls:sys_enter -f 'id == 110' -o "$file" -- "$TARGET" calls 50 110
        same 50 "$(count "$file" '.fields.id == 110')" "calls in $file"
}

case_pool_used() { # [asan] sessions take prepared instances; each instance serves one session only
        with_pool
        chmod 777 .
        no_instance || fail "prepared before there was a session: $(prepared)"
        records_exactly first.kts user
        within 20 is_filled || fail "not prepared: $(prepared)"
        prepared >ready
        user ktracectl create box --scope own -e raw_syscalls:sys_enter
        grep -q "ktrace-$(user ktracectl --json=short show box | jq -r .id)\$" ready || fail "not taken: $(cat ready)"
        user ktracectl destroy box
        for round in 1 2 3; do
                records_exactly "user$round.kts" user
                records_exactly "stranger$round.kts" stranger
                records_exactly "root$round.kts"
                within 20 is_filled || fail "not prepared: $(prepared)"
                prepared >again
                ! grep -qxFf ready again || fail "an instance was used twice: $(cat ready again)"
                cp again ready
        done
        ktracectl verify
        ktracectl status | matches 'instances that are ready for the next sessions' || fail "$(ktracectl status)"
        same null "$(user ktracectl status --json=short | jq '.daemon."prepared-kb"')" "shown to a user"
}

case_pool_settings() { # a session that differs in clock, size or mode records the same with a pool
        with_pool
        records_exactly first.kts user
        within 20 is_filled || fail "not prepared: $(prepared)"
        for options in '-b 64' '--clock boot' '-b 2048 --clock tai'; do
                # shellcheck disable=SC2086 # words
                expect 0 user ktracectl record -q $options -e raw_syscalls:sys_enter -f 'id == 110' -o t.kts -- \
                        "$TARGET" calls 50 110
                same 50 "$(count t.kts '.fields.id == 110')" "calls with $options"
        done
        ktracectl create box --mode flight -a -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start box
        "$TARGET" calls 50 1000
        ktracectl snapshot box -o box.kts
        same 50 "$(count box.kts '.fields.id == 1000')" "calls in the snapshot"
        ktracectl destroy box
}

case_pool_changed() { # a prepared instance that root has stopped or removed is replaced
        with_pool
        records_exactly first.kts user
        within 20 is_filled || fail "not prepared: $(prepared)"
        for instance in $(prepared); do echo 0 >"$instance/tracing_on"; done
        records_exactly stopped.kts user
        within 20 is_filled || fail "not prepared: $(prepared)"
        for instance in $(prepared); do rmdir "$instance"; done
        records_exactly removed.kts user
}

case_pool_killed() { # [asan] the next daemon removes the prepared instances of a killed one
        with_pool
        records_exactly first.kts user
        within 20 is_filled || fail "not prepared: $(prepared)"
        killed
        within 20 no_instance || fail "left: $(prepared)"
        records_exactly again.kts user
}
