# SPDX-License-Identifier: LGPL-2.1-or-later
# report: what it prints and what it refuses.
EXECS='-e sched:sched_process_exec'

case_report_escaped() { # control characters in task names are escaped, except with --raw; UTF-8 is kept
        local name
        name=$(printf 'a\033b\233c\303\244')
        cp /bin/true "$name"
        expect 0 user ktracectl record -q $EXECS -o t.kts -- "./$name"
        for command in 'report t.kts' 'convert t.kts --to text' 'convert t.kts --to text -o t.txt'; do
                expect 0 user ktracectl $command
                [ ! -e t.txt ] || mv t.txt out
                LC_ALL=C grep -qF 'a\x1bb\x9bc'"$(printf '\303\244')" out || fail "$command: $(cat out)"
                ! LC_ALL=C grep -q "$(printf '[\033\233]')" out || fail "$command: a control character"
        done
        expect 0 user ktracectl report --raw t.kts
        LC_ALL=C grep -qF "$name" out || fail "not raw"
        expect 0 user ktracectl convert t.kts --raw --to text
        LC_ALL=C grep -qF "$name" out || fail "not raw"
        refused 2 'is for text' user ktracectl convert t.kts --raw --to json
        expect 0 user ktracectl record -q $EXECS -o - -- "./$name"
        LC_ALL=C grep -qF 'a\x1bb\x9bc' out || fail "$(cat out)"
}

case_report_stats() { # report --stats counts the events, and the print formats that did not compile
        expect 0 user ktracectl record -q $EXECS -o t.kts -- true
        expect 0 user ktracectl report --stats t.kts
        grep -qx 'ktracectl: t.kts: 1 events; compiled print formats: 1; run by libtraceevent: 0, for 0 events' err ||
                fail "$(cat err)"
        expect 0 ktracectl record -q -a -e kmem:kmalloc -o k.kts -- true
        expect 0 ktracectl report --stats k.kts
        grep -q 'compiled print formats: 0; run by libtraceevent: 1, for [1-9]' err || fail "$(cat err)"
}

case_report_jobs() { # report and convert print the same with any number of threads, and end with their reader
        expect 0 ktracectl record -q -a -b 8192 -e raw_syscalls:sys_enter -e sched:sched_switch -o t.kts -- \
                dd if=/dev/zero of=/dev/null bs=1 count=30000
        for n in 1 2 5 64; do
                ktracectl report --jobs $n t.kts >text.$n || fail "--jobs $n: $?"
                cmp text.1 text.$n || fail "--jobs $n prints another text"
                ktracectl convert --jobs $n --to json t.kts >json.$n || fail "--jobs $n: $?"
                cmp json.1 json.$n || fail "--jobs $n prints other objects"
        done
        [ "$(wc -l <text.1)" -gt 60000 ] || fail "only $(wc -l <text.1) lines"
        for bad in 0 65 -1 ' 2' 2x '' 18446744073709551617; do
                refused 2 "--jobs: expected a number of threads from 1 to 64, got \"$bad\"" \
                        ktracectl report --jobs "$bad" t.kts
        done
        refused 2 '--jobs is for text, json, text-wall, not for dat' ktracectl convert --jobs 2 -o t.dat t.kts
        local got=0
        # A service manager starts its services with SIGPIPE ignored.
        env --default-signal=PIPE timeout 20 ktracectl report --jobs 4 t.kts | head -n 1 >first || got=${PIPESTATUS[0]}
        same 141 "$got" "the status after the reader has gone"
        same cpus= "$(cut -c 1-5 first)" "the first line"
        same 1 "$(ktracectl report --jobs 4 t.kts 2>err >/dev/full || echo $?)" "the status with a full output"
        grep -q 'No space left' err || fail "$(cat err)"
}

case_report_no_such_cpu() { # report refuses CPUs that the trace does not have
        expect 0 user ktracectl record -q $EXECS -o t.kts -- true
        refused 2 'none of these: expected numbers from 0 to' user ktracectl report --cpu 4000 t.kts
        refused 2 'none of these' user ktracectl convert --cpu 4000-4001 --to json t.kts
        expect 0 user ktracectl report --cpu 0-4000 t.kts
        grep -q sched_process_exec out || fail "no record of the existing processes"
}

case_report_of_several() { # report joins several files of one recording and names a file of another kind
        expect 0 user ktracectl record -q $EXECS -o t.kts -- true
        expect 0 user ktracectl convert t.kts -o t.dat
        refused 1 '^ktracectl: t.dat: not a ktrace stream: several files are read as the parts of one' \
                user ktracectl report t.kts t.dat
        refused 1 '^ktracectl: t.dat: not a ktrace stream' user ktracectl report t.dat t.kts
        expect 0 user ktracectl report t.kts t.kts
        mkdir folder
        refused 1 'folder: it is a directory: expected a file;' ktracectl calls folder
}

case_report_wall_of_dat() { # the default trace.dat can show the time of day
        expect 0 user ktracectl record -q $EXECS -o t.kts -- true
        expect 0 user ktracectl convert t.kts --to dat -o t.dat
        expect 0 user ktracectl report --wall t.kts
        mv out wall
        grep -q 'T[0-9:.]*Z: sched_process_exec' wall || fail "$(cat wall)"
        expect 0 user ktracectl report --wall t.dat
        cmp out wall || fail "$(diff out wall | head -4)"
}

case_record_json_printed() { # record --json -o - prints JSON
        expect 0 user ktracectl --json record -q $EXECS -o - -- true
        jq -es 'any(.[]; .event == "sched_process_exec")' out >/dev/null || fail "$(head -c 300 out)"
        expect 0 user ktracectl record -q $EXECS -o t.kts -- true
        expect 0 user ktracectl --json convert t.kts
        jq -es 'any(.[]; .event == "sched_process_exec")' out >/dev/null || fail "$(head -c 300 out)"
}

case_record_refused_prints_nothing() { # a recording that is refused at its start prints nothing to stdout
        background "$TARGET" until stop 50000
        for to in text json kts; do
                expect 3 user ktracectl record -q -e raw_syscalls:sys_enter -p "$BACKGROUND" -o - --to $to
                [ ! -s out ] || fail "$to: $(head -c 300 out)"
        done
}

case_report_hostile_packed() { # root reads compressed streams in which a user has changed sizes or data
        local memory=300000
        # The sanitizer reserves more addresses than there is memory.
        ! ldd "$(command -v ktracectl)" | matches libasan || memory=unlimited
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter --compression zstd -o t.kts -- sh -c 'ls /; ls /'
        user python3 - <<'EOS'
import struct
stream = open("t.kts", "rb").read()
at = 16
while struct.unpack_from("<I", stream, at)[0] != 6:
    at += 24 + struct.unpack_from("<Q", stream, at + 8)[0]
kind, cpu, size, lost = struct.unpack_from("<IIQQ", stream, at)
time, n_records, packed, data = struct.unpack_from("<QQII", stream, at + 24)
content = stream[at + 48:at + 24 + size]
def write(name, content, packed=None, data=data, n_records=n_records):
    packed = len(content) if packed is None else packed
    with open(name, "wb") as out:
        out.write(stream[:at] + struct.pack("<IIQQ", kind, cpu, 24 + len(content), lost))
        out.write(struct.pack("<QQII", time, n_records, packed, data) + content + stream[at + 24 + size:])
# A zstd frame of 16384 blocks that each repeat a byte 131072 times: 2 GiB.
bomb = bytes.fromhex("28b52ffd0038") + b"".join(
    struct.pack("<I", 131072 << 3 | 2 | (i == 16383))[:3] + b"\0" for i in range(16384))
write("bomb.kts", bomb)
write("bomb-claimed.kts", bomb, data=1 << 31)
write("bomb-largest.kts", bomb, data=1 << 20)
write("empty.kts", content, data=0)
write("longer.kts", content, packed=len(content) + 1)
write("shorter.kts", content, packed=len(content) - 1)
write("noise.kts", bytes(i * 7 % 251 for i in range(5000)))
write("other.kts", content[:-9] + bytes(9))
EOS
        for file in bomb bomb-claimed bomb-largest empty longer shorter noise other; do
                for verb in 'report' 'convert --to json' 'convert --to dat -o t.dat --compression none'; do
                        status=0
                        (ulimit -v "$memory" && exec timeout 20 ktracectl $verb $file.kts) >out 2>err || status=$?
                        [ $status = 1 ] || [ $status = 4 ] || fail "$verb $file.kts: status $status: $(head -c 500 err)"
                        [ "$(wc -l <err)" -le 2 ] || fail "$verb $file.kts: $(head -c 1000 err)"
                        grep -q damaged err || fail "$verb $file.kts: $(cat err)"
                        rm -f t.dat
                done
        done
}

case_report_names() { # names of calls, flags, errors and signals: on a terminal, or with --names always
        expect 0 ktracectl record -q -e 'syscalls:*openat' -e signal:signal_generate -o t.kts -- \
                sh -c 'cat /nowhere; kill -WINCH $$'
        expect 0 ktracectl report --names always t.kts
        grep -Eq 'openat: +openat\(dfd=AT_FDCWD, filename=0x[0-9a-f]+, flags=O_RDONLY\|O_CLOEXEC, mode=0\)$' out ||
                fail "$(cat out)"
        grep -Eq 'sys_exit_openat: +openat = -2 ENOENT$' out || fail "$(cat out)"
        grep -q 'signal_generate: .*sig=28 .* \[sig SIGWINCH\]$' out || fail "$(cat out)"
        mv out named
        expect 0 ktracectl convert t.kts -o t.dat
        expect 0 ktracectl report --names always t.dat
        cmp out named || fail "t.dat: $(diff out named | head -4)"
        expect 0 ktracectl report t.kts
        mv out plain
        ! grep -q 'ENOENT\|SIGWINCH' plain || fail "names in a pipe"
        expect 0 script -qec "ktracectl report t.kts" /dev/null
        tr -d '\r' <out | cmp - named || fail "on a terminal: $(tr -d '\r' <out | diff - named | head -4)"
        expect 0 script -qec "ktracectl report --names never t.kts" /dev/null
        tr -d '\r' <out | cmp - plain || fail "without names: $(tr -d '\r' <out | diff - plain | head -4)"
        refused 2 'names: expected auto, always or never, got "some"' ktracectl report --names some t.kts
        refused 2 'raw: expected one of them' ktracectl report --names always --raw t.kts
}

# make_arm_program FILE: a program of 32-bit ARM that calls number 20, getpid, three times and exits.
make_arm_program() {
        {
                printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0'                 # 32 bits, little endian
                printf '\2\0\50\0\1\0\0\0\124\0\1\0\64\0\0\0\0\0\0\0' # starts at 0x10054
                printf '\0\0\0\5\64\0\40\0\1\0\0\0\0\0\0\0'             # one segment:
                printf '\1\0\0\0\0\0\0\0\0\0\1\0\0\0\1\0'              # the whole file at 0x10000
                printf '\164\0\0\0\164\0\0\0\5\0\0\0\0\20\0\0'
                printf '\24\160\240\343\0\0\0\357\0\0\0\357\0\0\0\357'  # mov r7, #20; svc 0 three times
                printf '\0\0\240\343\1\160\240\343\0\0\0\357\0\0\0\0'  # mov r0, #0; mov r7, #1; svc 0
        } >"$1"
        chmod 755 "$1"
}

case_report_compat_calls() { # [smoke] the name of a raw system call is a condition: the program may make 32-bit calls
        local call=writev
        set -- "$TARGET" compat 3
        if [ "$(uname -m)" = aarch64 ]; then
                call=epoll_create1
                make_arm_program arm
                set -- ./arm
        fi
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -e "syscalls:sys_enter_$call" -o t.kts -- "$@"
        expect 0 user ktracectl report --names always t.kts
        same 3 "$(grep -c "sys_enter: *NR 20 \[$call if 64-bit\]" out)" "32-bit calls"
        same 0 "$(grep -c "$call(" out)" "calls of $call"
}

# samples/ARCHITECTURE.kts was recorded in a guest of that architecture by an ordinary user:
#         ktracectl record --compression zstd -e 'raw_syscalls:*' -e syscalls:sys_enter_openat \
#                 -e syscalls:sys_exit_openat -e syscalls:sys_enter_mmap -e sched:sched_switch \
#                 -e sched:sched_process_exit -e sched:sched_process_exec -o ARCHITECTURE.kts -- true
# ARCHITECTURE.txt is `convert --to text` of it, and ARCHITECTURE.calls is `calls -c -S name`, both as printed there.
case_report_architectures() { # [smoke] recordings of x86-64 and of arm64 read the same on both
        local name sample
        for name in x86-64 arm64; do
                sample=$here/samples/$name
                expect 0 ktracectl convert "$sample.kts" --to text
                diff "$sample.txt" out >difference || fail "$name: text: $(head -4 difference)"
                expect 0 ktracectl calls -c -S name "$sample.kts"
                diff "$sample.calls" out >difference || fail "$name: calls: $(head -4 difference)"
                expect 0 ktracectl convert "$sample.kts" -o t.dat
                expect 0 ktracectl convert t.dat --to text
                diff "$sample.txt" out >difference || fail "$name: trace.dat: $(head -4 difference)"
        done
}
