# SPDX-License-Identifier: LGPL-2.1-or-later
# ktracectl -H a,b: several machines, each with a network and an sshd of its own.
. "$here/machines.sh"

# of FILTER: a value of the manifest.
of() { jq -r "$1" t/manifest.json; }

case_hosts_command() { # [smoke] -H a,b,c runs a command on each machine and makes a file of each
        local i
        with_machines 3
        expect 0 user ktracectl -H web1,web2,web3 record -o t -e raw_syscalls:sys_enter -f 'id == 1000' -- \
                sh -c "echo \"it is \$MACHINE\"; exec '$TARGET' calls 70 1000"
        same 'web1: it is web1 web2: it is web2 web3: it is web3' "$(sort out | xargs)" output
        same '1 true true' "$(of '"\(.version) \(.start < .end) \(.machines | all(.state == "complete"))"')" manifest
        for i in 1 2 3; do
                same 70 "$(count "t/web$i.kts" '.fields.id == 1000')" "calls of web$i"
                same "web$i web$i.kts 70 0 0" \
                        "$(of ".machines[$i - 1] | \"\(.host) \(.file) \(.events) \(.lost) \(.status)\"")" "web$i"
                # One kernel, so one clock: the offset is within the bound.
                same true "$(of ".machines[$i - 1] | .clock | length >= 1 and
                        all(.bound > 0 and .bound < 1e9 and (.boot | fabs) <= .bound)")" "clock of web$i: $(of .)"
        done
        clocks_agree t/web1.kts
        clocks_agree t/web3.kts
        # All began at one time: the spread is what Start takes.
        same true "$(of '[.machines[].started - .start] | all(. > -1e6 and . < 3e9)')" "$(of .)"
}

case_hosts_partial() { # [deep] machines that fail, or are slow, do not delay the others, and each is named
        with_machines 2
        # web3 cannot be reached, web4 is old, web5 never answers, and web6 may not record this.
        use_ssh "case \"\$*\" in
*web3*) echo 'no route to web3' >&2; exit 255 ;;
*web4*) printf 'KT\\001\\000\\060\\000\\000\\000{\"protocol\": 1, \"oldest\": 1, \"version\": \"0.0.1\"}'; sleep 100 ;;
*web5*) exec sleep 100 ;;
*web6*) exec ssh -F '$T/ssh-config' -axT -- web2 env -u DBUS_SYSTEM_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS=unix:path=/x \
        ktracectl serve ;;
*) exec ssh -F '$T/ssh-config' \"\$@\" ;;
esac"
        printf '# all machines\n web1 \nweb2 # two\n\nweb3\nweb4\nweb5\nweb6\n' >hosts
        SECONDS=0
        expect 4 user ktracectl -H @hosts record -o t -e raw_syscalls:sys_enter -f 'id == 1000' -- \
                "$TARGET" calls 70 1000
        grep -q '^ktracectl: web3: ssh cannot connect: no route to web3$' err || fail "web3: $(cat err)"
        grep -q '^ktracectl: web4: .*too old' err || fail "web4: $(cat err)"
        grep -q '^ktracectl: web5: no connection within 30 s$' err || fail "web5: $(cat err)"
        grep -q '^ktracectl: web6: ' err || fail "web6: $(cat err)"
        same 'complete complete failed failed failed failed' "$(of '.machines[].state' | xargs)" states
        same 70 "$(count t/web2.kts '.fields.id == 1000')" calls
        same 'manifest.json web1.kts web2.kts' "$(ls t | xargs)" files
        # web5 takes 30 s to fail. The others waited 5 s for it.
        same true "$(of '(.start - .machines[0].clock[0].at) / 1e9 | . > 4 and . < 9')" "$(of .)"
        [ "$SECONDS" -lt 45 ] || fail "it took $SECONDS s"
}

case_hosts_interrupt() { # ^C ends the recording on all machines
        with_machines 2
        calls_after user start
        recording user ktracectl -H web1,web2 record -e raw_syscalls:sys_enter -f 'id == 1000' -p "$BACKGROUND" -o t
        within 30 sh -c '[ "$(grep -c ": recording$" background.err)" = 2 ]' || fail "$(cat background.err)"
        : >start
        ends_well 70
        same 140 "$(jq '[.machines[].events] | add' t/manifest.json)" events
        same 'arming armed recording ending done' \
                "$(sed -n 's/^ktracectl: web1: //p' background.err | xargs)" "states of web1"
        within 10 no_session || fail "a session stays"
}

case_hosts_broken() { # a machine that is cut off keeps what came, and the others go on
        with_machines 2
        calls_after user start
        recording user ktracectl -H web1,web2 record -e raw_syscalls:sys_enter -p "$BACKGROUND" -o t
        within 30 sh -c '[ "$(grep -c ": recording$" background.err)" = 2 ]' || fail "$(cat background.err)"
        : >start
        within 30 recorded 70 || fail "few events"
        sleep 1
        kill -KILL "$(pgrep -f "ssh.* web2 ktracectl serve" -u "$USER_UID" | head -1)"
        within 20 grep -q 'web2: the connection broke' background.err || fail "$(cat background.err)"
        kill -INT "$RECORDING"
        wait "$RECORDING" && fail "it succeeds" || same 4 $? status
        same 'complete cut' "$(of '.machines[].state' | xargs)" states
        [ "$(count t/web2.kts '.event == "sys_enter"')" -gt 0 ] || fail "the events are lost"
        within 10 no_session || fail "a session stays"
}

case_hosts_refused() { # lists of machines, directories and options that make no sense are refused
        local words
        use_ssh "echo called >'$T/called'"
        set -- record -e 'raw_syscalls:*'
        user mkdir full
        user touch full/file
        : >empty
        for words in '-H a,' '-H ,a' '-H a,a' '-H a,-oX' '-H a,b/' '-H @empty' '-H a,b --to dat' '-H a,b --spool'; do
                # shellcheck disable=SC2086 # several words
                refused 2 '^ktracectl: -H.*expected' user ktracectl "$@" $words -o t -- true
        done
        refused 2 'expected -o DIRECTORY' user ktracectl "$@" -H a,b -- true
        refused 2 'expected no --json' user ktracectl "$@" -H a,b --json -o t -- true
        refused 2 'expected -o DIRECTORY' user ktracectl "$@" -H a,b -o - -- true
        refused 1 'cannot be read: No such file' user ktracectl "$@" -H @nosuch -o t -- true
        refused 1 'full: it is not empty' user ktracectl "$@" -H a,b -o full -- true
        refused 1 'empty: Not a directory' user ktracectl "$@" -H a,b -o empty -- true
        refused 2 'expected one machine' user ktracectl calls -H a,b -- true
        [ ! -e called ] || fail "ssh was called"
        [ ! -e t ] || fail "a directory is left"
        use_ssh 'exit 255'
        expect 125 user ktracectl -H "a,b%c:22" "$@" -o t -- true
        grep -q '^ktracectl: b%c:22: ssh cannot connect$' err || fail "$(cat err)"
}

case_hosts_report() { # report DIRECTORY prints all machines on one time line, and marks what is not certain
        with_machines 2
        # A client on web1 and a server on web2: each call of the one is before a call of the other.
        expect 0 user ktracectl -H web1,web2 record -q -o t -e raw_syscalls:sys_enter -f 'id == 1000' -- \
                "$TARGET" calls 20 1000
        expect 0 user ktracectl report t
        same 2 "$(grep -cE '^# web[12]: complete, 20 events, clock \+-[0-9]+ us at the start, .* us at most$' out)" \
                "head: $(head -3 out)"
        for i in 1 2; do
                same 20 "$(grep -cE "^web$i  ?[ ~] +target-[0-9]+ +\[[0-9]+\] +[0-9.]+: sys_enter: +NR 1000 " out)" \
                        "web$i"
        done
        expect 0 user ktracectl report t --json
        same '40 true' "$(jq -cs '[.[] | select(.event)] | "\(length) \(map(.ts) == (map(.ts) | sort))"' -r out)" order
        # All share one clock, so a pair that is not certain is closer than its bounds.
        same true "$(jq -cs '[.[] | select(.event)] | . as $all | [range(0; length) as $i | $all[$i] as $b |
                ([$all[:$i][] | select(.machine != $b.machine and $b.ts - .ts < .bound + $b.bound)] != []) ==
                ($b.uncertain // false)] | all' out)" marks
        expect 0 user ktracectl report t --wall --event sys_enter --cpu 0-4095
        same 40 "$(grep -cE ' [0-9-]{10}T[0-9:]{8}\.[0-9]{6}Z: ' out)" times
        expect 0 user ktracectl report t --last 1h
        same 40 "$(grep -c sys_enter out)" "events of the last hour"
        refused 2 'no event lies between' user ktracectl report t --from 1h
        refused 2 '--receipt is for one machine' user ktracectl report t --receipt
        refused 2 '--jobs is for one machine' user ktracectl report t --jobs 2
        user cp t/web2.kts whole.kts
        user truncate -s 100 t/web2.kts
        refused 4 '^ktracectl: web2.kts: cut before the end of its metadata' user ktracectl report t
        same 20 "$(user ktracectl report t 2>err | grep -c '^web1 .* sys_enter: ')" "the other machine"
        user cp whole.kts t/web2.kts
        refused 1 'manifest.json: cannot be read' user ktracectl report .
        jq '.machines[1].state = "cut" | .machines[1].message = "lightning"' t/manifest.json >m
        user cp m t/manifest.json
        refused 4 '^ktracectl: web2: cut: lightning$' user ktracectl report t
        jq '.machines[1].file = "../web2.kts"' t/manifest.json >m
        user cp m t/manifest.json
        refused 2 "file: expected the host's name and .kts" user ktracectl report t
}

case_hosts_views() { # summary and pages of several machines
        with_machines 2
        expect 0 user ktracectl -H web1,web2 record -q -o t -e raw_syscalls:sys_enter -f 'id == 1000' -- \
                "$TARGET" calls 20 1000
        expect 0 user ktracectl summary t
        same 'web1 web2' "$(sed -nE 's/^(web[12]): .* 20 events, 0 lost.*/\1/p' out | xargs)" "$(cat out)"
        expect 0 user ktracectl summary t --json=short
        same '"web1 20" "web2 20"' "$(jq -c '"\(.machine) \(."total-events")"' out | xargs -d '\n')" "$(cat out)"
        rm t/web1.kts
        expect 4 user ktracectl summary t
        grep -q '^ktracectl: web1.kts: No such file' err || fail "$(cat err)"
        grep -q '^web2: ' out || fail "the other one is missing: $(cat out)"
        expect 4 user ktracectl convert t --to html -o pages
        same 'index.html web2.html' "$(ls pages | xargs)" files
        grep -q '<a href="web2.html">web2</a>' pages/index.html || fail "$(cat pages/index.html)"
        grep -q '<td>web1<td>' pages/index.html || fail "$(cat pages/index.html)"
}

case_hosts_snapshot() { # [deep] flight recorders of several machines: all snapshots are taken at one time
        with_machines 2
        background user setpriv --no-new-privs sh -c \
                "until [ -e start ]; do sleep 0.1; done; '$TARGET' calls 70 1000; touch called; sleep 100"
        # Both have one daemon, so there is one session.
        user ktracectl create box --mode flight -p "$BACKGROUND" -e raw_syscalls:sys_enter -f 'id == 1000'
        user ktracectl start box
        : >start
        within 30 test -e called || fail "no calls"
        expect 0 user ktracectl snapshot -q -H web1,web2 -o t box
        same '70 70' "$(count t/web1.kts '.fields.id == 1000') $(count t/web2.kts '.fields.id == 1000')" calls
        same 'complete complete' "$(of '.machines[].state' | xargs)" states
        same true "$(of '[.machines[].started - .start] | all(. > -1e6 and . < 3e9)')" "one time: $(of .)"
        expect 0 user ktracectl report t
        same 140 "$(grep -c ' sys_enter: ' out)" "events on one time line"
        expect 4 user ktracectl snapshot -q -H web1,web9 -o u box
        same 'manifest.json web1.kts' "$(ls u | xargs)" files
        expect 1 user ktracectl snapshot -q -H web1,web2 -o v other
        same 1 "$(grep web2 err | grep -c 'other: no session has this name or id')" "errors of web2: $(cat err)"
        grep -q '^ktracectl: web2: failed$' err || fail "$(cat err)"
        [ ! -e v ] || fail "a directory without recordings is left"
        refused 2 'expected no --cpu' user ktracectl snapshot -H web1,web2 --cpu 0 -o v box
        refused 2 'expected -o DIRECTORY' user ktracectl snapshot -H web1,web2 box
        user ktracectl destroy box
}

case_hosts_verbs() { # [deep] verbs that write no file run on each machine, in the order of -H
        with_machines 3
        # All have one daemon, so each lists the same session.
        expect 0 user ktracectl create -H web1 --scope own -e 'raw_syscalls:*' --lifetime linger:60s box
        expect 0 user ktracectl -H web3,web1,web2 list --no-pager
        same 'web3 web1 web2' "$(cut -d: -f1 out | uniq | xargs)" "machines in $(cat out)"
        expect 0 user ktracectl -H web3,web1 list --json=short
        same '["web3","web1"] [0,0] [1,1]' \
                "$(jq -rc '"\(map(.machine)) \(map(.status)) \(map(.output | length))"' out)" "$(cat out)"
        expect 4 user ktracectl -H web1,web9 list
        grep -q '^ktracectl: web9: ssh cannot connect$' err || fail "$(cat err)"
        grep -q '^web1: ' out || fail "no list of web1: $(cat out)"
        refused 2 'writes one output' user ktracectl -H web1,web2 spool fetch x
        expect 0 user ktracectl -H web1,web2 spool list
        refused 2 'standard input' user ktracectl -H web1,web2 create --spec -
        # The other one may already have the session's identifier.
        refused 4 'web[13]: ktracectl: (box: |.*: no such session)' user ktracectl -H web1,web3 destroy box
        no_session || fail "a session stays"
}

case_hosts_cookbook() { # ktrace-cookbook(7): which of several machines was first
        with_machines 2
        example ktrace-cookbook.7 'Which machine was first?'
}

case_hosts_many() { # [deep] 500 simulated machines: memory and time grow with their number only
        [ -e "$here/../client/hosts/test_hosts.py" ] || skip "the simulated machines are not in the guest"
        user "$here/../client/hosts/test_hosts.py" "$(command -v ktracectl)" 50 200 500
}
