# SPDX-License-Identifier: LGPL-2.1-or-later
# Probes compared with other tracing tools, which record the same calls at the same time: the values must be equal.

# beside PROGRAM: bpftrace traces the calls of the command `peer` and writes a line for each to ./peer.
# Its output is in ./theirs, sorted, when stop_peer returns.
beside() {
        cat >peer.bt <<<"BEGIN { printf(\"watching\\n\"); } $1"
        background bpftrace -q peer.bt
        PEER=$BACKGROUND
        within 60 grep -q watching background.out || fail "bpftrace: $(cat background.err)"
}
# bpftrace checks for an interrupt only when its wait for events was interrupted. A signal during its output is lost.
stop_peer() {
        for _ in 1 2 3; do
                kill -INT "$PEER" 2>/dev/null || break
                ! within 30 sh -c "! kill -0 $PEER 2>/dev/null" || break
        done
        ! kill -0 "$PEER" 2>/dev/null || fail "bpftrace does not end"
        wait "$PEER" || fail "bpftrace: status $?"
        grep -v -e watching -e '^$' background.out | sort >theirs || true
        [ -s theirs ] || fail "bpftrace has seen nothing"
}

# ours EXPRESSION: prints a line for each record.
ours() { ktracectl convert t.kts --to json | jq -r "select(.event != null) | $1" | sort >ours; }

agree() {
        diff -u theirs ours >differences || fail "$1: $(head -n 20 differences)"
}

case_peers_bpftrace_members() { # [deep] struct members, pointers and texts have the same values as in bpftrace
        cp /usr/bin/head peer
        ktracectl probes add members --on vfs_read 'ino = file.f_inode.i_ino' 'flags = file.f_flags' \
                'mode = file.f_mode' count \
                'size = file.f_inode.i_size' 'hash = file.f_path.dentry.d_name.len' \
                'name = file.f_path.dentry.d_name.name'
        beside 'kprobe:vfs_read /comm == "peer"/ { $f = (struct file *)arg0;
                printf("%lu %u %u %lu %ld %u %s\n", $f->f_inode->i_ino, $f->f_flags, $f->f_mode, arg2,
                        $f->f_inode->i_size, $f->f_path.dentry->d_name.len, str($f->f_path.dentry->d_name.name)); }'
        expect 0 ktracectl record -q --probe members -o t.kts -- ./peer -n 1 /etc/passwd /etc/hostname /proc/self/stat
        stop_peer
        ours '.fields | "\(.ino) \(.flags) \(.mode) \(.count) \(.size) \(.hash) \(.name)"'
        agree "vfs_read"
        grep -q ' passwd$' ours || fail "no passwd in $(cat ours)"
        ktracectl probes remove members
}

case_peers_bpftrace_returns() { # [deep] arguments and results of a system call function are the same as in bpftrace
        cp /bin/cat peer
        echo text >a-file
        ktracectl probes add opening --on do_sys_openat2 dfd filename 'flags = how.flags' 'mode = how.mode'
        ktracectl probes add opened --on do_sys_openat2 --return '$retval'
        beside 'kprobe:do_sys_openat2 /comm == "peer"/ { $h = (struct open_how *)arg2;
                        printf("open %d %s %lu %lu\n", (int32)arg0, str(uptr(arg1)), $h->flags, $h->mode); }
                kretprobe:do_sys_openat2 /comm == "peer"/ { printf("ret %ld\n", retval); }'
        expect 1 ktracectl record -q --probe opening --probe opened -o t.kts -- ./peer a-file no-such-file
        stop_peer
        # The dynamic loader already has the new name. Calls before the exec have the old name.
        ours 'select(.comm == "peer") | .fields | if has("ret") then "ret \(.ret)" else
                "open \(.dfd) \(.filename) \(.flags) \(.mode)" end'
        agree "do_sys_openat2"
        grep -qx 'ret -2' ours || fail "no failure in $(cat ours)"
        ktracectl probes remove opening
        ktracectl probes remove opened
}

case_peers_bpftrace_tcp() { # [deep] ports and addresses of connections are the same as in bpftrace
        command -v python3 >/dev/null || skip "no python3"
        cp "$(readlink -f "$(command -v python3)")" peer
        cat >talk.py <<'EOS'
import socket
a = socket.socket()
a.bind(("127.0.0.1", 0))
a.listen()
for i in range(3):
    c = socket.create_connection(("127.0.0.1", a.getsockname()[1]))
EOS
        ktracectl probes add connects --on tcp_connect 'sport = sk.__sk_common.skc_num' \
                'dport = sk.__sk_common.skc_dport : be16' \
                'daddr = sk.__sk_common.skc_daddr' 'family = sk.__sk_common.skc_family' 'type = sk.sk_type' \
                'protocol = sk.sk_protocol' \
                'reuse = sk.__sk_common.skc_reuse' 'state = sk.__sk_common.skc_state'
        beside 'kprobe:tcp_connect /comm == "peer"/ { $s = (struct sock *)arg0;
                $d = $s->__sk_common.skc_dport; $a = $s->__sk_common.skc_daddr;
                printf("%u %u %u %u %u %u %u %u\n", $s->__sk_common.skc_num, (uint16)(($d >> 8) | ($d << 8)),
                (uint32)(($a >> 24) | (($a >> 8) & 0xff00) | (($a << 8) & 0xff0000) | ($a << 24)),
                $s->__sk_common.skc_family, $s->sk_type, $s->sk_protocol, $s->__sk_common.skc_reuse,
                $s->__sk_common.skc_state); }'
        expect 0 ktracectl record -q --probe connects -o t.kts -- ./peer talk.py
        stop_peer
        ours '.fields | "\(.sport) \(.dport) \(.daddr) \(.family) \(.type) \(.protocol) \(.reuse) \(.state)"'
        agree "tcp_connect"
        same 3 "$(wc -l <ours)" "connections"
        ktracectl probes remove connects
}

case_peers_trace_cmd() { # [deep] trace-cmd records the same values with the same probe in its own instance
        cp /usr/bin/head peer
        ktracectl probes add reads --on vfs_read count 'name = file.f_path.dentry.d_name.name' 'pos : x64'
        trace-cmd record -q -B peers -e ktrace_u0:reads -o their.dat \
                ktracectl record -q --probe reads -o t.kts -- ./peer -n 1 /etc/passwd /etc/hostname >/dev/null
        ktracectl convert t.kts --to dat -o our.dat
        # The command first waits at a pipe. Our recording begins after that.
        trace-cmd report -i their.dat 2>/dev/null | sed -n 's/^.* peer-[0-9]* .*reads: *//p' |
                grep -v 'count=1 ' >theirs
        trace-cmd report -i our.dat 2>/dev/null | sed -n 's/^.* peer-[0-9]* .*reads: *//p' >ours
        grep -q passwd theirs || fail "trace-cmd has no events: $(trace-cmd report -i their.dat | tail -n 3)"
        agree "reads"
        trace-cmd reset -B peers -d >/dev/null 2>&1 || true
        rmdir "$TRACEFS/instances/peers" 2>/dev/null || true
        within 20 ktracectl probes remove reads
}

case_peers_perf_probe() { # [deep] a perf probe on the same function has the same number of hits and the same values
        cp /bin/cat peer
        perf probe -q --add 'peer_reads=vfs_read count=%dx:u64' || fail "perf probe"
        trap 'perf probe -q -d peer_reads; leave_case' EXIT
        ktracectl probes add counts --on vfs_read count
        perf record -q -a -e probe:peer_reads -o perf.data ktracectl record -q --probe counts -o t.kts \
                -- ./peer /etc/passwd >/dev/null
        perf script -i perf.data -F comm,event,trace 2>/dev/null | sed -n 's/^ *peer .*count=//p' | sort >theirs
        [ -s theirs ] || fail "perf has no events: $(perf script -i perf.data | tail -n 3)"
        ours 'select(.comm == "peer") | .fields.count'
        agree "counts"
        ktracectl probes remove counts
}

# Asks the kernel whether it accepts this place.
kernel_takes() { echo "p:peers/place $1" 2>/dev/null >>"$TRACEFS/kprobe_events" &&
        echo '-:peers/place' >>"$TRACEFS/kprobe_events"; }

case_peers_boundaries() { # ktraced accepts exactly the offsets in a function that the kernel accepts
        local offset theirs ours
        for offset in $(seq 1 20); do
                theirs=no ours=no
                ! kernel_takes "do_sys_openat2+$offset" || theirs=yes
                ! ktracectl probes add place --on "do_sys_openat2+$offset" >/dev/null 2>&1 || ours=yes
                [ $ours = no ] || ktracectl probes remove place
                same $theirs $ours "do_sys_openat2+$offset"
                echo $ours >>answers
        done
        same 'no yes' "$(sort -u answers | xargs)" "answers"
}

case_peers_bpftrace_program() { # [deep] arguments, results and texts in a program are the same as in bpftrace's uprobes
        install -m 755 "$PROBED" peer
        ktracectl probes add called --on ./peer:probed_add 'a = $arg1 : s64' 'b = $arg2 : s64'
        ktracectl probes add gave --on ./peer:probed_add --return '$retval : s64'
        ktracectl probes add text --on ./peer:probed_text 'text = $arg1 : string' 'first = *$arg1 : u8'
        beside "uprobe:$T/peer:probed_add { printf(\"called %ld %ld\\n\", arg0, arg1); }
                uretprobe:$T/peer:probed_add { printf(\"gave %ld\\n\", retval); }
                uprobe:$T/peer:probed_text { printf(\"text %s %u\\n\", str(arg0), *(uint8 *)arg0); }"
        expect 0 ktracectl record -q --probe called --probe gave --probe text -o t.kts -- ./peer 50
        stop_peer
        ours '.event as $e | .fields | if $e == "called" then "called \(.a) \(.b)" elif $e == "gave" then
                "gave \(.ret)" else "text \(.text) \(.first)" end'
        agree "a program"
        same 150 "$(wc -l <ours)" "records"
        for name in called gave text; do ktracectl probes remove $name; done
}

case_peers_bpftrace_marker() { # the arguments of a marker are the same as in bpftrace
        install -m 755 "$PROBED" peer
        ktracectl probes add step --on ./peer:probed:step 'round = $arg1' 'text = $arg2 : string' 'level = $arg3'
        beside "usdt:$T/peer:probed:step { printf(\"%ld %s %d\\n\", arg0, str(arg1), arg2); }"
        expect 0 ktracectl record -q --probe step -o t.kts -- ./peer 50
        stop_peer
        ours '.fields | "\(.round) \(.text) \(.level)"'
        agree "a marker"
        same 50 "$(wc -l <ours)" "records"
        ktracectl probes remove step
}

case_peers_perf_program() { # [deep] a perf probe in a program has the same place, hits and registers
        install -m 755 "$PROBED" peer
        perf probe -q -x "$T/peer" --add 'peer_add=probed_add a=%di:s64 b=%si:s64' || fail "perf probe"
        trap 'perf probe -q -d "probe_peer:*"; leave_case' EXIT
        ktracectl probes add called --on ./peer:probed_add 'a = $arg1 : s64' 'b = $arg2 : s64'
        same "$(sed -n 's/^p:probe_peer[^:]*:0x0*\([0-9a-f]*\) .*/\1/p' "$TRACEFS/uprobe_events")" \
                "$(ktracectl --json probes show called | jq -r '.resolved' |
                sed 's/.*:0x0*\([0-9a-f]*\) .*/\1/')" "the place"
        perf record -q -a -e probe_peer:peer_add -o perf.data ktracectl record -q --probe called -o t.kts -- ./peer 50 \
                >/dev/null
        perf script -i perf.data -F comm,event,trace 2>/dev/null | sed -n 's/^ *peer .*) a=\(.*\) b=\(.*\)/\1 \2/p' |
                sort >theirs
        [ -s theirs ] || fail "perf has no events: $(perf script -i perf.data | tail -n 3)"
        ours '.fields | "\(.a) \(.b)"'
        agree "perf"
        ktracectl probes remove called
}
