# SPDX-License-Identifier: LGPL-2.1-or-later
# Several sessions with the same events, and the time of day of their clocks.

clocks_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}

has_clock() { grep -qw -- "$1" "$TRACEFS/trace_clock"; }

case_clocks_several() { # one event in five sessions with different filters, windows and clocks does not mix
        trap clocks_end EXIT
        local enter='raw_syscalls:sys_enter'
        ktracectl create all -q --mode flight --scope system -e $enter --where 'id >= 1000' --clock mono
        ktracectl create low -q --mode flight --scope system -e $enter -f 'id == 1000' --clock boot -b 256
        ktracectl create high -q --mode flight --scope system -e $enter -f 'id > 1000' --clock local -b 2048
        ktracectl create count -q --mode flight --scope system -e $enter -f 'id == 1001' --clock counter -b 64
        ktracectl create both -q --mode flight --scope system -e 'raw_syscalls:sys_*' -f 'id == 1000 || id == 1001' \
                --clock global
        ktracectl start all
        "$TARGET" calls 2 1000
        ktracectl start low
        ktracectl start high
        "$TARGET" calls 3 1000
        "$TARGET" calls 5 1001
        ktracectl start count
        ktracectl start both
        "$TARGET" calls 7 1000
        "$TARGET" calls 11 1001
        ktracectl stop all
        ktracectl stop low
        "$TARGET" calls 13 1000
        "$TARGET" calls 17 1001
        local name
        for name in all low high count both; do
                ktracectl snapshot -q $name -o $name.kts
        done
        same 28 "$(count all.kts true)" "all: 2 + 3 + 5 + 7 + 11"
        same 10 "$(count low.kts true)" "low: 3 + 7"
        same 33 "$(count high.kts true)" "high: 5 + 11 + 17"
        same 28 "$(count count.kts true)" "count: 11 + 17"
        same 48 "$(count both.kts '.event == "sys_enter"')" "both, in: 7 + 11 + 13 + 17"
        same 48 "$(count both.kts '.event == "sys_exit"')" "both, out"
        # Each value of a counter occurs once.
        same 28 "$(ktracectl report --json=short count.kts | jq -c 'select(.event != null) | .ts' | sort -u | wc -l)" \
                "numbers"
}

# between NSEC: the time of day is between $before and $after. The clocks may be read up to 10 ms apart.
between() { [ -n "$1" ] && [ "$1" -gt $((before - 10000000)) ] && [ "$1" -lt $((after + 10000000)) ]; }
to_nsec() { date -u -d "$1" +%s%N; }

# boots_agree CLOCK: by t.kts as Perfetto reads it, the machine started when the kernel says. Numbers of clocks: 1
# CLOCK_REALTIME, 6 CLOCK_BOOTTIME.
boots_agree() {
        local began uptime
        ktracectl convert t.kts --to perfetto -o t.pftrace
        began=$(protoc --decode_raw <t.pftrace | awk '$1 == "1:" { id = $2 }
                $1 == "2:" { ts[id] = ts[id] ? ts[id] : $2 }
                END { printf "%d", (ts[1] - ts[6]) / 1000000 }')
        read -r uptime _ </proc/uptime
        uptime=$(awk -v now="$(date +%s%N)" -v up="$uptime" 'BEGIN { printf "%d", now / 1000000 - up * 1000 }')
        [ -n "$began" ] && [ $((began - uptime)) -lt 1000 ] && [ $((uptime - began)) -lt 1000 ] ||
                fail "$1: Perfetto has a start at $began ms, the kernel at $uptime ms"
}

case_clocks_wall() { # every clock that counts nanoseconds is converted to the time of day in every output
        trap clocks_end EXIT
        local clock before after wall tested=0
        for clock in mono mono_raw boot tai local global perf; do
                has_clock $clock || continue
                ktracectl create w -q --mode flight --scope system -e raw_syscalls:sys_enter --where 'id == 1000' \
                        --clock $clock
                ktracectl start w
                before=$(date +%s%N)
                "$TARGET" calls 1 1000
                after=$(date +%s%N)
                ktracectl snapshot -q w -o t.kts
                ktracectl destroy w
                wall=$(ktracectl report --json=short t.kts | jq -r 'select(.event == "sys_enter") | .wall')
                between "$(to_nsec "$wall")" || fail "$clock: JSON says $wall, it was $before"
                ktracectl report --wall t.kts >t.txt
                grep -q " ${wall%???Z}Z: sys_enter:" t.txt || fail "$clock: $(cat t.txt), not $wall"
                same "$(cat t.txt)" "$(ktracectl convert t.kts --to text-wall)" "$clock: both ways to text"
                ktracectl convert t.kts --to dat-wall -o t.dat
                wall=$(ktracectl report --json=short t.dat | jq -r 'select(.event == "sys_enter") | .wall')
                between "$(to_nsec "$wall")" || fail "$clock: trace.dat says $wall, it was $before"
                if command -v trace-cmd >/dev/null; then
                        # trace-cmd 3.3 prints no blank between the flags and the time, and 3.1 prints the time of
                        # some clocks without blank and point.
                        wall=$(trace-cmd report -t t.dat 2>/dev/null |
                                sed -n 's/.*[] .]\([0-9]\{10,\}\.\{0,1\}[0-9]*\): *sys_enter.*/\1/p')
                        between "${wall/./}" || fail "$clock: trace-cmd says $wall, it was $before"
                fi
                ! command -v protoc >/dev/null || boots_agree "$clock"
                tested=$((tested + 1))
        done
        [ $tested -ge 4 ] || fail "only $tested clocks"
}

case_clocks_live() { # text that is printed during a recording can show the time of day
        trap clocks_end EXIT
        local before after wall
        background ktracectl record -q --scope system -e raw_syscalls:sys_enter --where 'id == 1000' -o - --to text-wall
        within 30 is_running || fail "the recording did not start: $(cat background.err)"
        before=$(date +%s%N)
        "$TARGET" calls 1 1000
        after=$(date +%s%N)
        within 30 grep -q sys_enter background.out || fail "nothing is printed: $(cat background.err)"
        wall=$(sed -n 's/.* \([0-9T:.-]*Z\): sys_enter.*/\1/p' background.out)
        between "$(to_nsec "$wall")" || fail "it says $wall, it was $before"
}

case_clocks_without_relation() { # clocks that do not count nanoseconds get no time of day
        trap clocks_end EXIT
        local clock
        for clock in counter uptime x86-tsc; do
                has_clock $clock || continue
                ktracectl create w -q --mode flight --scope system -e raw_syscalls:sys_enter --where 'id == 1000' \
                        --clock $clock
                ktracectl start w
                "$TARGET" calls 1 1000
                after=$(date +%s%N)
                ktracectl snapshot -q w -o t.kts
                ktracectl destroy w
                same null "$(ktracectl report --json=short t.kts | jq -r 'select(.event == "sys_enter") | .wall')" \
                        "$clock: JSON"
                refused 1 "clock $clock has no relation to wall time: it counts" ktracectl report --wall t.kts
                refused 1 "clock $clock has no relation to wall time: it counts" ktracectl convert t.kts --to dat-wall \
                        -o t.dat
                [ ! -e t.dat ] || fail "t.dat was made"
        done
}
