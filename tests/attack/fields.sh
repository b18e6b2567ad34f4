# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks on the fields of granted events: no kernel address and no foreign task may be readable.

# granted_load EVENT...: records these events of the user's own process into t.kts.
granted_load() {
        attack "$@" <<'EOS'
from attack import *
import sys
p = Process(["sh", "-c", "ls -lR /usr/share/dbus-1 >/dev/null"])
s = Session(f"command:{p.pid}", sys.argv[1:])
s.start()
p.run()
s.save()
EOS
}

case_addresses() { # read kernel addresses in plain integer fields
        defended_by addresses redaction
        grant '*:*'
        granted_load '*:*'
        [ "$(records t.kts | awk '{ print $1 }' | sort -u | wc -l)" -gt 50 ] ||
                fail "few kinds of records: $(records t.kts | wc -l)"
        scan words t.kts >found || true
        head found
        verdict "$(wc -l <found)" "addresses"
}

case_addresses_in_flight() { # [deep] read kernel addresses in the second snapshot of a flight recorder
        defended_by addresses redaction
        grant '*:*'
        attack <<'EOS'
from attack import *
p = Process(["sh", "-c", "ls -lR /usr/share/dbus-1 >/dev/null; touch half; while [ ! -e on ]; do sleep 0.1; done; "
             "ls -lR /usr/share/dbus-1 >/dev/null"])
s = Flight(f"command:{p.pid}", ["*:*"], **{"buffer-kb": 4096})
s.start()
p.go()
wait_for("half")
s.take("one.kts")
open("on", "w").close()
p.settle()
s.save()
EOS
        [ "$(records t.kts | awk '{ print $1 }' | sort -u | wc -l)" -gt 30 ] ||
                fail "few kinds of records: $(records t.kts | wc -l)"
        scan words one.kts >found.1 || true
        scan words t.kts >found.2 || true
        verdict "$(wc -l <found.1)" "$(wc -l <found.2)" "addresses"
}

# neighbour: runs the stranger's process secret-name and a recorded process of the user on the first CPU.
neighbour() {
        chmod 711 .
        cp "$TARGET" secret-name
        background stranger taskset -c 0 "$T/secret-name" calls 100000000 $VICTIM_CALL
        attack "$TARGET" paced 100 5000 <<'EOS'
from attack import *
import sys
os.sched_setaffinity(0, [0])
p = Process(sys.argv[1:])
s = Session(f"command:{p.pid}", ["sched:sched_switch"])
print(p.pid, file=open("pid", "w"))
s.start()
p.run()
s.save()
EOS
        [ "$(records t.kts | grep -c "^sched_switch $(cat pid) ")" -gt 50 ] ||
                fail "few records: $(records t.kts | head)"
}

case_names_of_neighbours() { # read the names of tasks that run before or after one's own
        defended_by redaction
        neighbour
        verdict "$(grep -ac secret-name t.kts || true)" "names of the stranger"
}

case_records_of_neighbours() { # read records of tasks that run before or after one's own, at the switch between them
        defended_by members
        neighbour
        # The switches back are shown without the other task.
        verdict "$(records t.kts | grep -vcE " $(cat pid) |^sched_switch 0 0 0$" || true)" "records of other tasks"
}

case_authors_of_neighbours() { # [open] read the names of tasks that run before one's own, at the switch to it
        defended_by author
        neighbour
        [ "$(records t.kts | grep -c "^sched_switch 0 0 0$")" -gt 5 ] || [ "$PASS" = open ] || fail "no switches back"
        verdict "$(grep -ac secret-name t.kts || true)" "names of the stranger"
}

case_filter_oracle() { # find the value of a hidden field by counting the records that pass a filter
        defended_by filter-fields
        chmod 711 .
        cp "$TARGET" secret-name
        background stranger taskset -c 0 "$T/secret-name" calls 100000000 $VICTIM_CALL
        attack 'next_comm == "secret-name"' "next_pid == $BACKGROUND" "prev_pid == 0 || next_pid == $BACKGROUND" <<'EOS'
from attack import *
import sys
os.sched_setaffinity(0, [0])
for n, text in enumerate(sys.argv[1:]):
    p = Process(["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done"])
    event = dbus.Dictionary({"name": "sched:sched_switch", "filter": text}, signature="sv")
    try:
        s = Session(f"command:{p.pid}", [event])
    except dbus.DBusException as e:
        print("refused:", e)
        continue
    s.start()
    p.run()
    s.save(f"{n}.kts")
EOS
        verdict "$(records 0.kts | wc -l)" "$(records 1.kts | wc -l)" "$(records 2.kts | wc -l)" \
                "records that a foreign value chose"
}

# system KEYS: a rule that lets the user trace all processes, with these keys.
system() {
        rules "{\"name\": \"attack\", \"subjects\": [{\"uid\": $USER_UID}],
                \"scopes\": [\"system\"], \"processes\": \"any\", $1}"
}

# of_all EVENT...: records all processes while root is busy, into t.kts and then into 2.kts.
of_all() {
        roots_part sh -c 'for i in 1 2 3 4 5 6; do ls -lR /usr/share/dbus-1 >/dev/null; sleep 0.1; done'
        attack "$@" <<'EOS'
from attack import *
import sys
for name in ("t.kts", "2.kts"):
    s = Session("system", sys.argv[1:])
    s.start()
    pause(0.4)
    s.save(name)
EOS
        roots_end
        [ "$(records t.kts | wc -l)" -gt 100 ] || fail "few records: $(records t.kts | wc -l)"
}

case_addresses_of_all() { # read kernel addresses in a trace of all processes, in any form and any field
        defended_by addresses redaction
        # Not timer: jiffies begin five minutes before 2^32, and then look like the upper half of an address.
        system '"events": ["kmem:*", "sched:*", "irq:*", "workqueue:*", "skb:*", "net:*", "signal:*", "exceptions:*"]'
        of_all 'kmem:*' 'workqueue:*' 'skb:*' 'net:*' 'exceptions:*' 'irq:*'
        scan words t.kts >found || true
        head found
        verdict "$(wc -l <found)" "addresses"
}

case_address_by_filter() { # find a hidden address bit by bit, by counting the records that pass a filter
        defended_by filter-fields
        grant 'kmem:*' 'signal:*' 'timer:*'
        attack <<'EOS'
from attack import *
half = 1 << 63
texts = [f"call_site >= {half}", f"!(call_site < {half})", f"ptr & {half}", f"call_site == 0 || ptr > {half + 1}"]
for n, text in enumerate(texts):
    event = dbus.Dictionary({"name": "kmem:kfree", "filter": text}, signature="sv")
    p = Process(["ls", "-lR", "/usr/share/dbus-1"])
    try:
        s = Session(f"command:{p.pid}", [event])
        s.start()
        p.run()
        s.save(f"{n}.kts")
    except dbus.DBusException as e:
        print("refused:", text, e)
        p.run()
EOS
        verdict "$(records 0.kts | wc -l)" "$(records 1.kts | wc -l)" "$(records 2.kts | wc -l)" \
                "$(records 3.kts | wc -l)" \
                "records that an address chose"
}

case_cut_by_rule() { # find a field that a rule hides: in the bytes, by its own filter, by a filter for all events
        defended_by redaction filter-fields
        rules "{\"name\": \"attack\", \"subjects\": [{\"uid\": $USER_UID}], \"scopes\": [\"command\"],
                \"events\": [{\"name\": \"raw_syscalls:sys_enter\", \"cut\": [\"id\"]}]}"
        attack "$TARGET" calls 1000 $OWN_CALL <<'EOS'
from attack import *
import sys
filtered = dbus.Dictionary({"name": "raw_syscalls:sys_enter", "filter": "id == 110"}, signature="sv")
for name, events, keys in (("t.kts", ENTER, {}), ("1.kts", [filtered], {}), ("2.kts", ENTER, {"where": "id == 110"})):
    p = Process(sys.argv[1:])
    try:
        s = Session(f"command:{p.pid}", events, **keys)
        s.start()
        p.run()
        s.save(name)
    except dbus.DBusException as e:
        print("refused:", e)
        p.run()
EOS
        verdict "$(calls_in t.kts $OWN_CALL)" "$(calls_in 1.kts $OWN_CALL)" "$(calls_in 2.kts $OWN_CALL)" \
                "numbers of calls"
}
