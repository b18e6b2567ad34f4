#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""ktracectl -H with a far side that is hostile, stuck or gone: test_near.py KTRACECTL. TAP.
As KTRACE_SSH, this program is that far side: FAR is the name of a function far_NAME."""
import atexit
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).parents[2])]
from packets import (ARGUMENT, CLOCK, CLOCK_TIMES, ERROR, ERRORS, EXIT, HELLO, INPUT, INPUT_TAKEN, LEAVE, OUTPUT, PING,
                     PONG, RUN, SIGNAL, STREAM, STREAM_END, STREAM_NEXT, WINDOW, hello, packet, read)
from tap import check, end

ESCAPE = b"\x1b]0;title\x07\x1b[31mred\xc2\x9b1m\n"


def sample(n_lost=0):
    """A recording, without its last bytes."""
    data = (pathlib.Path(__file__).parents[2] / "e2e/samples/x86-64.kts").read_bytes()
    data = data[:len(data) - n_lost]
    return b"".join(packet(STREAM, data[i:i + 65536]) for i in range(0, len(data), 65536))


def refresh(name="sh", **more):
    """What `top` sends for one refresh."""
    row = {"thread": 7, "name": name, "calls": 5, "errors": 0, "call-nsec": 1, "read-bytes": 0, "written-bytes": 0,
           "most": "read"}
    return json.dumps({"scope": "own processes", "interval-nsec": 10 ** 9, "events": 10, "lost-events": 0,
                       "lost-more": False, "other-calls": 0, "threads": [row], "calls": [], "devices": []} |
                      more).encode() + b"\n"


def send(*packets):
    sys.stdout.buffer.write(b"".join(packets))
    sys.stdout.buffer.flush()


def read_until(kind):
    """The packets up to one of this kind."""
    packets = []
    while not packets or packets[-1][0] != kind:
        packets.append(read(sys.stdin.buffer))
        if packets[-1] is None:
            sys.exit(9)
    return packets


def far_words():
    words = [data.decode() for kind, data in read_until(RUN) if kind == ARGUMENT]
    send(hello(), packet(OUTPUT, json.dumps([sys.argv[1:], words]).encode()), packet(EXIT, b"\7"))


def far_terminal():
    send(hello(), packet(OUTPUT, ESCAPE), packet(OUTPUT, b"a\xc2"), packet(OUTPUT, b"\x9bb\n"),
         packet(ERRORS, ESCAPE), packet(EXIT, b"\0"))


def far_notice():
    """ssh prints, too."""
    os.write(2, b"notice\n")
    send(hello(), packet(ERRORS, b"error\n"), packet(EXIT, b"\0"))
    time.sleep(0.05)


def far_slow():
    for byte in hello() + packet(OUTPUT, b"slow\n") + packet(EXIT, b"\0"):
        send(bytes([byte]))
        time.sleep(0.002)


def far_flood():
    send(hello())
    while True:
        send(packet(OUTPUT, b"x" * 65536))


def far_notices():
    send(hello())
    while True:
        os.write(2, b"x" * 65535 + b"\n")


def far_stuck():
    send(hello())
    read_until(INPUT)  # it has read the hello
    (FOLDER / "ready").touch()
    number = read_until(SIGNAL)[-1][1]
    (FOLDER / "signal.new").write_bytes(number)
    (FOLDER / "signal.new").rename(FOLDER / "signal")
    time.sleep(60)


def far_ended():
    send(hello(), packet(STREAM, b"no stream" * 100))
    number = read_until(SIGNAL)[-1][1]
    send(packet(STREAM_END, b"\0"), packet(EXIT, number))


def clocks(make):
    """A recording with a question of clocks before and after it. make: the clocks of an answer; None: no answer."""
    send(hello(protocol=2))
    questions = 0
    while True:
        kind, data = read(sys.stdin.buffer)
        if kind == RUN:
            send(sample(), packet(STREAM_END, b"\0"))
        elif kind == CLOCK:
            questions += 1
            times = make(questions)
            send(*[packet(CLOCK_TIMES, data + struct.pack("<3Q", *times))] if times else [])
        elif kind == LEAVE:
            send(packet(EXIT, b"\0"))
            return


def far_ahead():
    """Its time of day is an hour ahead, and its other clocks began when it started."""
    clocks(lambda n: (n, n, time.time_ns() + 3600 * 10 ** 9))


def far_huge():
    clocks(lambda n: (2 ** 64 - 1,) * 3)


def far_mute():
    clocks(lambda n: None)


def far_asked():
    """A flight recorder that takes a snapshot when it is asked for one, and then ends."""
    send(hello(protocol=4))
    (FOLDER / "ready").touch()
    asked = read_until(SIGNAL)[-1][1] == bytes([signal.SIGUSR1])
    send(sample(), packet(STREAM_NEXT, b"\0"), packet(STREAM_END, b"\0"), packet(EXIT, bytes([0 if asked else 9])))


def far_input():
    n = 0
    send(hello())
    limit = time.monotonic() + 2
    data = b""
    while time.monotonic() < limit:
        data += os.read(0, 1 << 20) if select.select([0], [], [], 0.1)[0] else b""
    while data:
        kind, size = data[2], int.from_bytes(data[4:8], "little")
        n += size if kind == INPUT else 0
        data = data[8 + size:]
    send(packet(OUTPUT, b"%d\n" % n), packet(EXIT, b"\0"))


def far_password():
    """A login that asks on the terminal, and a command that reads it."""
    terminal = os.open("/dev/tty", os.O_RDWR)
    os.write(terminal, b"password: ")
    password = os.read(terminal, 100)
    send(hello())
    os.write(terminal, b"ready")
    line = next(data for kind, data in iter(lambda: read(sys.stdin.buffer), None) if kind == INPUT)
    (FOLDER / "lines").write_bytes(password + line)
    send(packet(EXIT, b"\0"))


def far_lines():
    """A command that prints for some seconds, and notices then that its output has no reader."""
    send(hello(), sample())
    read_until(RUN)
    for _ in range(100):
        send(packet(OUTPUT, b"line\n" * 1000))
        time.sleep(0.03)
    number = read_until(SIGNAL)[-1][1]
    send(packet(STREAM_END, b"\0"), packet(EXIT, bytes([128 + number[0]])))


def far_raw():
    """Sends the packets of the test and ends."""
    send((FOLDER / "raw").read_bytes())


def far_top():
    """Sends the packets of the test, and keeps the orders that come for the verb."""
    read_until(RUN)
    send(hello(protocol=3), (FOLDER / "raw").read_bytes())
    with open(FOLDER / "orders", "ab", buffering=0) as orders:
        for kind, data in iter(lambda: read(sys.stdin.buffer), None):
            if kind == INPUT:
                orders.write(data)
                send(packet(INPUT_TAKEN, struct.pack("<I", len(data))))


def far_top_flood():
    read_until(RUN)
    send(hello(protocol=3))
    while True:
        send(packet(OUTPUT, refresh()))


if "FAR" in os.environ:
    FOLDER = pathlib.Path(os.environ["FOLDER"])
    globals()["far_" + os.environ["FAR"]]()
    sys.exit(0)

KTRACECTL = os.path.abspath(sys.argv[1])
FOLDER = pathlib.Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENVIRONMENT = os.environ | {"KTRACE_SSH": os.path.abspath(__file__), "LC_ALL": "C.UTF-8", "FOLDER": str(FOLDER)}


def run(far, *words, raw=b"", **more):
    (FOLDER / "raw").write_bytes(raw)
    return subprocess.run([KTRACECTL, *words], cwd=FOLDER, env=ENVIRONMENT | {"FAR": far}, capture_output=True,
                          timeout=120, check=False, **more)


def within(seconds, holds):
    limit = time.monotonic() + seconds
    while not holds() and time.monotonic() < limit:
        time.sleep(0.02)


def check_raw(what, raw, words, status, expected):
    found = run("raw", *words, raw=raw)
    good = found.returncode == status and expected in found.stderr and found.stderr.count(b"\n") == 1
    check(what, [] if good else [f"status {found.returncode}", repr(found.stderr)])


LIST = ("-H", "web1", "list")
RECORD = ("record", "-q", "-H", "web1", "-e", "a:b")

found = run("words", "-H", "root@web1:22", "list", "--json")
check("ssh gets a fixed command, and the command line comes in packets",
      [] if json.loads(found.stdout) == [["-axT", "-p", "22", "--", "root@web1", "ktracectl", "serve"],
                                         [KTRACECTL, "-H", "root@web1:22", "list", "--json"]]
      else [repr(found)])
check("the status is that of the verb there", [] if found.returncode == 7 else [repr(found)])
found = run("words", *RECORD, "-o", "-", "--", "sh", "-c", "a 'b' $c\n*")
check("no shell changes a word",
      [] if json.loads(found.stdout)[1][-3:] == ["sh", "-c", "a 'b' $c\n*"] else [repr(found)])
check("a far side that sends bytes one by one", [] if run("slow", *LIST).stdout == b"slow\n" else ["it does not"])
found = run("terminal", *LIST)
check("a pipe gets what was printed", [] if found.stdout == ESCAPE + b"a\xc2\x9bb\n" else [repr(found.stdout)])

found = run("notice", *LIST)
check("what ssh and the verb print on standard error comes together",
      [] if sorted(found.stderr.split()) == [b"error", b"notice"] and found.returncode == 0 else [repr(found)])

for words, is_clean in (((*LIST, "--no-pager"), True), ((*RECORD, "-o", "x.kts", "--", "true"), False)):
    main, terminal = pty.openpty()
    subprocess.run([KTRACECTL, *words], cwd=FOLDER, env=ENVIRONMENT | {"FAR": "terminal"}, stdout=terminal,
                   stderr=terminal, stdin=subprocess.DEVNULL, timeout=30, check=False)
    shown = os.read(main, 4096)
    os.close(terminal)
    os.close(main)
    has_control = any(byte < 0x20 and byte not in b"\r\n\t" for byte in shown) or b"\xc2\x9b" in shown
    check(f"{words[0] if is_clean else 'a command'}: control characters on a terminal",
          [] if has_control != is_clean and b"red" in shown else [repr(shown)])

main, terminal = pty.openpty()
subprocess.run([KTRACECTL, *LIST], env=ENVIRONMENT | {"FAR": "terminal", "PAGER": "cat -", "SYSTEMD_PAGER": "cat -"},
               stdout=terminal, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=120, check=False)
shown = os.read(main, 4096)
os.close(terminal)
os.close(main)
check("a pager gets no control characters", [] if b"red" in shown and b"\x1b" not in shown else [repr(shown)])

BAD = b"may not come now"
for what, raw, expected in (
        ("text", b"Last login: today\n", b'got "Last login: today"'),
        ("no hello", packet(OUTPUT, b"x"), BAD),
        ("two hellos", hello() * 2, BAD),
        ("a packet of the near side", hello() + packet(RUN), b"this side does not send"),
        ("an unknown packet", hello() + packet(99), b"unknown type 99"),
        ("a large packet", hello() + b"KT\x09\0\xff\xff\xff\xff", b"expected 1 to 65536"),
        ("a large hello", b"KT\x01\0\x01\x10\0\0", b"expected 2 to 4096"),
        ("a wrong hello", packet(HELLO, b'{"protocol": 1}'), b"hello: version"),
        ("a hello that is not JSON", packet(HELLO, b"\xff\xfe"), b"web1: "),
        ("a stream that was not asked for", hello() + packet(STREAM, b"x"), b"not asked for"),
        ("input that it did not get", hello() + packet(INPUT_TAKEN, b"\1\0\0\0"), b"more standard input"),
        ("an error", hello() + packet(ERROR, b"no\x1b[31m\nfun"), b"web1: no?[31m?fun"),
        ("an end without a status", hello(), b"the connection broke"),
        ("half a packet", hello() + packet(OUTPUT, b"xyz")[:9], b"the connection broke"),
        ("nothing", b"", b"got none")):
    check_raw(f"{what}: one line", raw, LIST, 1, expected)

for name in ("x.kts", "x.dat", "x.json"):
    for what, stream in (("text", b"hello" * 100), ("zeros", bytes(100000)),
                         ("a wrong first frame", b"KTS" + os.urandom(1000))):
        before = set(os.listdir(FOLDER))
        found = run("raw", *RECORD, "-o", name, raw=hello() + packet(STREAM, stream[:65536]) +
                    packet(STREAM_END, b"\0") + packet(EXIT, b"\0"))
        left = set(os.listdir(FOLDER)) - before - {name, name + ".kts"}
        check(f"a stream of {what} into {name} is refused", [] if found.returncode == 1 and not left
              and found.stderr else [f"status {found.returncode}", repr(found.stderr), *left])
        for path in (name, name + ".kts"):
            (FOLDER / path).unlink(missing_ok=True)
(FOLDER / "old.kts").write_text("old")
def record_raw(what, stream, status, *words, expected=0, message=b"", kept=False):
    """A recording whose far side sends this, and ends with this status."""
    found = run("raw", "record", "-H", "web1", "-e", "a:b", "-o", "x.kts", *words,
                raw=hello() + stream + packet(EXIT, bytes([status])))
    good = found.returncode == expected and message in found.stderr and (FOLDER / "x.kts").exists() == kept
    check(what, [] if good else [repr(found), *os.listdir(FOLDER)])
    (FOLDER / "x.kts").unlink(missing_ok=True)


COMMAND = ("--", "true")
KEEP, DISCARD = packet(STREAM_END, b"\0"), packet(STREAM_END, b"\1")
LOST = b"web1: expected a recording, got none"
record_raw("a whole recording", sample() + KEEP, 0, kept=True)
record_raw("no recording", KEEP, 0, expected=1, message=LOST)
record_raw("no end of a recording", b"", 0, *COMMAND, expected=125, message=LOST)
record_raw("a recording that is taken back without a word", sample() + DISCARD, 0, expected=1, message=LOST)
record_raw("a spec may say that the disk keeps it", DISCARD, 0, "--spec", "x.json")
record_raw("a recording that failed there", KEEP, 3, expected=3)
for status in (0, 7):
    record_raw(f"a recording that was cut, of a command with status {status}", sample(100) + KEEP, status, *COMMAND,
               expected=125, message=b"x.kts: ", kept=True)
for status in (0, 1, 4, 7):
    record_raw(f"a damaged stream with status {status}", packet(STREAM, b"KTS" * 100) + KEEP, status,
               expected=status if status not in (0, 4) else 1, message=b"x.kts: ", kept=True)
    record_raw(f"a damaged stream of a command with status {status}", packet(STREAM, b"KTS" * 100) + KEEP, status,
               *COMMAND, expected=125, message=b"x.kts: ", kept=True)
found = run("raw", *RECORD, "-o", "old.kts",
            raw=hello() + packet(STREAM, b"x") + packet(STREAM_END, b"\1") + packet(EXIT, b"\3"))
check("a recording that the far side takes back replaces nothing",
      [] if (FOLDER / "old.kts").read_text() == "old" and found.returncode == 3 else [repr(found)])

for where, status, message in (("| true", 128 + signal.SIGPIPE, b""), (">/dev/full", 125, b"No space left")):
    command = f'exec 3>&1; {{ "$@"; echo $? >&3; }} {where}'
    found = subprocess.run(["sh", "-c", command, "sh", KTRACECTL, *RECORD, "-o", "x.kts", "--", "yes"], cwd=FOLDER,
                           env=ENVIRONMENT | {"FAR": "lines"}, capture_output=True, timeout=60, check=False)
    good = found.stdout == b"%d\n" % status and message in found.stderr and (FOLDER / "x.kts").exists()
    check(f"a recording is kept when the output of its command ends in {where}", [] if good else [repr(found)])
    (FOLDER / "x.kts").unlink(missing_ok=True)

for far, ahead in ("ahead", 3600), ("huge", None), ("mute", None):
    found = run(far, *RECORD, "-o", "x.kts")
    receipt = subprocess.run([KTRACECTL, "report", "--receipt", "--json=short", "x.kts"], cwd=FOLDER,
                             capture_output=True, check=False).stdout
    clock = json.loads(receipt or "{}").get("clock")
    good = abs(clock["offset-usec"] / 1e6 - ahead) < 1 if clock and ahead else clock is None and not ahead
    check(f"clocks of a machine that is {far}", [] if good and found.returncode in (0, 4) else
          [repr(found), repr(receipt)])
    (FOLDER / "x.kts").unlink(missing_ok=True)

def flight_raw(what, stream, files, *words, protocol=4, expected=0, message=b""):
    """A flight recorder that sends these snapshots. files: the sizes of what is left in an own folder, by name."""
    folder = FOLDER / "flight"
    folder.mkdir()
    (folder / "t.1.kts").write_text("old")
    found = run("raw", *RECORD, *words, "-o", "flight/t.kts", raw=hello(protocol=protocol) + stream)
    left = {path.name: path.stat().st_size for path in folder.iterdir()}
    check(what, [] if found.returncode == expected and left == files and message in found.stderr
          else [repr(found), repr(left)])
    shutil.rmtree(folder)


FLIGHT = ("--flight", "--snapshot-on", "sched:sched_process_exec")
SIZE = (pathlib.Path(__file__).parents[2] / "e2e/samples/x86-64.kts").stat().st_size
NEXT, DROP, END = packet(STREAM_NEXT, b"\0"), packet(STREAM_NEXT, b"\1"), KEEP + packet(EXIT, b"\0")
flight_raw("two snapshots go to two files", sample() + NEXT + sample() + NEXT + END, {"t.kts": SIZE, "t.1.kts": SIZE},
           *FLIGHT)
flight_raw("no snapshot", DISCARD + packet(EXIT, b"\0"), {"t.1.kts": 3}, *FLIGHT)
flight_raw("the next one takes the place of one that is taken back", sample() + DROP + sample() + NEXT + END,
           {"t.kts": SIZE, "t.1.kts": 3}, *FLIGHT)
flight_raw("ends without snapshots between them", NEXT + DROP + sample() + NEXT + NEXT + DROP + sample() + NEXT + END,
           {"t.kts": SIZE, "t.1.kts": SIZE}, *FLIGHT)
flight_raw("a damaged snapshot costs the next one nothing",
           packet(STREAM, b"KTS" * 100) + NEXT + sample() + NEXT + END, {"t.kts": 300, "t.1.kts": SIZE}, *FLIGHT,
           expected=1, message=b"t.kts: ")
flight_raw("a connection that breaks in a snapshot keeps the one before", sample() + NEXT + sample(100),
           {"t.kts": SIZE, "t.1.kts": SIZE - 100}, *FLIGHT, expected=1, message=b"the connection broke")
flight_raw("a far side that is too old", sample() + END, {"t.1.kts": 3}, *FLIGHT, protocol=3, expected=1,
           message=b"the one there is too old")
flight_raw("no more snapshots than SIGUSR1 has asked for", sample() + NEXT + sample() + NEXT + END,
           {"t.kts": SIZE, "t.1.kts": 3}, "--flight", "--snapshot-on", "SIGUSR1", expected=1,
           message=b"more snapshots than were asked for")
flight_raw("a snapshot at the end is not missing without a word", END, {"t.1.kts": 3}, "--flight", expected=1,
           message=LOST)
flight_raw("no second file that was not asked for", sample() + NEXT + sample() + NEXT + END,
           {"t.kts": SIZE, "t.1.kts": 3}, expected=1, message=b"more streams than were asked for")
(FOLDER / "ready").unlink(missing_ok=True)
with subprocess.Popen([KTRACECTL, *RECORD, "--flight", "--snapshot-on", "SIGUSR1", "-o", "x.kts"], cwd=FOLDER,
                      env=ENVIRONMENT | {"FAR": "asked"}) as near:
    within(30, (FOLDER / "ready").exists)
    near.send_signal(signal.SIGUSR1)
check("SIGUSR1 asks for a snapshot there", [] if near.returncode == 0 and (FOLDER / "x.kts").exists()
      else [str(near.returncode)])
(FOLDER / "x.kts").unlink(missing_ok=True)

found = run("ended", *RECORD, "-o", "-")
check("a recording without a command ends with its output", [] if found.returncode == signal.SIGINT else [repr(found)])

found = run("input", *RECORD, "-o", "-", "--", "true", input=b"x" * (4 * WINDOW))
check("not more input than the window", [] if found.stdout == b"%d\n" % WINDOW else [repr(found)])
found = run("input", *RECORD, "-o", "-", "--spec", "-", input=b"x" * 1000)
check("a spec comes from standard input", [] if found.stdout == b"1000\n" else [repr(found)])
found = run("input", *LIST, input=b"x" * 1000)
check("no input for a verb that reads none", [] if found.stdout == b"0\n" else [repr(found)])

def read_terminal(fd, expected):
    """What it shows, up to this text; b"" when that does not come."""
    shown = b""
    while expected not in shown:
        if not select.select([fd], [], [], 10)[0]:
            return b""
        try:
            shown += os.read(fd, 4096)
        except OSError:  # the other end is closed
            return b""
    return shown


# Both could read the terminal: two tries.
for attempt in range(2):
    pid, main = pty.fork()
    if pid == 0:
        os.chdir(FOLDER)
        os.execve(KTRACECTL, [KTRACECTL, *RECORD, "-o", "x.kts", "--", "cat"], ENVIRONMENT | {"FAR": "password"})
    for question, answer in ((b"password: ", b"secret\n"), (b"ready", b"line\n")):
        if read_terminal(main, question):
            os.write(main, answer)
    read_terminal(main, b"never")
    os.close(main)
    os.waitpid(pid, 0)
    lines = (FOLDER / "lines").read_bytes() if (FOLDER / "lines").exists() else b""
    (FOLDER / "lines").unlink(missing_ok=True)
    check(f"{attempt}: the login gets the password, and the command the rest",
          [] if lines == b"secret\nline\n" else [repr(lines)])



def top(raw, shows=b"THREAD", keys=b"", far="top"):
    """The status of `top` on a terminal that shows this text and then types the keys, and all that it shows."""
    (FOLDER / "raw").write_bytes(raw)
    (FOLDER / "orders").unlink(missing_ok=True)
    pid, main = pty.fork()
    if pid == 0:
        os.execve(KTRACECTL, [KTRACECTL, "top", "-H", "web1"], ENVIRONMENT | {"FAR": far, "TERM": "xterm"})
    shown = read_terminal(main, shows)
    for key in keys.split(b" "):
        os.write(main, key)
        time.sleep(0.1)
    try:
        while more := os.read(main, 65536):
            shown += more
    except OSError:  # it has ended
        pass
    os.close(main)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


LEFT = b"\x1b[?1049l"  # the screen was given back
status, shown = top(packet(OUTPUT, refresh()), keys=b"d0.5\r q")
orders = (FOLDER / "orders").read_bytes()
check("top: an interval goes to the host, and q gives the screen back",
      [] if status == 0 and orders == b"500000\n" and shown.endswith(LEFT) and b"web1: own processes" in shown
      else [str(status), repr(orders), repr(shown)])
objects = refresh("\x1b]0;one\x07\x9b31m" + "n" * 1000, scope="\x1b]0;two\x07" + "s" * 1000)
status, shown = top(packet(ERRORS, b"\x1b]0;three\x07text\n") + packet(OUTPUT, objects[:100]) +
                    packet(OUTPUT, objects[100:] + refresh("\x1b]0;four\x07")), shows=b"0;four", keys=b"q")
check("top: no text of the host controls the terminal",
      [] if status == 0 and b"\x1b]" not in shown and b"\x9b" not in shown and b"\x07" not in shown
      and all(word in shown for word in (b"\\x1b]0;one", b"\\x1b]0;two", b"?]0;three?text")) else [repr(shown)])
status, shown = top(packet(OUTPUT, refresh(events=2 ** 63, **{"interval-nsec": 1})), keys=b"q")
check("top: the largest numbers", [] if status == 0 and b"G events/s" in shown else [repr(shown)])
status, shown = top(packet(OUTPUT, refresh()) + packet(ERRORS, b"ktracectl: it ended\n") + packet(EXIT, b"\5"))
check("top: the verb there ends, and its last words come after the screen",
      [] if status == 5 and shown.endswith(b"ktracectl: it ended\r\n") and LEFT in shown
      else [str(status), repr(shown)])
for what, raw, expected in (
        ("an object that is none", b"[]\n", b"top: expected an object"),
        ("no JSON", b"{\n", b"top:1: expected a key"),
        ("text without an end", b"x" * (4 << 20) + b"x", b"at most 4 MiB"),
        ("too many values", b"[" + b"1," * (1 << 19) + b"1]\n", b"top:1: too many values"),
        ("a missing number", refresh(events=None), b"top: events: expected a number"),
        ("a negative number", refresh(events=-1), b"top: events: expected a number"),
        ("a row that is none", refresh(threads=[1]), b"top: threads: expected a list of objects"),
        ("a table that is none", refresh(calls={}), b"top: calls: expected a list of objects"),
        ("a name that is none", refresh(7), b"top: threads.name: expected a name"),
        ("a scope that is none", refresh(scope=1), b"top: scope: expected a text")):
    status, shown = top(packet(OUTPUT, refresh()) +
                        b"".join(packet(OUTPUT, raw[i:i + 65536]) for i in range(0, len(raw), 65536)))
    last = shown.split(LEFT)[-1]
    check(f"top: {what}: one line", [] if status == 1 and LEFT in shown and expected in last and last.count(b"\n") == 1
          and b"\nktracectl: web1: " in b"\n" + last else [str(status), repr(shown)])
check_raw("top: a stream", hello(protocol=3) + packet(STREAM, b"x"), ("top", "-b", "-H", "web1"), 1, b"not asked for")
check_raw("top: a host that is too old", hello(protocol=2) + packet(EXIT, b"\0"), ("top", "-b", "-H", "web1"), 1,
          b"the one there is too old")
status, shown = top(b"", keys=b"q", far="top_flood")
check("top: keys count in a flood", [] if status == 0 else [str(status), repr(shown[-500:])])

for far in ("notices", "flood"):
    with subprocess.Popen([KTRACECTL, *LIST], env=ENVIRONMENT | {"FAR": far}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        time.sleep(2)
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        kilobytes = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
        check(f"{far}: a stuck reader takes no memory", [] if kilobytes < 40000 or "asan" in KTRACECTL
              else [f"{kilobytes} kB"])
        if far == "notices":
            process.kill()
            continue
        process.stdout.close()
        check("a flood ends with its reader", [] if process.wait(10) == 128 + signal.SIGPIPE
              else [str(process.returncode)])

main, terminal = pty.openpty()
with subprocess.Popen([KTRACECTL, *LIST, "--no-pager"], env=ENVIRONMENT | {"FAR": "flood"}, stdin=subprocess.DEVNULL,
                      stdout=terminal, stderr=terminal) as process:
    time.sleep(2)
    for _ in range(20):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        if process.poll() is not None:
            break
    check("^C ends it when the terminal is stuck", [] if process.returncode in (130, -signal.SIGINT)
          else [str(process.returncode)])
    process.kill()
os.close(main)
os.close(terminal)

(FOLDER / "ready").unlink(missing_ok=True)
with subprocess.Popen([KTRACECTL, *LIST], env=ENVIRONMENT | {"FAR": "stuck"}, stderr=subprocess.PIPE) as process:
    within(10, (FOLDER / "ready").exists)
    process.send_signal(signal.SIGINT)
    within(10, (FOLDER / "signal").exists)
    told = (FOLDER / "signal").read_bytes() if (FOLDER / "signal").exists() else None
    check("^C goes to the far side", [] if told == bytes([signal.SIGINT]) and process.poll() is None else [repr(told)])
    time.sleep(0.5)  # signals that come together count once
    process.send_signal(signal.SIGINT)
    check("a second one leaves it", [] if process.wait(30) == 130 else [str(process.returncode)])
    check("and says so", [] if b"web1: interrupted" in process.stderr.read() else ["it does not"])
assert PING and PONG
end()
