# SPDX-License-Identifier: LGPL-2.1-or-later
# A stream leaves the machine during the recording: over a network or a serial line.

extraction_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}
# of a system call that no other program makes, of all processes
traced() { # NAME KB
        ktracectl create "$1" --scope system -b "$2" -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start "$1"
}
calls() { "$TARGET" calls "$1" 1000; }
lost() { ktracectl convert "$1" --to json 2>/dev/null | jq -s 'map(select(.lost != null) | .lost) | add // 0'; }

# over LISTEN CONNECT: records through socat with these two addresses.
over() {
        traced box 8192
        rm -f remote.kts
        background socat -u "$1" CREATE:remote.kts
        receiver=$BACKGROUND
        background sh -c "ktracectl stream box -o - --to kts | socat -u - $2,retry=300,interval=0.1"
        within 30 test -s remote.kts || fail "nothing arrives: $(cat background.err)"
        for _ in 1 2 3 4 5; do
                calls 4000
                sleep 0.1
        done
        ktracectl stop box
        ktracectl destroy box
        within 30 sh -c "! kill -0 $receiver 2>/dev/null" || fail "the other end still waits"
        same 20000 "$(count remote.kts true)" events
        same 0 "$(lost remote.kts)" lost
        expect 0 ktracectl report --receipt --json=short remote.kts
        jq -e '.end.code == "stopped"' out || fail "no end: $(cat out)"
}

case_extraction_network() { # a stream over a network socket arrives complete, with its end
        [ -x "$(command -v socat)" ] || skip "no socat"
        trap extraction_end EXIT
        over TCP-LISTEN:20123,bind=127.0.0.1,reuseaddr TCP:127.0.0.1:20123
        over UNIX-LISTEN:"$T/socket" UNIX-CONNECT:"$T/socket"
}

case_extraction_serial() { # a slow serial line loses events, which are counted, and slows down no other session
        [ -x "$(command -v socat)" ] || skip "no socat"
        trap extraction_end EXIT
        background socat PTY,link="$T/near",raw,echo=0 PTY,link="$T/far",raw,echo=0
        within 30 test -e far || fail "no line"
        # Without a writer the remaining data would be lost.
        exec 8<>near
        traced slow 64
        traced other 8192
        # The line has 115200 baud until the file "fast" exists.
        background python3 -c '
import os, sys, time
far = os.open("far", os.O_RDONLY | os.O_NOCTTY)
with open("remote.kts", "wb") as out:
    while True:
        data = os.read(far, 1152)
        out.write(data); out.flush()
        if not os.path.exists("fast"): time.sleep(0.1)
'
        within 30 test -e remote.kts || fail "no reader"
        background sh -c 'exec ktracectl stream slow -o - --to kts >near'
        line=$BACKGROUND
        background ktracectl stream other -o other.kts
        file=$BACKGROUND
        within 30 test -s other.kts || fail "no stream: $(cat background.err)"
        within 30 test -s remote.kts || fail "nothing arrives"
        for _ in 1 2 3 4 5; do
                calls 8000
                sleep 0.1
        done
        ktracectl stop other
        ktracectl destroy other
        within 30 sh -c "! kill -0 $file 2>/dev/null" || fail "the file waits for the line"
        same '40000 0' "$(count other.kts true) $(lost other.kts)" "events of the other, and its losses"
        ktracectl stop slow
        touch fast
        ktracectl destroy slow
        within 30 sh -c "! kill -0 $line 2>/dev/null" || fail "the line's reader still waits"
        within 30 sh -c "ktracectl report --receipt --json=short remote.kts | jq -e .end.code" || fail "no end arrives"
        [ "$(lost remote.kts)" -gt 0 ] || fail "nothing was lost"
        same 40000 "$(($(count remote.kts true) + $(lost remote.kts)))" "events and losses"
}
