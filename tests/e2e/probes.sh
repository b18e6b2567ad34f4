# SPDX-License-Identifier: LGPL-2.1-or-later
# Probes: the description of functions, what a definition records, and the removal.

case_probes_resolve() { # probes resolve shows the signature and usable arguments; a mistake gets similar names
        expect 0 ktracectl probes resolve tcp_sendmsg
        grep -qF 'int tcp_sendmsg(struct sock *sk, struct msghdr *msg, size_t size)' out || fail "$(cat out)"
        grep -qE '^  sk\.__sk_common\.skc_dport +(__be16|unsigned short)$' out || fail "no dport"
        grep -qE '^  \$retval +int$' out || fail "no \$retval"
        expect 1 ktracectl probes resolve tcp_sendmsgs
        grep -q 'did you mean.*tcp_sendmsg' err || fail "$(cat err)"
        expect 1 ktracectl probes resolve no_function_is_called_like_this
        grep -q 'inlined' err || fail "$(cat err)"
        expect 2 ktracectl probes resolve 'tcp sendmsg'
}

case_probes_denied() { # a user who may not define probes cannot find out whether a function exists
        probe_rule '{}'
        expect 3 user ktracectl probes resolve tcp_sendmsg
        sed s/tcp_sendmsg/NAME/ err >first
        expect 3 user ktracectl probes resolve no_function_is_called_like_this
        same "$(cat first)" "$(sed s/no_function_is_called_like_this/NAME/ err)" "the words"
        same '[]' "$(user ktracectl --json=short probes list)" "the catalogue"
        refused 1 'no such probe' user ktracectl record --probe file_open -o t.kts -- true
        refused 3 'probes: vfs_read: not granted' user ktracectl probes add mine --on vfs_read count
}

case_probes_of_rules() { # [guest] a rule limits the functions and the arguments that a user may probe
        probe_rule '{"functions": ["vfs_*", "tcp_sendmsg"], "except": ["*_write"], "takes": ["values"]}'
        expect 0 user ktracectl probes resolve vfs_read
        refused 3 'probes: vfs_write: not granted by 10-probes.json: case' user ktracectl probes add bad \
                --on vfs_write count
        refused 3 'probes: ext4_sync_fs: not granted' user ktracectl probes add bad --on ext4_sync_fs wait
        expect 3 user ktracectl probes add bad --on tcp_sendmsg sk.__sk_common.skc_dport
        grep -q 'probes: members: not granted' err || fail "$(cat err)"
        # Half of a pointer also needs the right to read memory.
        kprobes
        expect 3 user ktracectl probes add bad --on vfs_read 'file : u32'
        expect 3 user ktracectl probes add bad --raw 'p:bad vfs_read a=+0($arg1):u64'
        ! prints '"bad"' ktracectl --json probes list || fail "a probe is defined"
}

kprobes() { # the rest of the case is for kernels that have them
        [ -e "$TRACEFS/kprobe_events" ] || skip "this kernel has no kprobes"
}

# refuses COLUMN PATTERN FUNCTION ARG: the definition is refused with the reason and a caret below the column.
refuses() {
        local column=$1 pattern=$2
        expect 2 ktracectl probes add bad --on "$3" -- "$4"
        head -n 1 err | matches -E -- "$pattern" || fail "no '$pattern': $(cat err)"
        same "$(printf '%*s^' $((column + 1)) '')" "$(tail -n 1 err)" "the caret below $4"
}

case_probes_mistakes() { # [asan] each mistake in a definition is reported with its place, and nothing is defined
        refuses 4 'struct sock has no member __sk_comon: did you mean __sk_common' tcp_sendmsg sk.__sk_comon.skc_dport
        refuses 1 'tcp_sendmsg has no argument sock: did you mean sk|it has sk, msg, size' tcp_sendmsg sock
        refuses 8 'no type u7' tcp_sendmsg 'size : u7'
        refuses 1 'define the probe with --return' tcp_sendmsg '$retval'
        refuses 1 'as a whole' tcp_sendmsg sk.__sk_common
        refused 2 'a letter first' ktracectl probes add 9bad --on tcp_sendmsg
        refused 2 'probes of ktraced itself begin with' ktracectl probes add ktrace_history_done --on tcp_sendmsg
        refused 1 'did you mean' ktracectl probes add bad --on tcp_sendmsgs
        refused 2 'on: missing|--on FUNCTION' ktracectl probes add bad
        # A caret is below the column.
        expect 2 ktracectl probes add bad --raw 'e:x sched.sched_switch'
        grep -q -e '--raw .* column 1: expected "p:NAME FUNCTION' err || fail "$(cat err)"
        local kind
        for kind in f:x f10:x f t:x; do
                expect 2 ktracectl probes add bad --raw "$kind vfs_read"
                grep -q -e '--raw .* column 1: .* does not count hits and misses of f: and t:' err || fail "$(cat err)"
        done
        expect 2 ktracectl probes add bad --raw 'p:x vfs_read a=$arg1 # b'
        grep -q 'raw.*#' err || fail "$(cat err)"
        refused 1 'no such probe' ktracectl probes remove bad
        refused 1 'no such probe' ktracectl record --probe bad -- true
        ! prints '"bad"' ktracectl --json probes list || fail "a probe is defined"
}

case_probes_raw_names() { # [guest smoke] --raw accepts $arg* and names of arguments where the kernel does
        grep -q '<argname>' "$TRACEFS/README" || skip "this kernel knows no names of arguments"
        ktracectl probes add every --raw 'p:x vfs_read $arg*' >/dev/null
        ktracectl probes add back --raw 'p:x vfs_read%return got=$retval:s64 count' >/dev/null
        ktracectl record --probe every --probe back -o - -- cat /etc/hostname >out
        grep -qE 'every.* count=(0x)?[0-9a-f]+ pos=' out || fail "no arguments: $(cat out)"
        grep -qE 'back.* got=[0-9]+ count=' out || fail "no return: $(cat out)"
        ktracectl verify || fail "the kernel's list differs"
        restart_daemon
        ktracectl --json=short probes list | jq -r '.[].name' | grep -xE 'back|every' | sort | xargs >names
        same 'back every' "$(cat names)" "probes after a restart"
        ktracectl probes remove every
        ktracectl probes remove back
}

case_probes_raw_mistakes() { # [guest] a mistake in a definition in the kernel's syntax is shown with its place
        raw() { # COLUMN STATUS PATTERN RAW
                expect "$2" ktracectl probes add bad --raw "$4"
                head -n 1 err | matches -E -- "$3" || fail "no '$3': $(cat err)"
                same "$(printf '%*s^' $(($1 + 1)) '')" "$(tail -n 1 err)" "the caret below $4"
        }
        raw 3 2 '^ktracectl: probe bad: --raw .* column 3: expected a group' 'p:/bar vfs_read'
        raw 7 2 '^ktracectl: probe bad: --raw .* column 7: expected a name' 'p:foo/1bar vfs_read'
        kprobes
        raw 32 1 '^ktracectl: probe bad: --raw .* column 32: the kernel refuses the probe: Unknown type' \
                'p:x   vfs_read a=$arg1 b=$arg1:u7'
        refused 1 'do_int3: the kernel forbids probes there \(kprobes/blacklist\)' ktracectl probes add bad \
                --raw 'p do_int3'
}

case_probes_values() { # [guest] a probe records the true texts, numbers, flags and results
        kprobes
        ktracectl probes add opening --on do_sys_openat2 filename 'flags = how.flags' dfd '$comm'
        ktracectl probes add opened --on do_sys_openat2 --return '$retval'
        echo text >a-file
        expect 0 ktracectl record -q --probe opening --probe opened -o t.kts -- cat a-file
        same 1 "$(count t.kts '.event == "opening" and .fields.filename == "a-file" and .fields.dfd == -100 and
                .fields.comm == "cat"')" "opens of a-file"
        same 0 "$(count t.kts '.event == "opening" and .fields.filename == "a-file" and .fields.flags % 4 != 0')" \
                "opens for writing"
        same 3 "$(ktracectl convert t.kts --to json |
                jq -s 'map(select(.event == "opened" and .fields.ret >= 0)) | .[-1].fields.ret')" "the descriptor"
        expect 0 ktracectl record -q --probe opening -f 'filename ~ "*a-file"' -o f.kts -- cat a-file
        same 1 "$(count f.kts true)" "what the filter lets through"
        ktracectl probes remove opening
        ktracectl probes remove opened
}

case_probes_kernel_says() { # [guest] an error that only the kernel finds is reported in its words, and nothing is left
        kprobes
        refused 1 'no instruction begins there' ktracectl probes add bad --on do_sys_openat2+4 %di
        # A caret is below the column.
        expect 1 ktracectl probes add bad --on do_sys_openat2 %nothing
        grep -q 'ARG .* column 1: the kernel refuses the probe' err || fail "$(cat err)"
        ! grep -q ktrace_u "$TRACEFS/kprobe_events" || fail "$(cat "$TRACEFS/kprobe_events")"
}

case_probes_shared() { # [guest] an identical probe is shared, its name is taken, and it stays while it is used
        kprobes
        same ktrace_u0:mine "$(ktracectl probes add mine --on vfs_read count)" "event"
        same ktrace_u0:mine "$(ktracectl probes add mine --on vfs_read count)" "event"
        refused 1 'defined otherwise' ktracectl probes add mine --on vfs_read
        ktracectl create held --probe mine --scope system
        same 1 "$(ktracectl --json probes show mine | jq .users)" "users"
        refused 1 '1 session has it' ktracectl probes remove mine
        ktracectl destroy held
        within 20 ktracectl probes remove mine
        ! grep -q ktrace_u "$TRACEFS/kprobe_events" || fail "it is left"
}

case_probes_return_arguments() { # [guest] a return probe has arguments and result, even without the kernel's copy
        kprobes
        echo text >a-file
        same ktrace_u0:opens "$(ktracectl probes add opens --on do_sys_openat2 \
                --return filename 'flags = how.flags : x64' 'fd = $retval' 2>reported)" "event"
        expect 1 ktracectl record -q --probe opens -o t.kts -- cat a-file no-such-file
        same 1 "$(count t.kts '.event == "opens" and .fields.filename == "a-file" and .fields.fd == 3')" "opened"
        same 1 "$(count t.kts '.event == "opens" and .fields.filename == "no-such-file" and .fields.fd == -2')" \
                "not opened"
        same 0 "$(count t.kts '.event != "opens"')" "other events"
        ktracectl probes remove opens
        if grep -q opens_call reported; then
                ktracectl probes remove opens_call
                ktracectl probes remove opens_return
        fi
        refused 1 'no_function_is_called' ktracectl probes add bad --on no_function_is_called_like_this \
                --return a '$retval'
        expect 2 ktracectl probes add bad --on do_sys_openat2 --return nothing '$retval'
        same "" "$(ktracectl --json=short probes list | jq -r '.[] | select(.source == "") | .name')" "what is defined"
}

case_probes_load() { # [deep guest] probes load takes all definitions of a file or none, and numbers the mistakes
        kprobes
        jq -n '{probes: [range(100) | {name: "many\(.)", on: "vfs_read", args: ["count"]}]}' >many.json
        expect 0 ktracectl probes load many.json
        same "100 ktrace_u0:many99" "$(wc -l <out) $(tail -n 1 out)" "events"
        expect 0 ktracectl probes load many.json
        same 100 "$(grep -c 'ktrace_u0/many' "$TRACEFS/kprobe_events")" "definitions"
        expect 0 ktracectl record -q --probe many0 --probe many99 -o t.kts -- cat /etc/hostname
        same "$(count t.kts '.event == "many0"')" "$(count t.kts '.event == "many99"')" "records of two"
        jq '.probes |= map(.name |= "x" + .) | .probes[70].args = ["nothing"]' many.json >bad.json
        refused 2 'probes\[70\]: .*args\[0\] column 1: vfs_read has no argument nothing' ktracectl probes load bad.json
        jq '.probes |= map(.name |= "x" + .) | .probes[70].on = "vfs_read+1" | del(.probes[70].args)' many.json \
                >bad.json
        refused 1 'xmany70: .*no instruction begins there' ktracectl probes load bad.json
        ! grep -q ktrace_u0/xmany "$TRACEFS/kprobe_events" ||
                fail "some of a file that is refused: $(grep -c xmany "$TRACEFS/kprobe_events")"
        same 0 "$(ktracectl --json probes list | jq 'map(select(.name | startswith("xmany"))) | length')" \
                "of a file that is refused"
        echo '{"probes": [{"name": "a", "on": "vfs_read"}, 7]}' >bad.json
        refused 2 'probes\[1\]: expected an object' ktracectl probes load bad.json
        echo '[]' >bad.json
        refused 2 'the list "probes" and nothing else' ktracectl probes load bad.json
        refused 1 'No such file' ktracectl probes load no-such-file
        for i in $(seq 0 99); do ktracectl probes remove "many$i"; done
}

case_probes_foreign_removal() { # [guest] a probe that another program removes is restored, and this is reported
        kprobes
        ktracectl probes add mine --on vfs_read count
        echo '-:ktrace_u0/mine' >>"$TRACEFS/kprobe_events"
        within 20 grep -q ktrace_u0/mine "$TRACEFS/kprobe_events" || fail "not restored"
        expect 0 ktracectl record -q --probe mine -o t.kts -- cat /etc/hostname
        [ "$(count t.kts '.event == "mine"')" -gt 0 ] || fail "nothing recorded"
        same defined "$(ktracectl --json probes show mine | jq -r .state)" "state"
        ktracectl probes remove mine
}

case_probes_crash() { # [guest] after a killed daemon the next one has the definitions and removes unused probes
        kprobes
        ktracectl probes add mine --on vfs_read count
        ktracectl create box --mode flight --scope system -b 64 --probe mine -f 'common_pid == 1'
        ktracectl start box
        echo 'p:ktrace_u0/nobodys vfs_read' >>"$TRACEFS/kprobe_events"
        grep -q ktrace_u0/mine "$TRACEFS/kprobe_events" || fail "not defined"
        kill -KILL "$(daemon_pid)"
        within 20 ktracectl list
        same running "$(ktracectl --json=short show box | jq -r .state)" "state"
        ! grep -q nobodys "$TRACEFS/kprobe_events" || fail "left: $(cat "$TRACEFS/kprobe_events")"
        same defined "$(ktracectl --json probes show mine | jq -r .state)" "state"
        refused 1 'has it|session' ktracectl probes remove mine
        ktracectl destroy box
        expect 0 ktracectl record -q --probe mine -o t.kts -- cat /etc/hostname
        [ "$(count t.kts '.event == "mine"')" -gt 0 ] || fail "nothing recorded"
        ktracectl probes remove mine
        kill -KILL "$(daemon_pid)"
        within 20 ktracectl list
        refused 1 'no such probe' ktracectl probes show mine
        ! grep -q ktrace_u0 "$TRACEFS/kprobe_events" || fail "left: $(cat "$TRACEFS/kprobe_events")"
}

# usable: the state of a correct entry: ready if the kernel has kprobes.
usable() {
        if [ -e "$TRACEFS/kprobe_events" ]; then
                echo ready
        else
                echo unavailable
        fi
}

case_probes_lists() { # the daemon's event loop never reads the kernel's lists of functions and types
        local pid before after
        ktracectl status >/dev/null
        pid=$(daemon_pid)
        [ -e "/proc/$pid/task/$pid/io" ] || skip "this kernel does not count what a thread reads"
        loop_reads() { sed -n 's/^rchar: //p' "/proc/$pid/task/$pid/io"; }
        sleep 6 # the daemon forgets the lists
        before=$(loop_reads)
        ktracectl probes list >/dev/null
        ktracectl policy explain - <<<'{"scope": "system", "probes": ["file_open"]}' >out || true # no kprobes
        for _ in 1 2 3 4; do
                refused 1 'inlined' ktracectl probes resolve no_function_is_called_like_this
                refused 1 'inlined' ktracectl probes add bad --on no_function_is_called_like_this
                refused 1 'inlined' ktracectl probes add bad --on no_function_is_called_like_this --return '$retval'
        done
        after=$(loop_reads)
        [ $((after - before)) -lt 3000000 ] || fail "the loop has read $((after - before)) bytes"
        same "$pid" "$(daemon_pid)" "the daemon"
}

case_probes_catalogue() { # every shipped probe works on this kernel
        ktracectl --json probes list >list
        same 11 "$(jq '[.[] | select(.source | endswith("probes.d/50-default.json"))] | length' list)" "entries"
        same '[]' "$(jq -c "[.[] | select(.state != \"$(usable)\")]" list)" "entries that are not $(usable)"
}

case_probes_catalogue_files() { # an administrator's file replaces a shipped one; its mistakes are reported
        trap files_end EXIT
        mkdir -p "$CONFIG_DIR/probes.d"
        : >"$CONFIG_DIR/probes.d/50-default.json"
        cat >"$CONFIG_DIR/probes.d/60-mine.json" <<EOS
{"probes": [{"name": "good", "on": "vfs_read", "args": ["count"]},
        {"name": "gone", "on": "vfs_no_such_function"},
        {"name": "moved", "on": "vfs_read", "args": ["file.f_nothing"]},
        {"name": "odd", "on": "vfs_read", "arguments": []}]}
EOS
        ktracectl policy reload
        ktracectl --json probes list >list
        same "good $(usable),gone broken,moved broken,odd broken" \
                "$(jq -r '[.[] | "\(.name) \(.state)"] | join(",")' list)" "the catalogue"
        jq -e 'any(.name == "moved" and (.why | test("args\\[0\\] column 6: struct file has no member f_nothing")))' \
                list || fail "$(cat list)"
        jq -e 'any(.name == "odd" and (.why | test("arguments")))' list || fail "$(cat list)"
        refused 1 'vfs_no_such_function' ktracectl record --probe gone -- true
        refused 2 'f_nothing' ktracectl record --probe moved -- true
        chmod 666 "$CONFIG_DIR/probes.d/60-mine.json"
        ktracectl policy reload
        same '[]' "$(ktracectl --json=short probes list)" "what anybody may have written"
        rm -r "$CONFIG_DIR/probes.d"
        ktracectl policy reload
        same 11 "$(ktracectl --json probes list | jq length)" "entries"
}

case_probes_catalogue_use() { # [guest] probes of the catalogue exist in the kernel only while a session uses them
        kprobes
        ktracectl create one --probe file_open --scope system
        ktracectl create two --probe file_open --scope system
        same 2 "$(ktracectl --json probes show file_open | jq .users)" "users"
        grep -q 'ktrace_catalogue/file_open' "$TRACEFS/kprobe_events" || fail "not defined"
        ktracectl destroy one
        grep -q 'ktrace_catalogue/file_open' "$TRACEFS/kprobe_events" || fail "gone with the first"
        ktracectl destroy two
        within 20 sh -c "! grep -q ktrace_catalogue $TRACEFS/kprobe_events" || fail "left"
}

# recorded PROBE EXPRESSION COMMAND...: a trace of all processes has a record of the probe with these values.
recorded() {
        local probe=$1 expression=$2
        shift 2
        expect 0 ktracectl record -q -a --probe "$probe" -o t.kts -- "$@"
        [ "$(count t.kts "$expression")" -gt 0 ] || fail "$probe: none with $expression: $(ktracectl report t.kts |
                tail -n 5)"
}

case_probes_catalogue_files_and_programs() { # [guest] opened files, programs, signals and page faults have true values
        kprobes
        echo text >a-file
        recorded file_open '.fields.filename == "a-file" and .fields.dfd == -100' cat a-file
        recorded file_opened '.fields.ret == -2' sh -c '! cat no-such-file'
        recorded exec '.fields.filename == "/usr/bin/true" and .fields.argc == 3' env /usr/bin/true a b
        sleep 60 &
        recorded signal_send ".fields.sig == 10 and .fields.pid == $! and .fields.comm == \"sleep\"" kill -USR1 $!
        recorded page_fault '.fields.address >= .fields.start and .fields.address < .fields.end' true
}

case_probes_catalogue_tcp() { # [guest] the catalogue records addresses and ports of TCP connections on both sides
        kprobes
        command -v python3 >/dev/null || skip "no python3"
        cat >talk.py <<'EOS'
import socket
a = socket.socket()
a.bind(("127.0.0.1", 0))
a.listen()
c = socket.create_connection(("127.0.0.1", a.getsockname()[1]))
s, _ = a.accept()
open("ports", "w").write(f"{c.getsockname()[1]} {a.getsockname()[1]}\n")
EOS
        expect 0 ktracectl record -q --probe tcp_connect --probe tcp_accept -o t.kts -- python3 talk.py
        read -r client server <ports
        same 1 "$(count t.kts ".event == \"tcp_connect\" and .fields.sport == $client and
                .fields.dport == $server and .fields.daddr == 2130706433")" "as JSON"
        ktracectl report t.kts >report
        grep -q "tcp_connect: .* family=2 sport=$client daddr=127\.0\.0\.1 dport=$server" report ||
                fail "$(cat ports report)"
        grep -q "tcp_accept: .* family=2 sport=$server daddr=127\.0\.0\.1 dport=$client" report ||
                fail "$(cat ports report)"
}

case_probes_catalogue_retransmit() { # [guest] the catalogue records TCP retransmits to a listener with a full queue
        kprobes
        command -v python3 >/dev/null || skip "no python3"
        cat >insist.py <<'EOS'
import socket, time
a = socket.socket()
a.bind(("127.0.0.1", 0))
a.listen(0)
waiting = []
for i in range(4):
    c = socket.socket()
    c.setblocking(False)
    c.connect_ex(a.getsockname())
    waiting.append(c)
time.sleep(2.5)
open("port", "w").write(f"{a.getsockname()[1]}\n")
EOS
        recorded tcp_retransmit '.fields.daddr == 2130706433 and .fields.state == 2' python3 insist.py
        [ "$(count t.kts ".fields.dport == $(cat port) and .fields.family == 2 and .fields.bytes == 0")" -gt 0 ] ||
                fail "$(cat port; ktracectl report t.kts)"
}

case_probes_catalogue_oom() { # [guest] the catalogue records which process the OOM killer ends
        kprobes
        command -v python3 >/dev/null || skip "no python3"
        new_cgroup /ktrace-oom
        echo 16777216 >"$CGROUP/memory.max" 2>/dev/null || skip "no memory controller"
        echo 0 >"$CGROUP/memory.swap.max" 2>/dev/null || true
        cat >eat.sh <<EOS
sh -c 'echo \$\$ >victim; echo \$\$ >$CGROUP/cgroup.procs; exec python3 -c "x = b\"x\" * (64 << 20)"' || true
EOS
        recorded oom_kill '.fields.comm == "python3"' sh eat.sh
        same "$(cat victim)" "$(ktracectl convert t.kts --to json |
                jq -r 'select(.event == "oom_kill") | .fields.pid')" "the victim"
}

case_probes_of_users() { # [deep guest] a user can trace own processes with own and shipped probes; addresses are hidden
        kprobes
        probe_rule '{"use": ["file_open"], "functions": ["vfs_read"], "takes": ["values"]}'
        same "ktrace_u$USER_UID:mine" "$(user ktracectl probes add mine --on vfs_read count file)" "event"
        same '["file_open","mine"]' "$(user ktracectl --json=short probes list | jq -c 'map(.name) | sort')" \
                "what the user sees"
        same '[]' "$(stranger ktracectl --json probes list | jq -c 'map(select(.name == "mine"))')" \
                "what a stranger sees"
        echo text >a-file
        background stranger sh -c 'while cat /etc/hostname >/dev/null; do :; done'
        expect 0 user ktracectl record -q --probe mine --probe file_open -o t.kts -- cat a-file
        same 1 "$(count t.kts '.event == "file_open" and .fields.filename == "a-file"')" "opens of a-file"
        [ "$(count t.kts '.event == "mine" and .fields.count > 0')" -gt 0 ] || fail "no reads"
        same 0 "$(count t.kts \
                '.event == "mine" and (.fields.file | tostring | test("^(0|0x0|\\(nil\\)|0+)$") | not)')" "addresses"
        same 0 "$(count t.kts '.event == "file_open" and .fields.filename == "/etc/hostname"')" \
                "what the stranger opens"
        refused 1 'no such probe' user ktracectl record --probe signal_send -o t.kts -- true
        refused 1 'no such probe' stranger ktracectl record --probe mine -o /dev/null -- true
        expect 3 stranger ktracectl record -e "ktrace_u$USER_UID:mine" -o /dev/null -- true
        user ktracectl probes remove mine
}

case_probes_ask() { # by the shipped rules a definition requires an administrator's password
        expect 3 user ktracectl --no-ask-password probes add mine --on vfs_read count
        grep -q 'authentication' err || fail "$(cat err)"
        ! prints '"mine"' ktracectl --json probes list || fail "it is defined"
        refused 3 'probes: get_random_bytes: not granted' user ktracectl probes add mine --on get_random_bytes len
}

case_probes_rule() { # a rule's list of arguments cannot be bypassed by casts, registers or numbers
        mkdir -p "$CONFIG_DIR/policy.d"
        cat >"$CONFIG_DIR/policy.d/10-case.json" <<EOS
{"rules": [{"name": "probers", "subjects": [{"uid": $USER_UID}],
        "probes": {"use": ["exec"], "functions": ["vfs_*"], "except": ["vfs_write"], "takes": ["values"]}}]}
EOS
        ktracectl policy reload
        add() { user ktracectl probes add mine --on "$@"; }
        refused 3 'vfs_write: not granted by' add vfs_write count
        refused 3 'tcp_sendmsg: not granted by' add tcp_sendmsg size
        refused 3 'no_such_function: not granted by' add no_such_function size
        refused 3 'members: not granted by' add vfs_read 'file.f_flags'
        refused 3 'strings: not granted by' add vfs_read 'buf : string'
        refused 3 'raw: not granted by' add vfs_read '((struct file *)count).f_flags'
        refused 3 'raw: not granted by' add vfs_read 'count : string'
        refused 3 'raw: not granted by' add vfs_read '%di'
        refused 3 'not granted by' user ktracectl probes add mine --raw 'p:x vfs_read a=+0($arg3):x64'
        same '["exec"]' "$(user ktracectl --json=short probes list | jq -c 'map(.name)')" "what the user is shown"
        expect 0 user ktracectl probes resolve vfs_read
        if [ -e "$TRACEFS/kprobe_events" ]; then
                same "ktrace_u$USER_UID:mine" "$(add vfs_read count)" "event"
                refused 1 'no such probe' stranger ktracectl probes remove "ktrace_u$USER_UID:mine"
                user ktracectl probes remove mine
        fi
        rm "$CONFIG_DIR/policy.d/10-case.json"
        ktracectl policy reload
        expect 3 add vfs_read count
}

case_readme_probes() { # [guest smoke] README: a probe by the names in the kernel's source, and a preview of a spec
        same sched:sched_process_fork "$(user ktracectl --json=short policy explain \
                - <<<'{"scope": "own", "events": ["sched:*"]}' |
                jq -r '.events[].name' | grep fork)" "what is granted of sched:*"
        kprobes
        ktracectl probes add reads --on vfs_read count 'name = file.f_path.dentry.d_name.name'
        expect 0 ktracectl record -q --probe reads -o reads.dat -- head -n 1 /etc/hostname
        ktracectl report reads.dat >out
        grep -q 'reads:.*name="hostname"' out || fail "$(cat out)"
        ktracectl probes remove reads
}
