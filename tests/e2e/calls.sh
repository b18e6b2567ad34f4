# SPDX-License-Identifier: LGPL-2.1-or-later
# calls: system calls of a command, of processes and of recordings.

# counts FILE NAME: "calls errors" of the row in the table.
counts() { awk -v name="$2" '$NF == name { print $4, NF == 6 ? $5 : 0 }' "$1"; }

case_calls_list() { # each call of all threads and children has one line with its result
        expect 0 user ktracectl calls -T -- "$TARGET" various
        same 20 "$(grep -cE '^\[pid +[0-9]+\] getppid\(\) = [0-9]+ <0\.[0-9]{6}>$' out)" "calls of getppid"
        same 4 "$(grep ' getppid()' out | sed 's/\].*//' | sort -u | wc -l)" "threads"
        same 2 "$(grep -cE 'openat\(dfd=AT_FDCWD, filename=.*, flags=O_RDONLY, mode=0\) = -2 ENOENT <' out)" "errors"
        grep -Eq 'read\(fd=[0-9]+, buf=0x[0-9a-f]+, count=1\) = -512 ERESTARTSYS <0\.(0[1-9]|[1-9])' out ||
                fail "no interrupted read: $(grep ' read(' out)"
        same 2 "$(grep -cE '\] exit_group\(error_code=0\) = \?$' out)" "ends of processes"
        head -n 1 out | matches -E '\] execve\(.*\) = 0 <' || fail "not the command first: $(head -n 2 out)"
        ! grep -q 'unfinished\|resumed\|uncertain' out || fail "$(grep -m 3 'unfinished\|resumed\|uncertain' out)"
}

case_calls_paths() { # the names of files and programs are shown where the kernel and the rules allow it
        local name
        name=$(printf 'c\033[2Jt')
        cp "$(command -v cat)" "$name"
        # shellcheck disable=SC2016 # the other shell expands it
        expect 1 user ktracectl calls -e openat,execve -- sh -c '"./$1" /etc/hostname "/no/such/$1"' sh "$name"
        grep -qF 'execve(filename="./c\x1b[2Jt", ' out || fail "no program: $(grep execve out)"
        if [ -e "$TRACEFS/kprobe_events" ]; then
                grep -q 'openat(dfd=AT_FDCWD, filename="/etc/hostname", .* = [0-9]' out || fail "no file: $(cat out)"
                grep -qF 'filename="/no/such/c\x1b[2Jt", flags=O_RDONLY, mode=0) = -2 ENOENT' out || fail "$(cat out)"
        else
                grep -q 'openat(dfd=AT_FDCWD, filename=0x' out || fail "no address: $(cat out)"
        fi
        # A rule without the event takes only the names of programs away.
        user_rule '"scopes": ["command"], "events": ["syscalls:*"]'
        expect 0 user ktracectl calls -e openat,execve -- cat /etc/hostname
        grep -q 'execve(filename=0x.* = 0$' out && grep -q 'openat(' out || fail "$(cat out)"
}

case_calls_counts() { # the table has the calls and errors that the program makes
        expect 0 user ktracectl calls -c -- "$TARGET" various
        same '20 0' "$(counts out getppid)" "getppid"
        same '1 0' "$(counts out execve)" "execve"
        same '1 0' "$(counts out setitimer)" "setitimer"
        awk '$NF == "total" { total = $4 } /^ *[0-9.]+ / && $NF != "total" { sum += $4 }
                END { exit sum != total }' out ||
                fail "the total is not the sum: $(cat out)"
        # The sleep is the longest call.
        expect 0 user ktracectl calls -c -S time -- sleep 0.3
        sed -n 3p out | matches -E '^ *[0-9.]+ +0\.[3-9][0-9]+ +[3-9][0-9]{5} +1 +clock_nanosleep$' ||
                fail "$(head -n 4 out)"
}

case_calls_strace() { # [deep] the table of strace -c has the same calls, numbers and errors
        command -v strace >/dev/null || skip "no strace here"
        expect 0 user strace -f -c -o strace.out "$TARGET" various
        expect 0 user ktracectl calls -c -- "$TARGET" various
        # strace does not count calls that end the thread. How often threads wait for each other is chance.
        for file in strace.out out; do
                awk '/^ *[0-9.]+ / && $NF !~ /^(total|exit|exit_group|futex|restart_syscall|rt_sigreturn)$/ {
                        print $NF, $4, NF == 6 ? $5 : 0 }' $file | sort >$file.rows
        done
        [ "$(wc -l <out.rows)" -gt 10 ] || fail "few rows: $(cat out)"
        cmp out.rows strace.out.rows || fail "$(diff strace.out.rows out.rows)"
}

case_calls_chosen() { # [deep] only the chosen calls are recorded; groups and exceptions choose in the output
        expect 0 user ktracectl calls -e trace=getppid,openat -o t.txt -- "$TARGET" various
        same 'getppid openat' "$(sed -E 's/^[^]]*\] ([a-z]+).*/\1/' t.txt | sort -u | xargs)" "calls"
        same 20 "$(grep -c getppid t.txt)" "getppid"
        expect 0 user ktracectl calls -e %process -- "$TARGET" various
        grep -q '\] execve(' out && grep -q '\] wait4(' out || fail "$(cat out)"
        ! grep -q '\] openat(\|getppid' out || fail "$(cat out)"
        expect 0 user ktracectl calls -c -e '!getppid' -- "$TARGET" various
        same '' "$(counts out getppid)" "excluded"
        same '1 0' "$(counts out execve)" "execve"
        expect 0 user ktracectl calls -e uname -- uname
        grep -Eq '\] uname\(name=0x[0-9a-f]+\) = 0$' out || fail "$(cat out)"
        refused 2 '-e: expected names of system calls such as openat,read, got "opnat"' \
                user ktracectl calls -e opnat -- true
        refused 2 'expected %file, %ipc' user ktracectl calls -e %all -- true
        refused 2 "expected '-- CMD', '-p PID'" user ktracectl calls
        refused 2 'calls have no JSON' user ktracectl calls --json -- true
        refused 2 'are for a FILE' user ktracectl calls --last 1s -- true
        expect 3 user ktracectl calls -- sh -c 'exit 3'
        expect 127 user ktracectl calls -- ./nowhere
}

case_calls_open() { # a process that is killed, and with -p one that goes on
        background user ktracectl calls -- "$TARGET" threads 1
        within 20 pgrep -P "$BACKGROUND" -f "^$TARGET" || fail "it does not run"
        sleep 1
        kill -KILL "$(pgrep -P "$BACKGROUND")"
        wait "$BACKGROUND" || true
        same 2 "$(grep -c '\] pause() = -514 ERESTARTNOHAND$' background.out)" "calls that the end has interrupted"
        background user setpriv --no-new-privs "$TARGET" callers 1 110
        pid=$BACKGROUND
        recording user ktracectl calls -p "$pid" -o -
        ends_well 20
        grep -Eq '\] getppid\(\) = [0-9]+$' background.out || fail "$(head -n 4 background.out)"
        tail -n 1 background.out | matches -E '\] clock_nanosleep\(.*\) <unfinished \.\.\.>$' ||
                fail "$(tail -n 2 background.out)"
        kill "$pid"
}

case_calls_file() { # [deep] a recording prints the same, also cut; names of raw_syscalls are not proven
        expect 0 user ktracectl record -q -e 'syscalls:*' -o t.kts -- "$TARGET" various
        expect 0 user ktracectl calls t.kts
        same 20 "$(grep -c 'getppid() = ' out)" "getppid"
        mv out list
        expect 0 user ktracectl convert --to calls t.kts
        cmp out list || fail "convert prints another list"
        expect 0 user ktracectl convert t.kts -o t.dat
        expect 0 user ktracectl calls t.dat
        cmp out list || fail "t.dat: $(diff out list | head -n 4)"
        expect 0 user ktracectl calls -c -p "$(sed -n '$s/^\[pid *//; $s/\].*//p' list)" t.kts
        grep -q ' total$' out || fail "$(cat out)"
        head -c -60 t.kts >cut.kts
        expect 4 user ktracectl calls cut.kts
        [ -s out ] && grep -q 'cut.kts: cut after' err || fail "$(cat err)"
        expect 1 user ktracectl calls list
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -o raw.kts -- \
                "$TARGET" various
        expect 0 user ktracectl calls -c raw.kts
        [ "$(uname -m)" != x86_64 ] || grep -Eq ' 20 +NR 110 \[getppid if 64-bit\]$' out || fail "$(cat out)"
}

case_calls_escaped() { # a name with control characters cannot reach the terminal
        local name
        name=$(printf 'a\033b\nc')
        cp /bin/true "$name"
        expect 0 user ktracectl calls -Y -- "./$name"
        ! LC_ALL=C grep -q "$(printf '\033')" out || fail "an escape character"
        ! grep -qv '^\[pid ' out || fail "a line of its own: $(grep -v '^\[pid ' out)"
        LC_ALL=C grep -qF '<a\x1bb\x0ac>' out || fail "$(head -n 3 out)"
}

case_calls_times() { # -t, -tt and -ttt show when a call began
        before=$(date +%s)
        expect 0 user ktracectl calls -ttt -e getppid -- "$TARGET" calls 3 110
        began=$(sed -nE '1s/^[^]]*\] ([0-9]+)\.[0-9]{6} getppid.*/\1/p' out)
        [ "$began" -ge "$before" ] && [ "$began" -le "$(date +%s)" ] || fail "$(cat out)"
        expect 0 user ktracectl calls -tt -e getppid -- "$TARGET" calls 3 110
        grep -Eq '\] [0-2][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{6} getppid' out || fail "$(cat out)"
        expect 0 user ktracectl calls -t -e getppid -- "$TARGET" calls 3 110
        grep -Eq '\] [0-2][0-9]:[0-5][0-9]:[0-5][0-9] getppid' out || fail "$(cat out)"
}
