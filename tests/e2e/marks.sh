# SPDX-License-Identifier: LGPL-2.1-or-later
# Marks: the owner of a session writes text among its events, in order, with many writers. Other users cannot.

marks_end() {
        ktracectl list --json=short | jq -r '.[].id' | xargs -rn 1 ktracectl destroy || true
        leave_case
}

# marked: a flight recorder of one system call that no other program makes.
marked() {
        trap marks_end EXIT
        ktracectl create box --mode flight --scope system -e raw_syscalls:sys_enter -f 'id == 1000'
        ktracectl start box
}
# reported: prints the snapshot in order: "call" for a call, and the text of a mark.
reported() {
        ktracectl snapshot -q box -o t.kts
        ktracectl convert t.kts --to json |
                jq -r 'select(.event) | if .event == "print" then .fields.buf else "call" end' | tr '\n' ' '
}

case_marks_full() { # a mark in a full buffer fails with an error, and does not end a user's session
        trap marks_end EXIT
        background user setpriv --no-new-privs sleep 100
        user ktracectl create box -b 8 -e raw_syscalls:sys_enter --scope own
        user ktracectl start box
        local text n=0
        text=$(head -c 990 /dev/zero | tr '\0' x)
        while user ktracectl mark box "$text" 2>err; do
                n=$((n + 1))
                [ "$n" -lt 500 ] || fail "the ring is never full"
        done
        grep -q 'the ring buffer is full' err || fail "$(cat err)"
        same running "$(ktracectl --json=short show box | jq -r .state)" "state"
}

case_marks_in_order() { # a mark is recorded between the events before and after it
        marked
        "$TARGET" calls 2 1000
        ktracectl mark box first mark
        "$TARGET" calls 1 1000
        ktracectl mark box 'Grüße: %s %d'
        "$TARGET" calls 1 1000
        same 'call call first mark call Grüße: %s %d call ' "$(reported)" "calls and marks"
        prints 'print: .*first mark' ktracectl report t.kts || fail "$(ktracectl report t.kts)"
        ktracectl convert t.kts --to dat -o t.dat
        prints 'print: .*first mark' trace-cmd report -i t.dat 2>/dev/null || fail "$(trace-cmd report -i t.dat)"
}

case_marks_refused() { # a mark that is not a line of text, is too long or comes while stopped is refused
        marked
        refused 2 'empty' ktracectl mark box ''
        refused 2 'byte 2 is not printable text' ktracectl mark box $'a\nb'
        refused 2 '1000 bytes' ktracectl mark box "$(printf 'x%.0s' $(seq 1001))"
        expect 0 ktracectl mark box "$(printf 'x%.0s' $(seq 1000))"
        expect 2 ktracectl mark box
        refused 1 'no session has this name' user ktracectl mark box hello
        ktracectl stop box
        refused 1 'is stopped' ktracectl mark box late
        same 1000 "$(reported | tr -d ' \n' | wc -c)" "the long one"
}

case_marks_of_users() { # in a fenced session the owner's marks are recorded, without the kernel address
        background user setpriv --no-new-privs sh -c "while :; do $TARGET calls 1 1000; done"
        recording user ktracectl record -q --scope own -e raw_syscalls:sys_enter -f 'id == 1000' -o t.kts
        local id
        id=$(user ktracectl list --json=short | jq -r '.[0].id')
        within 60 recorded 40 || fail "nothing is recorded"
        expect 0 user ktracectl mark "$id" here it is
        refused 1 'no session has this' stranger ktracectl mark "$id" a stranger
        ends_well
        same 1 "$(count t.kts '.event == "print" and .fields.buf == "here it is"')" "marks"
        same 0 "$(count t.kts '.event == "print" and .fields.ip != 0')" "addresses"
        same 1 "$(count t.kts '.event == "print"')" "marks of all"
        [ "$(count t.kts '.fields.id == 1000')" -ge 5 ] || fail "no calls"
}

case_marks_examples() { # org.ktrace1(5): marks from Python, C and a shell through one pipe
        /usr/bin/python3 -c "import dbus" 2>/dev/null || skip "no python3 with dbus"
        marked
        cat >give.py <<'EOS'
import dbus, os, sys
bus = dbus.SystemBus()
session = dbus.Interface(bus.get_object("org.ktrace1", sys.argv[1]), "org.ktrace1.Session")
os.dup2(session.OpenMarker().take(), 3)
os.execvp(sys.argv[2], sys.argv[2:])
EOS
        expect 0 /usr/bin/python3 give.py "/org/ktrace1/session/$(ktracectl list --json=short | jq -r '.[0].id')" \
                bash -c 'for i in $(seq 10); do echo "step $i" >&3; done'
        within 60 \
                sh -c "ktracectl snapshot -q box -o t.kts && ktracectl convert t.kts --to json | grep -q '\"step 10\"'"
        same 10 "$(count t.kts '.event == "print" and (.fields.buf | startswith("step "))')" "marks"
}

case_marks_many_writers() { # marks of many writers to one pipe all arrive, in order for each writer; long ones are cut
        /usr/bin/python3 -c "import dbus" 2>/dev/null || skip "no python3 with dbus"
        marked
        cat >mark.py <<'EOS'
import dbus, os, sys
bus = dbus.SystemBus()
session = dbus.Interface(bus.get_object("org.ktrace1", sys.argv[1]), "org.ktrace1.Session")
marker = session.OpenMarker().take()
for writer in range(4):
    if os.fork() == 0:
        for i in range(500):
            os.write(marker, b"%d:%d\n" % (writer, i))
        os._exit(0)
for writer in range(4):
    os.wait()
os.write(marker, b"y" * 2000)
os.write(marker, b"a\x01b\xffc")
os.write(marker, b"last")
EOS
        expect 0 /usr/bin/python3 mark.py "/org/ktrace1/session/$(ktracectl list --json=short | jq -r '.[0].id')"
        within 60 sh -c "ktracectl snapshot -q box -o t.kts && ktracectl convert t.kts --to json | grep -q '\"last\"'"
        ktracectl convert t.kts --to json | jq -r 'select(.event == "print") | .fields.buf' >marks
        for writer in 0 1 2 3; do
                grep "^$writer:" marks | cut -d: -f2 >of-one
                same "$(seq 0 499 | md5sum)" "$(md5sum <of-one)" "marks of writer $writer: $(wc -l <of-one)"
        done
        same 2003 "$(wc -l <marks)" "marks"
        grep -qx 'y\{997\}…' marks || fail "$(grep yy marks)"
        grep -qx 'a?b?c' marks || fail "$(tail -n 3 marks)"
        # A closed pipe makes room for another one.
        cat >close.py <<'EOS'
import dbus, os, sys
bus = dbus.SystemBus()
session = dbus.Interface(bus.get_object("org.ktrace1", sys.argv[1]), "org.ktrace1.Session")
for i in range(50):
    os.close(session.OpenMarker().take())
EOS
        expect 0 /usr/bin/python3 close.py "/org/ktrace1/session/$(ktracectl list --json=short | jq -r '.[0].id')"
}

case_marks_before_stop() { # marks that were written before the stop are recorded, also without a reader
        /usr/bin/python3 -c "import dbus" 2>/dev/null || skip "no python3 with dbus"
        marked
        cat >hasty.py <<'EOS'
import dbus, os, sys
bus = dbus.SystemBus()
session = dbus.Interface(bus.get_object("org.ktrace1", sys.argv[1]), "org.ktrace1.Session")
marker = session.OpenMarker().take()
for turn in range(20):
    for i in range(16):
        os.write(marker, b"%d:%d" % (turn, i))
    session.Stop()
    session.Start()
EOS
        expect 0 /usr/bin/python3 hasty.py "/org/ktrace1/session/$(ktracectl list --json=short | jq -r '.[0].id')"
        ktracectl snapshot -q box -o t.kts
        same 320 "$(count t.kts '.event == "print"')" marks
}
