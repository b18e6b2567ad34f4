# SPDX-License-Identifier: LGPL-2.1-or-later
# convert --to ctf: babeltrace2 reads it, and finds what `report --json` prints.

# same_as_json FILE CTF: compares all events, and prints their number and the number of losses.
same_as_json() {
        ktracectl report --json "$1" 2>err | /usr/bin/python3 "$here/ctf-compare.py" "$2" 2>&1
}
# counts_of_json FILE, counts_of_ctf CTF: the same numbers, without a comparison of the events.
counts_of_json() {
        { ktracectl report --json "$1" 2>err || true; } |
                jq -rn 'reduce inputs as $l ([0, 0]; if $l | has("ts") then .[0] += 1 else .[1] += ($l.lost // 0) end) |
                        "\(.[0]) events, \(.[1]) lost"'
}
counts_of_ctf() {
        babeltrace2 "$1" >bt.txt 2>warnings
        echo "$(wc -l <bt.txt) events, $(sed -nE 's/.*Tracer discarded ([0-9]+) event.*/\1/p' warnings |
                awk '{ n += $1 } END { print n + 0 }') lost"
}
with_babeltrace() { /usr/bin/python3 -c 'import bt2' 2>/dev/null || skip "no python3-bt2"; }

case_ctf_events() { # babeltrace2 finds the same events in CTF as JSON has: times of day, threads, names, all fields
        with_babeltrace
        expect 0 ktracectl record -q -b 4096 -e 'sched:sched_*' -e 'syscalls:sys_*_mmap' --stacktrace -o t.kts -- \
                sh -c '/bin/true; echo mark >/dev/null'
        expect 0 ktracectl convert t.kts -o t.ctf
        n=$(ktracectl report --json t.kts | grep -c '"ts"')
        [ "$n" -gt 100 ] || fail "only $n events"
        same "$n events, 0 lost" "$(same_as_json t.kts t.ctf)" "the comparison"
        babeltrace2 t.ctf >bt.txt 2>err || fail "babeltrace2: $(head -c 2000 err)"
        same '' "$(cat err)" "babeltrace2's warnings"
        same "$n" "$(wc -l <bt.txt)" "lines of babeltrace2"
}

case_ctf_of_dat() { # [deep] a trace.dat gives the same CTF events as JSON
        with_babeltrace
        expect 0 ktracectl record -q -a -e 'sched:*' -e 'syscalls:*' -o t.dat -- sh -c 'ls >/dev/null; /bin/true'
        expect 0 ktracectl convert t.dat --to ctf -o made
        n=$(ktracectl report --json t.dat | grep -c '"ts"')
        same "$n events, 0 lost" "$(same_as_json t.dat made)" "the comparison"
}

case_ctf_losses() { # lost events are discarded events of the same number
        with_babeltrace
        # The recorder waits for the pipe, and the ring becomes full.
        ktracectl record -q -b 64 -e raw_syscalls:sys_enter --to kts -o - -- "$TARGET" calls 100000 110 |
                { sleep 2; cat >t.kts; }
        expect 0 ktracectl convert -q t.kts --to ctf -o made
        counts=$(counts_of_json t.kts)
        [[ $counts != *', 0 lost' ]] || fail "nothing was lost: $counts"
        same "$counts" "$(counts_of_ctf made)" "the counts"
}

case_ctf_cut() { # a cut recording gives its intact part and status 4
        with_babeltrace
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- "$TARGET" calls 20000 110
        head -c $(($(stat -c %s t.kts) / 2)) t.kts >cut.kts
        expect 4 user ktracectl convert cut.kts --to ctf -o made
        same "$(counts_of_json cut.kts)" "$(counts_of_ctf made)" "the counts"
        head -c 300 t.kts >cut.kts
        expect 1 user ktracectl convert cut.kts --to ctf -o nothing
        [ ! -e nothing ] || fail "a directory without a recording"
}

case_ctf_directory() { # the directory appears when it is complete, and only in place of an empty one
        expect 0 user ktracectl record -q -e sched:sched_process_exec -o t.kts -- true
        refused 2 'ctf is a directory of files: use -o DIRECTORY' user ktracectl convert t.kts --to ctf
        refused 1 't.kts: cannot be written: the format is a directory, and a file has this name' \
                user ktracectl convert t.kts --to ctf -o t.kts
        expect 0 user ktracectl convert t.kts --to ctf -o made/
        refused 1 'made: cannot be written: Directory not empty' user ktracectl convert t.kts --to ctf -o made
        user mkdir empty
        expect 0 user ktracectl convert --to ctf -o empty - <t.kts
        same "$(ls made)" "$(ls empty)" "the files"
        cmp made/metadata empty/metadata || fail "other metadata from standard input"
        mkdir small
        mount -t tmpfs -o "size=300k,uid=$USER_UID" small small
        expect 0 user ktracectl record -q -e raw_syscalls:sys_enter -o t.kts -- "$TARGET" calls 30000 110
        refused 1 'small/out: cannot be written: No space left on device' \
                user ktracectl convert t.kts --to ctf -o small/out
        same '' "$(ls -A small)" "files of a conversion that failed"
        umount small
}
