# SPDX-License-Identifier: LGPL-2.1-or-later
# The Python module: $PYTHON_MODULE has it, $EXAMPLES its library.

needs_module() { [ -n "${PYTHON_MODULE:-}" ] && [ -x /usr/bin/python3 ] || skip "no Python module here"; }
# The command that runs a program that uses the module.
PYTHON=(env LD_LIBRARY_PATH="$EXAMPLES" PYTHONPATH="${PYTHON_MODULE:-}")
# Python itself has leaks.
[ -z "${SANITIZER:-}" ] || PYTHON+=(LD_PRELOAD="$SANITIZER" ASAN_OPTIONS=detect_leaks=0)
PYTHON+=(/usr/bin/python3)
# python_agent FILE: in the background, a program of the user. Returns when its session runs.
python_agent() {
        background user setpriv --no-new-privs "${PYTHON[@]}" "$1" "$OWN_CALLS"
        within 20 is_running || fail "$(cat background.err)"
}
has_lines() { [ "$(wc -l <background.out)" = "$1" ]; }

# client: reads the four lines of documentation from its input, and runs them with OWN_CALLS.
client() {
        sed -n '/^    import ktrace/,/^    *print/s/^    //p' |
                sed "s/{.*}/__import__('json').loads(__import__('sys').argv[1])/; s/)$/, flush=True)/" >t.py
        same 4 "$(grep -c . t.py)" "lines: $(cat t.py)"
        rm -f go
        calls_after user go
        calls_after stranger go
        python_agent t.py
        touch go
        within 20 has_lines 70 || fail "$(wc -l <background.out) lines: $(cat background.err)"
        same 70 "$(grep -c ' NR 1000 ' background.out)" "calls of the user"
        expect 0 user ktracectl destroy "$(user ktracectl list --json=short | jq -r '.[0].id')"
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}
case_python_client() { # the four lines in the module's and README's text read each own call, and none of others
        needs_module
        client < <("${PYTHON[@]}" -c 'import ktrace; print(ktrace.__doc__)')
        client <"$here/../../README.md"
}

case_python_async() { # an asynchronous agent reads records, and other tasks run while it waits
        needs_module
        cat >t.py <<'END'
import asyncio, json, sys, ktrace

async def tick(ticks):
    while True:
        ticks.append(1)
        await asyncio.sleep(0.01)

async def main():
    ticks, n = [], 0
    ticking = asyncio.create_task(tick(ticks))
    async with await ktrace.create(json.loads(sys.argv[1])) as session:
        async for record in session:
            n += record.kind == "event" and record.id == 1000
            if n == 70:
                break
        print(n, len(ticks) > 20, session.statistics()["lost"], flush=True)

asyncio.run(main())
END
        calls_after user go
        python_agent t.py
        sleep 0.5
        touch go
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        same "70 True 0" "$(cat background.out)" "records, ticks, lost events"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

case_python_hangs() { # a daemon that hangs raises an error after the timeout, and blocks no asynchronous loop
        needs_module
        cat >t.py <<'END'
import asyncio, errno, json, sys, time, ktrace

async def tick(ticks):
    while True:
        ticks.append(time.monotonic())
        await asyncio.sleep(0.01)

async def main(varlink):
    ticks = []
    ticking = asyncio.create_task(tick(ticks))
    await asyncio.sleep(0)
    try:
        await ktrace.create(json.loads(sys.argv[1]), varlink=varlink, timeout=1)
        print("no error")
    except ktrace.Error as error:
        gaps = [b - a for a, b in zip(ticks, ticks[1:])]
        print(errno.errorcode[error.errno], len(gaps) > 20 and max(gaps) < 0.9)
    # The program can also end at once.
    asyncio.create_task(ktrace.create(json.loads(sys.argv[1]), varlink=varlink))
    await asyncio.sleep(0.1)

for varlink in False, True:
    asyncio.run(main(varlink))
END
        local pid
        ktracectl list
        pid=$(daemon_pid)
        kill -STOP "$pid"
        timeout 60 "${PYTHON[@]}" t.py "$OWN_CALLS" >out 2>err || true
        kill -CONT "$pid"
        same "ETIMEDOUT True
ETIMEDOUT True" "$(cat out)" "errors: $(cat err)"
}

case_python_given_up() { # a session ends if its creation was given up, or if its end gets no answer
        needs_module
        cat >t.py <<'END'
import asyncio, errno, json, os, sys, time, ktrace

SPEC = json.loads(sys.argv[1])

async def give_up():
    try:
        await asyncio.wait_for(ktrace.create(SPEC), 0.5)
    except asyncio.TimeoutError:
        print("given up", flush=True)
    while not os.path.exists("end"):
        await asyncio.sleep(0.05)

try:
    with ktrace.session(SPEC, timeout=1):
        print("made", flush=True)
        while not os.path.exists("hangs"):
            time.sleep(0.05)
except ktrace.Error as error:
    print(errno.errorcode[error.errno])
asyncio.run(give_up())
END
        local pid
        ktracectl list
        pid=$(daemon_pid)
        background user setpriv --no-new-privs "${PYTHON[@]}" t.py "$OWN_CALLS"
        within 20 has_lines 1 || fail "$(cat background.err)"
        kill -STOP "$pid"
        touch hangs
        within 20 has_lines 3 || { kill -CONT "$pid"; fail "$(cat background.out background.err)"; }
        kill -CONT "$pid"
        within 20 no_sessions || fail "left: $(ktracectl list)"
        sleep 1 # ktraced may not have begun with the second session
        same 0 "$(ktracectl list --json=short | jq length)" "sessions: $(ktracectl list)"
        touch end
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        same "made ETIMEDOUT given up" "$(xargs <background.out)" "what happened: $(cat background.err)"
}
no_sessions() { [ "$(ktracectl list --json=short | jq length)" = 0 ]; }

case_python_misused() { # what is closed, or no text for C, raises an error and harms nothing
        needs_module
        cat >t.py <<'END'
import gc, json, sys, ktrace

SPEC = json.loads(sys.argv[1])

def refused(function, *arguments):
    try:
        function(*arguments)
        print("no error", function)
    except ValueError as error:
        print(error)

connection = ktrace.Connection()
session, other = connection.create(SPEC), connection.create(SPEC)
refused(session.mark, "a\0b")
refused(connection.find, "a\0b")
refused(ktrace.Reader, "a\0b")
del other
connection.close()
refused(session.start)
refused(session.notices)
session.close()
session.close()
loop = ktrace.Connection()
loop.itself = loop, loop.create(SPEC)
del loop, session, connection
gc.collect()
END
        expect 0 user setpriv --no-new-privs "${PYTHON[@]}" t.py "$OWN_CALLS"
        same "embedded null character
embedded null character
embedded null character
the connection is closed
the connection is closed" "$(cat out)" "errors: $(cat err)"
}

case_python_hostile() { # a name with bytes for terminals, which is no UTF-8, can be printed and is escaped
        needs_module
        local name=$'x\xff\e[31m\u202e'
        cp "$TARGET" "$name"
        ktracectl record -q -e sched:sched_process_exec -o t.kts -- "./$name" calls 3 1000
        expect 0 "${PYTHON[@]}" -c 'import ktrace
for record in ktrace.Reader("t.kts"):
    if "\udcff" in record.filename:
        assert record.filename == "./x\udcff\x1b[31m\u202e", ascii(record.filename)
        print(record)'
        grep -qE '^[[:print:]]*: filename=\./x\\xff\\x1b\[31m\\xe2\\x80\\xae pid=[0-9 a-z_=]*$' out ||
                fail "no line: $(cat -v out err)"
        same 1 "$(wc -l <out)" lines
}

case_python_dies() { # when the daemon dies, a reader raises an error after the last record
        needs_module
        ! service_manager || skip "systemd keeps streams"
        cat >t.py <<'END'
import json, sys, ktrace
try:
    with ktrace.session(json.loads(sys.argv[1])) as session:
        for record in session:
            print(record, flush=True)
except ktrace.Error as error:
    print(error.name, error, flush=True)
END
        calls_after user go
        python_agent t.py
        touch go
        within 20 has_lines 70 || fail "$(wc -l <background.out) lines: $(cat background.err)"
        killed
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        same 71 "$(wc -l <background.out)" lines
        tail -n 1 background.out | matches '^Ended .*ended' || fail "$(tail -n 1 background.out)"
}

case_python_errors() { # each refusal is an exception with ktraced's name and text
        needs_module
        cat >t.py <<'END'
import errno, ktrace
connection = ktrace.Connection()
for spec in {"scope": "system", "events": ["sched:sched_switch"]}, {"scope": "own", "events": ["no:no"]}, {"x": 1}:
    try:
        connection.create(spec)
        print("no error", spec)
    except ktrace.Error as error:
        print(error.name, errno.errorcode[error.errno], "\n" not in str(error) and len(str(error)) > 10)
try:
    connection.find("nobody")
except ktrace.Error as error:
    print(error.name)
print(connection.check({"scope": "system", "events": ["sched:sched_switch"]})["polkit"])
connection.close()
try:
    connection.find("nobody")
except ValueError as error:
    print(error)
for path in "/etc/passwd", "/etc", "/no/such/file":
    try:
        ktrace.Reader(path)
    except ktrace.Error as error:
        print(error)
END
        expect 0 user "${PYTHON[@]}" t.py
        same "AccessDenied EACCES True
AccessDenied EACCES True
UnknownKey EINVAL True
NoSuchSession
org.ktrace1.trace-system
the connection is closed
/etc/passwd: not a ktrace stream and not a trace.dat of trace-cmd
/etc: Is a directory
/no/such/file: No such file or directory" "$(cat out)" "errors"
}

case_python_session() { # a flight recorder: its states, marks, statistics, snapshots and notices
        needs_module
        cat >t.py <<'END'
import os, ktrace
with ktrace.session({"mode": "flight", "scope": "system", "events": ["raw_syscalls:sys_enter"], "buffer-kb": 256}) as s:
    s.start()
    print(s.describe()["state"])
    s.mark("here it is")
    with s.snapshot() as snapshot:
        print([r.text for r in snapshot if r.event == "print"])
        print(snapshot.end["code"], bool(snapshot.receipt))
    s.stop()
    print([n["state"] for n in s.notices() if "state" in n])
    print(s.statistics()["lost"] >= 0)
END
        expect 0 "${PYTHON[@]}" t.py
        grep -q "here it is" out || fail "no mark: $(cat out)"
        grep -q "'running', 'stopping', 'stopped'" out || fail "no states: $(cat out)"
        same running "$(head -n 1 out)" "the state"
        within 20 no_instance || fail "left: $(ls "$TRACEFS/instances")"
}

case_python_histogram() { # a session is found by its name; its histogram counts, and can be cleared
        needs_module
        cat >t.py <<'END'
import sys, time, ktrace
with ktrace.Connection() as connection:
    connection.create({"name": "box", "scope": "own", "triggers": [
        {"when": "raw_syscalls:sys_enter if id == 1000", "do": "hist", "keys": ["id"]}]})
    with connection.find("box") as session:
        session.start()
        print("runs", flush=True)
        while session.histogram()[0]["hits"] < 70:
            time.sleep(0.05)
        row = session.histogram()[1]
        print(row["keys"], row["hitcount"], session.id == session.describe()["id"])
        session.configure({"hist-clear": ""})
        print(session.histogram("")[0]["hits"], connection.call("GetLimits")["limits"]["max-sessions-per-uid"] > 0)
    print(connection.call("ListSessions")["sessions"])
END
        calls_after user go
        calls_after stranger go
        background user setpriv --no-new-privs "${PYTHON[@]}" t.py
        within 20 has_lines 1 || fail "$(cat background.err)"
        touch go
        wait "$BACKGROUND" || fail "status $?: $(cat background.err)"
        same "runs
{'id': 1000} 70 True
0 True
[]" "$(cat background.out)" "what the program saw"
}

case_python_values() { # the records of recordings have the same fields and texts as ktracectl report
        needs_module
        ktracectl record -q -a -e sched:sched_switch -e raw_syscalls:sys_enter -e sched:sched_process_exec \
                -o t.kts -- sh -c 'for i in 1 2 3; do /bin/true; done'
        ktracectl convert t.kts -o t.dat
        cat >t.py <<'END'
import json, sys, ktrace
expected = [line for line in map(json.loads, open(sys.argv[2])) if "event" in line]
with ktrace.Reader(sys.argv[1]) as reader:
    records = list(reader)
assert len(records) == len(expected) > 10, (len(records), len(expected))
for record, want in zip(records, expected):
    fields = {k: list(v) if isinstance(v, tuple) else v for k, v in record.fields.items()}
    assert fields == want["fields"], (fields, want)
    assert (record.event, record.cpu, record.tid) == (want["event"], want["cpu"], want["pid"]), (record, want)
with ktrace.Reader(sys.argv[1]) as reader:
    table = reader.read_table("sched:sched_switch")
    assert reader.read_table("sched:sched_switch") is None
switches = [record for record in records if record.event == "sched_switch"]
assert len(table) == len(switches) and table.lost == table.damaged == 0
for name in "time", "cpu", "tid", "task":
    assert table.columns[name] == [getattr(record, name) for record in switches], name
for name in switches[0].fields:
    assert table.columns[name] == [record.fields[name] for record in switches], name
print(len(records))
END
        for file in t.kts t.dat; do
                ktracectl report --json "$file" >t.json
                expect 0 "${PYTHON[@]}" t.py "$file" t.json
        done
}

case_python_pandas() { # a data frame has the values of the records; strings are categories, times are UTC
        needs_module
        /usr/bin/python3 -c 'import pandas' 2>/dev/null || skip "no python3-pandas"
        ktracectl record -q -a -e sched:sched_switch -e raw_syscalls:sys_enter -o t.kts -- \
                sh -c 'for i in 1 2 3; do /bin/true; done'
        cat >t.py <<'END'
import time, pandas, ktrace
frame = ktrace.Reader("t.kts").to_pandas("sched:sched_switch")
records = [r for r in ktrace.Reader("t.kts") if r.event == "sched_switch"]
assert len(frame) == len(records) > 0
assert list(frame.next_pid) == [r.next_pid for r in records]
assert list(frame.prev_comm) == [r.prev_comm for r in records]
assert frame.prev_comm.dtype == "category" and frame.time.is_monotonic_increasing
assert abs(frame.realtime.iloc[0].timestamp() - time.time()) < 600, frame.realtime.iloc[0]
assert frame.attrs == {"lost": 0, "damaged": 0}
calls = ktrace.Reader("t.kts").to_pandas("raw_syscalls:sys_enter")
assert all(len(a) == 6 for a in calls.args.head(20))
assert set(ktrace.Reader("t.kts").to_pandas().event) == {"sched:sched_switch", "raw_syscalls:sys_enter"}
END
        expect 0 "${PYTHON[@]}" t.py
}

case_python_documented() { # pydoc has a text for each member that a program can use
        needs_module
        cat >t.py <<'END'
import inspect, ktrace
for name in ktrace.__all__:
    one = getattr(ktrace, name)
    members = vars(one).items() if inspect.isclass(one) else []
    print(*[f"{name}.{key}" for key, member in [("", one), *members] if not key.startswith("_") and
            (callable(member) or isinstance(member, property)) and not inspect.getdoc(member)], end="")
END
        expect 0 "${PYTHON[@]}" t.py
        same '' "$(cat out)" "members without a text"
}

case_python_installs() { # pip installs the module from its source without a compiler
        needs_module
        /usr/bin/python3 -c 'import setuptools, pip' 2>/dev/null || skip "no pip and setuptools"
        cp -r "$here/../../client/python" source
        expect 0 env CC=/bin/false /usr/bin/python3 -m pip install --quiet --no-index --no-build-isolation \
                --target "$T/installed" ./source
        expect 0 "${PYTHON[@]/$PYTHON_MODULE/$T/installed}" -c \
                'import ktrace, os; print(sorted(os.listdir(os.path.dirname(ktrace.__file__))))'
        grep -q "py.typed" out || fail "not typed: $(cat out)"
}

case_python_watch() { # notices of all sessions, with and without asyncio, while the sessions come and go
        needs_module
        cat >t.py <<'END'
import asyncio, threading, ktrace

SPEC = {"name": "box", "scope": "own", "events": ["raw_syscalls:sys_enter"]}

def heard(notice):
    return notice["kind"], notice.get("state") or notice.get("code"), notice["name"]

def watch():
    with ktrace.Connection() as connection:
        for notice in connection.watch():
            return heard(notice)

async def watch_async():
    with ktrace.Connection(varlink=True) as connection:
        found = []
        async for notice in connection.watch():
            found.append(heard(notice))
            if notice.get("state") == "gone":
                return found

async def main():
    with ktrace.Connection() as connection:
        connection.call("GetLimits")  # starts ktraced, also for the socket
    first = asyncio.ensure_future(asyncio.to_thread(watch))
    all_of_it = asyncio.ensure_future(watch_async())
    while not (first.done() and all_of_it.done()):  # the watches begin when they can
        async with await ktrace.create(SPEC):
            await asyncio.sleep(0.1)
    print(first.result()[0], first.result()[2])
    print(all_of_it.result()[-2:])
    try:
        with ktrace.Connection() as connection:
            next(iter(connection.watch(all_users=True)))
    except ktrace.Error as error:
        print(error.name)

asyncio.run(main())
END
        expect 0 user timeout 60 "${PYTHON[@]}" t.py
        same "state box
[('ended', 'destroyed', 'box'), ('state', 'gone', 'box')]
AccessDenied" "$(cat out)" "what was heard: $(cat err)"
}
