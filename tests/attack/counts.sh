# SPDX-License-Identifier: LGPL-2.1-or-later
# Attacks on rules without records, as ktrace-metrics has one: to read records of others, or their times, through
# numbers.

COUNTS='"sinks": ["histogram", "count"],'
# rule_of SINKS EVENTS: a rule for the user about all processes.
rule_of() {
        echo "{\"name\": \"counting\", \"subjects\": [{\"uid\": $USER_UID}], \"scopes\": [\"system\"],
                \"processes\": \"any\", $1 \"events\": [$2]}"
}
# counting: the user may count events of all processes.
counting() {
        rules "$(rule_of "$COUNTS" '{"name": "raw_syscalls:sys_enter", "keys": ["id"]},
                {"name": "sched:sched_switch", "keys": ["next_prio"]}')"
}

case_records_by_stream() { # read a stranger's records from a session that may only count
        defended_by sinks
        counting
        victim
        attack <<'EOS'
from attack import *
import sys
count = {"triggers": triggers({"when": "raw_syscalls:sys_enter", "do": "hist", "keys": ["id"]})}
for events in [["raw_syscalls:sys_enter"], ["raw_syscalls:*"], ["*:sys_enter"]]:
    try:
        s = Session("system", events, **count)
        s.start()
        pause(0.3)
        s.save()
        break
    except dbus.DBusException as e:
        print("refused:", e)
else:
    # The session itself is allowed: open it, turn its event on.
    id, path = manager.CreateSession(dbus.Dictionary({"scope": "system", **count}, signature="sv"))
    verbs = dbus.Interface(bus.get_object("org.ktrace1", path), "org.ktrace1.Session")
    attempt(verbs.Start)
    attempt(lambda: verbs.Configure(dbus.Dictionary({"events-on": dbus.Array(["*:*"])}, signature="sv")))
    for open_it in (verbs.OpenStream, verbs.OpenSink, verbs.Snapshot):
        attempt(lambda: print("got", open_it(dbus.Dictionary(signature="sv"))))
    attempt(verbs.Destroy)
EOS
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of the stranger"
}

case_records_by_snapshot() { # read a stranger's records from a flight recorder that may only count
        defended_by sinks
        counting
        victim
        attack <<'EOS'
from attack import *
f = Flight("system")
f.start()
pause(0.3)
f.save()
EOS
        verdict "$(calls_in t.kts $VICTIM_CALL)" "records of the stranger"
}

# secret_task: a task of the stranger with a name that the attacker looks for.
secret_task() {
        chmod 711 .
        cp "$TARGET" secret-name
        background stranger sh -c "while :; do '$T/secret-name' calls 1 $VICTIM_CALL; sleep 0.02; done"
}

# counted TRIGGERS EXPRESSION: the attacker counts switches of tasks by each trigger for a second, and the rows for
# which the expression is true.
counted() {
        attack "$@" <<'EOS'
from attack import *
import sys
found = 0
for t in json.loads(sys.argv[1]):
    try:
        spec = {"scope": "system", "triggers": triggers({"when": "sched:sched_switch", "do": "hist", **t})}
        id, path = manager.CreateSession(dbus.Dictionary(spec, signature="sv"))
        verbs = dbus.Interface(bus.get_object("org.ktrace1", path), "org.ktrace1.Session")
        verbs.Start()
        pause(1)
        rows = verbs.GetHistogram("")[1:]
        found += sum(1 for row in rows if eval(sys.argv[2]))
        verbs.Destroy()
    except dbus.DBusException as e:
        print("refused:", t, e)
print(found, file=open("found", "w"))
EOS
}

case_records_by_key() { # learn the names of a stranger's tasks from the rows of a histogram
        defended_by sink-keys
        counting
        secret_task
        counted '[{"keys": ["next_comm"]}, {"keys": ["next_prio", "next_comm"]}, {"keys": ["common_pid.execname"]}]' \
                '"secret-name" in str(row)'
        verdict "$(cat found)" "rows with the stranger's name"
}

case_records_by_filter() { # [open] learn whether a stranger's task runs, by the filter of a histogram
        defended_by sink-keys
        counting
        secret_task
        counted '[{"when": "sched:sched_switch if next_comm == \"secret-name\"", "keys": ["next_prio"]},
                {"when": "sched:sched_switch if comm == \"secret-name\"", "keys": ["next_prio"]}]' 'True'
        verdict "$(cat found)" "rows that show that the name exists"
}

case_counts_as_a_clock() { # [deep] learn when a stranger makes a call, by reading, pausing and stopping counts
        defended_by sink-clock
        counting
        # A call in the middle of each second.
        background stranger python3 -c "import ctypes, time
while True:
    time.sleep((1.6 - time.monotonic() % 1) % 1 + 0.05)
    ctypes.CDLL(None).syscall($VICTIM_CALL)"
        attack "$VICTIM_CALL" <<'EOS'
from attack import *
import sys
when = f"raw_syscalls:sys_enter if id == {sys.argv[1]}"
sessions = []
for i in range(3):
    spec = {"scope": "system", "triggers": triggers({"when": when, "do": "hist", "keys": ["id"]})}
    id, path = manager.CreateSession(dbus.Dictionary(spec, signature="sv"))
    sessions.append(dbus.Interface(bus.get_object("org.ktrace1", path), "org.ktrace1.Session"))
    sessions[-1].Start()

def change(s, verb):
    s.Configure(dbus.Dictionary({verb: ""}, signature="sv"))

def read(s):
    return int(s.GetHistogram("")[0]["hits"])

# Three ways to end what is counted at a moment of the attacker's choice, and to go on.
ways = [(read, lambda s: None),
        (lambda s: change(s, "hist-pause"), lambda s: change(s, "hist-continue")),
        (lambda s: s.Stop(), lambda s: s.Start())]
known = 0
end = time.monotonic() + 20
while time.monotonic() < end:
    for s, (cease, go_on) in zip(sessions, ways):
        began = time.monotonic()
        before = read(s)
        pause(0.1)
        cease(s)
        took = time.monotonic() - began
        after = read(s)
        go_on(s)
        if after > before and took < 0.7:
            known += 1
            print("a call within", took)
print(known, file=open("known", "w"))
for s in sessions:
    s.Destroy()
EOS
        verdict "$(cat known)" "calls of which the attacker knows the time, to less than a second"
}

# changed_rules COMMAND...: as root, takes the records from the rule, runs the command, and then lets the victim begin.
changed_rules() {
        {
                echo "while [ ! -e ready ]; do sleep 0.05; done"
                echo "cat >'$CONFIG/policy.d/00-attack.json' <<'EOR'"
                echo "{\"rules\": [$(rule_of "$COUNTS" '"raw_syscalls:*"')]}"
                echo EOR
                echo "$*"
                echo "touch changed"
        } >change.sh
        roots_part bash change.sh
}

# later_victim: its calls begin after the change.
later_victim() {
        chmod 711 .
        background stranger sh -c "while [ ! -e '$T/changed' ]; do sleep 0.05; done
                exec $TARGET calls 100000000 $VICTIM_CALL"
}

# kept_session: the attacker records by the rule as it was, until a second after its change.
kept_session() {
        attack <<'EOS'
from attack import *
s = Session("system", lifetime="linger")
s.start()
open("ready", "w").close()
os.set_blocking(s.stream, False)
wait_for("changed")

def drain(out=None):
    try:
        while data := os.read(s.stream, 1 << 20):
            if out:
                out.write(data)
    except BlockingIOError:
        pass

with open("all.kts", "wb") as out:
    end = time.monotonic() + 3
    while time.monotonic() < end:
        drain(out)
        pause(0.01)
os.set_blocking(s.stream, True)
attempt(s.verbs.Destroy)
with open("all.kts", "ab") as out:
    while data := os.read(s.stream, 1 << 16):
        out.write(data)
EOS
}

case_records_by_reload() { # [deep] keep a session that records when new rules let it only count
        defended_by sinks
        rules "$(rule_of '' '"raw_syscalls:*"')"
        changed_rules "ktracectl policy reload"
        later_victim
        kept_session
        roots_end
        verdict "$(calls_in all.kts $VICTIM_CALL)" "records of calls after the change"
}

case_records_by_restart() { # [deep] keep a recording when another daemon begins with rules that let it only count
        defended_by sinks
        rules "$(rule_of '' '"raw_syscalls:*"')"
        changed_rules "systemctl restart ktraced.service; ktracectl list"
        later_victim
        kept_session
        roots_end
        verdict "$(calls_in all.kts $VICTIM_CALL)" "records of calls after the change"
}
