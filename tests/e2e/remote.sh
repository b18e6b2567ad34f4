# SPDX-License-Identifier: LGPL-2.1-or-later
# ktracectl -H, over a real sshd on the loopback that runs as the user.

. "$here/machines.sh"

case_remote_command() { # [smoke] -H runs a command there, with its input, output, errors and status
        with_sshd
        echo from-here | user ktracectl -H web1 record -q -e 'raw_syscalls:sys_enter' -o t.kts -- \
                sh -c 'cat; echo error >&2; exit 7' >out 2>err || same 7 $? status
        same from-here "$(cat out)" output
        same error "$(cat err)" errors
        [ "$(count t.kts '.event == "sys_enter"')" -gt 50 ] || fail "few events in t.kts"
        expect 0 user ktracectl record -H web1 -e 'sched:sched_process_*' -- sh -c 'true; true'
        grep -q '^ktracectl: trace.dat: [0-9]* events, .*, none lost$' err || fail "$(cat err)"
        ktracectl report trace.dat | matches sched_process_exit || fail "no exit in trace.dat"
        clocks_agree t.kts
        clocks_agree trace.dat
        user ktracectl report --receipt t.kts | matches 'error-usec: [0-9]' || fail "the receipt lacks the error"
        expect 143 user ktracectl -H web1 record -q -e 'raw_syscalls:*' -o - --to json -- sh -c 'kill -TERM $$'
        grep -q '"sys_enter"' out || fail "no event on standard output"
        prints 'exit_group' user ktracectl -H web1 calls -- true
        [[ $(head -n 1 printed) == *execve* ]] || fail "before the command: $(head -n 3 printed)"
        refused 127 'cannot run .*nonexistent.*No such file' \
                user ktracectl -H web1 record -o none.kts -e 'raw_syscalls:*' -- /nonexistent
        refused 3 'not granted' user ktracectl -H web1 record -o none.dat -e nosuch:event -- true
        [ -z "$(find . -name 'none*')" ] || fail "a recording that failed left a file"
}

case_remote_verbs() { # -H prints what the verb prints there, and reads standard input only for verbs that read it
        local verb
        with_sshd
        expect 0 user ktracectl create -H web1 --scope own -e 'raw_syscalls:*' --lifetime linger:60s far
        for verb in 'list' 'list --json' 'show far' 'events sched:* --no-pager' 'saved list'; do
                # shellcheck disable=SC2086 # several words
                same "$(user ktracectl $verb)" "$(user ktracectl -H web1 $verb)" "$verb"
        done
        refused 2 'expected on or off' user ktracectl -H web1 set far raw_syscalls:sys_exit maybe
        expect 0 user ktracectl -H web1 destroy far
        no_session || fail "destroy -H did not"
        echo "$OWN_CALLS" | expect 0 user ktracectl -H web1 create --lifetime linger:60s --spec - far2
        expect 0 user ktracectl -H web1 destroy far2
        printf '1\n2\n3\n' | while read -r verb; do
                user ktracectl -H web1 list >/dev/null
                echo "$verb"
        done >lines
        same '1 2 3' "$(xargs <lines)" "lines that were left to the loop"
}

case_remote_kernel() { # -H verifies the kernel of the host, for its root, and of several hosts
        use_ssh 'exec ktracectl serve'
        same "$(ktracectl verify)" "$(ktracectl -H web1 verify)" "verify"
        mkdir no-tracefs
        refused 1 'no-tracefs is not a tracefs' ktracectl -H web1 verify --tracefs "$T/no-tracefs"
        expect 0 ktracectl verify -H web1,web2
        same 'web1 web2' "$(cut -d: -f1 out | xargs)" "machines in $(cat out)"
        mkdir "$TRACEFS/instances/ktrace-0123456789abcdef"
        expect 1 ktracectl -H web1 verify --json=short
        rmdir "$TRACEFS/instances/ktrace-0123456789abcdef"
        same '[{"kind":"instance","name":"ktrace-0123456789abcdef"}]' "$(cat out)" "what is left"
        rm ssh-pid # it is root's
        refused 3 'requires root: .* -H root@HOST' user ktracectl -H web1 verify
}

case_remote_names() { # -H takes no name for an option of ssh, and verbs of local files refuse it
        local name
        use_ssh "echo called >'$T/called'"
        for name in -oProxyCommand=touch% '' 'a b' "$(printf 'a\tb')" "$(printf 'a\033[0m')" web1/../box web1/-oX \
                web1/ 'web1:' 'web1:0' 'web1:65536' 'web1:22x' '[::1' '[::1]22' 'root@-oX' 'a;b' 'a$(b)'; do
                refused 2 '^ktracectl: -H.*(expected|at most)' user ktracectl -H "$name" list
        done
        refused 1 '^ktracectl: -H @web1: cannot be read: ' user ktracectl -H @web1 list
        refused 2 'copy the file' user ktracectl -H web1 report trace.dat
        refused 2 'node_exporter of this machine' user ktracectl -H web1 metrics -o x.prom
        refused 2 'read here' user ktracectl calls -H web1 x.kts
        [ ! -e called ] || fail "ssh was called"
        user ktracectl calls -c -H web1/web >out 2>err || true # the container is what it traces
        [ -e called ] || fail "ssh was not called: $(cat err)"
}

case_remote_interrupt() { # ^C ends a recording there as it ends one here
        with_sshd
        calls_after user start
        recording user ktracectl -H web1 record -e raw_syscalls:sys_enter -f 'id == 1000' -p "$BACKGROUND" -o t.dat
        : >start
        ends_well 70
        same 70 "$(count t.dat '.fields.id == 1000')" calls
        grep -q 't.dat: 70 events' background.err || fail "$(cat background.err)"
        within 10 no_session || fail "the session stays"
}

case_remote_broken() { # the session ends with the connection, and what came before is kept
        with_sshd
        recording user ktracectl -H web1 record -e raw_syscalls:sys_enter -o t.kts -- \
                sh -c 'while :; do :; done; exec sleep 1'
        kill -KILL "$(cat ssh-pid)"
        wait "$RECORDING" && fail "it succeeds" || same 125 $? status
        within 10 no_session || fail "the session stays"
        grep -q '^ktracectl: web1: the connection broke' background.err || fail "$(cat background.err)"
        [ "$(count t.kts '.event == "sys_enter"')" -gt 0 ] || fail "the events are lost"
}

case_remote_stalled() { # [deep] a stalled network ends the session after 30 s, and the near side says so
        with_sshd
        calls_after user start
        recording user ktracectl -H web1 record -e raw_syscalls:sys_enter -p "$BACKGROUND" -o t.kts
        kill -STOP "$(cat ssh-pid)"
        sleep 20
        is_running || fail "it ended too early"
        within 25 no_session || fail "the session stays"
        wait "$RECORDING" && fail "it succeeds" || same 1 $? status
        grep -q 'web1: no answer for 30 s' background.err || fail "$(cat background.err)"
}

case_remote_equal() { # [deep] every event of a big stream comes over -H, once
        local n=200000 where
        with_sshd
        for where in '' '-H web1'; do
                # shellcheck disable=SC2086 # two words
                expect 0 user ktracectl $where record -b 32768 -e raw_syscalls:sys_enter -f 'id == 1000' \
                        -o t.kts -- "$TARGET" calls $n 1000
                grep -q ' none lost' err || fail "$(cat err)"
                same $n "$(count t.kts '.fields.id == 1000')" "events of record $where"
        done
}

case_remote_flight() { # record --flight -H writes each snapshot to a file here, and the recording goes on
        with_sshd
        mkfifo go
        chmod 666 go
        recording user ktracectl record -H web1 --flight --snapshot-on SIGUSR1 --snapshot-on exit -o t.kts \
                -e raw_syscalls:sys_enter -f 'id >= 1000' -- \
                sh -c "$TARGET calls 10 1000; read line <$T/go; $TARGET calls 5 1001; exit 7"
        within 30 recorded 10 || fail "not recorded"
        kill -USR1 "$RECORDING"
        within 30 grep -q 't.kts: 10 events' background.err || fail "no snapshot: $(cat background.err)"
        same 10 "$(count t.kts '.fields.id == 1000')" "calls in the first while the recording goes on"
        echo >go
        wait "$RECORDING" || same 7 $? status
        same '10 5' "$(count t.1.kts '.fields.id == 1000') $(count t.1.kts '.fields.id == 1001')" "calls in the second"
        grep -q '^ktracectl: t.1.kts: 15 events' background.err || fail "$(cat background.err)"
        [ ! -e t.2.kts ] || fail "a third"
        user ktracectl report --receipt --json=short t.1.kts | jq -e '.clock.comparisons >= 1' >matched ||
                fail "no clocks in the receipt"
        # The end of the command is the default. Nothing is left, and nothing is kept that was not asked for.
        expect 0 user ktracectl -H web1 record --mode flight -o e.dat -e raw_syscalls:sys_enter -f 'id >= 1000' \
                -- "$TARGET" calls 7 1000
        same 7 "$(trace-cmd report -i e.dat 2>/dev/null | grep -c 'NR 1000')" "calls in e.dat"
        expect 0 user ktracectl -H web1 record --flight --snapshot-on SIGUSR1 -o none.kts -e raw_syscalls:sys_enter \
                -- true
        grep -q 'no snapshot was asked for' err || fail "$(cat err)"
        refused 127 'cannot run' user ktracectl -H web1 record --flight -o none.kts -e raw_syscalls:sys_enter \
                -- /no/such
        [ ! -e none.kts ] || fail "a file without a snapshot"
        expect 0 user ktracectl -H web1 record --flight -o - -e raw_syscalls:sys_enter -f 'id == 1000' -- \
                "$TARGET" calls 3 1000
        same 3 "$(grep -c 'NR 1000' out)" printed
        echo '{"mode":"flight"}' >spec.json
        refused 2 'write --flight in the command line' user ktracectl -H web1 record --spec "$T/spec.json" -o none.kts \
                -e raw_syscalls:sys_enter -- true
        refused 2 '-H web1,web1:1: expected no --flight' \
                user ktracectl -H web1,web1:1 record --flight -o many -e raw_syscalls:sys_enter -- true
        no_session || fail "a session is left"
}

case_remote_session() { # -H reads the stream and the snapshot of a session there
        with_sshd
        # It stays, so that the snapshot knows whose records they are.
        background user setpriv --no-new-privs sh -c \
                "until [ -e start ]; do sleep 0.1; done; '$TARGET' calls 70 1000; sleep 100"
        user ktracectl create --scope "pids:$BACKGROUND" -e raw_syscalls:sys_enter -f 'id == 1000' \
                --lifetime linger:60s far
        user ktracectl create --scope "pids:$BACKGROUND" -e raw_syscalls:sys_enter -f 'id == 1000' \
                --mode flight --lifetime linger:60s ring
        user ktracectl -H web1 start far ring
        : >start
        within 20 sh -c 'ktracectl show --json=short ring | jq -e ".statistics.recorded >= 70"' || fail "no events"
        expect 0 user ktracectl -H web1 snapshot ring -o ring.dat
        same 70 "$(count ring.dat '.fields.id == 1000')" "calls of the snapshot"
        user ktracectl -H web1 stop far
        background user ktracectl -H web1 stream far --to json
        within 20 sh -c '[ "$(grep -c "\"id\":1000" background.out)" = 70 ]' ||
                fail "not 70 calls: $(cat background.err)"
        user ktracectl -H web1 destroy far ring
        wait "$BACKGROUND" || fail "stream: status $?: $(cat background.err)"
}

case_remote_spool() { # -H records to the disk there, and fetches the recording from it
        with_sshd
        expect 0 user ktracectl -H web1 record --spool -e raw_syscalls:sys_enter -f 'id == 1000' -- \
                "$TARGET" calls 70 1000
        [ -z "$(find . -name '*.dat')" ] || fail "a file is left here"
        set -- "$(user ktracectl -H web1 spool list --json=short | jq -r '.[0].id')"
        expect 0 user ktracectl -H web1 spool fetch "$1"
        same 70 "$(count "$1.kts" '.fields.id == 1000')" "calls of $1.kts"
        expect 0 user ktracectl spool fetch "$1" -H web1 -o t.dat
        same 70 "$(count t.dat '.fields.id == 1000')" "calls of t.dat"
        refused 2 'expected a file' user ktracectl spool fetch "$1" -H web1 -o .
        refused 2 'no file can have this name' user ktracectl spool fetch ../x -H web1
        refused 1 'no such recording' user ktracectl spool fetch 0123456789abcdef -H web1
        [ ! -e 0123456789abcdef.kts ] || fail "a file of nothing"
        expect 0 user ktracectl -H web1 spool remove "$1"
}

case_remote_versions() { # the side that is too old is named, and an answer that is none is shown
        local protocol oldest expected
        use_ssh 'echo "ktracectl: serve: no such verb" >&2; exit 2'
        expect 1 user ktracectl -H web1 list
        grep -q 'web1: ktracectl there is too old for -H' err || fail "$(cat err)"
        use_ssh 'exit 127'
        refused 1 'web1: ktracectl is not installed there' user ktracectl -H web1 list
        use_ssh 'exit 255'
        refused 125 'web1: ssh cannot connect' user ktracectl -H web1 record -e 'raw_syscalls:*' -- true
        use_ssh 'echo "Welcome to web1"'
        refused 1 'web1: expected a packet of ktracectl, got "Welcome to web1"' user ktracectl -H web1 list
        # PROTOCOL OLDEST EXPECTED
        while read -r protocol oldest expected; do
                python3 - "$protocol" "$oldest" >answer <<'END'
import json, struct, sys
text = json.dumps({"protocol": int(sys.argv[1]), "oldest": int(sys.argv[2]), "version": "9.\x1b[31m"}).encode()
sys.stdout.buffer.write(b"KT" + struct.pack("<BBI", 1, 0, len(text)) + text)
END
                use_ssh "cat '$T/answer'"
                refused 1 "$expected" user ktracectl -H web1 list
                ! grep -q "$(printf '\033')" err || fail "a control character in $(cat -v err)"
        done <<'END'
0 0 no range of protocols
99 99 do not understand each other: the one here is too old
1 1 the connection broke
END
}
