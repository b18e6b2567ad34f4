#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""ktracectl -H a,b with far sides that are hostile, slow or many: test_hosts.py KTRACECTL [MACHINES...]. TAP.
As KTRACE_SSH, this program is such a far side: the name of the host is that of a function far_NAME, and what follows a
'.' makes it another host. With numbers of machines it prints what they cost, and checks that it is linear."""
import atexit
import fcntl
import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).parent
SAMPLE = HERE.parents[1] / "e2e/samples/x86-64.kts"
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "remote")]
from packets import (ARGUMENT, ARMED, CLOCK, CLOCK_TIMES, ERRORS, EXIT, LEAVE, OUTPUT, PING, PONG, RUN, SIGNAL, START,
                     STARTED, STREAM, STREAM_END, hello, packet, read)


def send(*packets):
    sys.stdout.buffer.write(b"".join(packets))
    sys.stdout.buffer.flush()


def clocks(answer, offset=0, reverse=False):
    """The three clocks, as the far side answers."""
    times = [time.clock_gettime_ns(clock) + offset
             for clock in (time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME, time.CLOCK_REALTIME)]
    if reverse:
        times = [(1 << 61) - one for one in times]
    return packet(CLOCK_TIMES, answer + struct.pack("<3Q", *times))


def serve(offset=0, on_clock=None, on_start=None, stream=b"no stream" * 100, stuck=False, arms=True, starts=True,
          ends=True, n_signals=0):
    """A far side that behaves, but for what the arguments say. n_signals: with so many its recording ends."""
    send(hello(protocol=2))
    while True:
        found = read(sys.stdin.buffer)
        if found is None:
            return
        kind, data = found
        if kind == RUN and arms:
            send(packet(ARMED))
        elif kind == CLOCK:
            send(on_clock(data) if on_clock else clocks(data, offset))
        elif kind == START:
            begin = struct.unpack("<Q", data)[0]
            if on_start:
                on_start(begin)
            while not on_clock and time.clock_gettime_ns(time.CLOCK_MONOTONIC) + offset < begin:
                time.sleep(0.001)
            if not starts:
                continue
            if begin:
                send(packet(STARTED, struct.pack("<Q", time.clock_gettime_ns(time.CLOCK_MONOTONIC) + offset)))
            if stuck:
                time.sleep(60)
            if n_signals > 0:
                continue
            send(*[packet(STREAM, stream[i:i + 65536]) for i in range(0, len(stream), 65536)],
                 packet(STREAM_END, b"\0"))
        elif kind == SIGNAL:
            n_signals -= 1
            if n_signals == 0:
                send(packet(STREAM, stream), packet(STREAM_END, b"\0"))
        elif kind == PING:
            send(packet(PONG))
        elif kind == LEAVE and ends:
            send(packet(EXIT, b"\0"))


def far_good():
    serve()


def far_ahead():
    serve(offset=10 ** 15)


def far_behind():
    serve(offset=-(time.clock_gettime_ns(time.CLOCK_MONOTONIC) - 10 ** 9))


def far_huge():
    serve(on_clock=lambda data: packet(CLOCK_TIMES, data + b"\xff" * 24))


def far_backwards():
    serve(on_clock=lambda data: clocks(data, reverse=True))


def far_unasked():
    """Answers that were not asked for, and old ones, are skipped."""
    serve(on_clock=lambda data: packet(CLOCK_TIMES, b"\xff" * 28) * 1000 + clocks(data))


def far_early():
    """It says that it has started before it may."""
    send(hello(protocol=2), packet(STARTED, bytes(8)))
    time.sleep(60)


def far_twice():
    send(hello(protocol=2), packet(ARMED), packet(ARMED))
    time.sleep(60)


def far_mute():
    """It never says what its clocks are."""
    serve(on_clock=lambda data: b"")


def far_slow():
    """Its first answers are lost."""
    began = time.monotonic()
    serve(on_clock=lambda data: clocks(data) if time.monotonic() - began > 3 else b"")


def far_lazy():
    """It answers as late as it may, so that its clocks are uncertain, and no second time."""
    def answer(data, answered=[]):
        if answered:
            return b""
        answered.append(data)
        time.sleep(1.8)
        return clocks(data)
    serve(on_clock=answer)


def far_measured():
    """It notes how far ahead the start is."""
    serve(on_start=lambda begin: pathlib.Path(os.environ["FOLDER"], "lead").write_text(
        str(begin - time.clock_gettime_ns(time.CLOCK_MONOTONIC))))


def far_dead():
    """Nothing answers."""
    time.sleep(100)


def far_unarmed():
    serve(arms=False)


def far_unstarted():
    serve(starts=False)


def far_unended():
    serve(ends=False)


def far_stubborn():
    """It ends with the second signal."""
    serve(n_signals=2)


def far_cut():
    """After ^C it says that all is well, but its stream has no end."""
    serve(n_signals=1, stream=SAMPLE.read_bytes()[:-200])


def far_hasty():
    send(hello(protocol=2), packet(STREAM, b"x"))
    time.sleep(60)


def far_latin():
    """What it says is no UTF-8."""
    send(hello(protocol=2), packet(ERRORS, b"\xff" * 255), packet(STREAM_END, b"\0"))
    while read(sys.stdin.buffer)[0] != LEAVE:
        pass
    send(packet(EXIT, b"\1"))


def far_gone():
    """As ssh says it."""
    sys.stderr.write("no route\r\n")
    sys.exit(255)


def far_waiting():
    while not pathlib.Path(os.environ["FOLDER"], "go").exists():
        time.sleep(0.1)
    serve()


def far_lines():
    """For verbs without a stream. Its last line has no end."""
    send(hello(protocol=2), packet(OUTPUT, b"one\ntwo"), packet(ERRORS, b"no end"), packet(EXIT, b"\0"))


def far_newlines():
    send(hello(protocol=2))
    while True:
        send(packet(OUTPUT, b"\n" * 65536))


def far_ended():
    """Its recording ends before it starts."""
    send(hello(protocol=2), packet(ERRORS, b"ktracectl: no\x1b[31m luck\n"), packet(STREAM_END, b"\0"))
    while read(sys.stdin.buffer)[0] != LEAVE:
        pass
    send(packet(EXIT, b"\3"))


def far_empty():
    serve(stream=b"")


def far_old():
    send(hello())
    while True:
        kind, data = read(sys.stdin.buffer)
        if kind == ARGUMENT:
            pathlib.Path(os.environ["FOLDER"], "old-got-it").touch()


def far_noise():
    send(hello(protocol=2), packet(OUTPUT, b"x" * 60000), packet(OUTPUT, b"\x1b[31mred\nline\n" * 3))
    serve_rest()


def serve_rest():
    while True:
        kind, data = read(sys.stdin.buffer)
        if kind == CLOCK:
            send(clocks(data))
        elif kind == RUN:
            send(packet(STREAM_END, b"\0"))
        elif kind == LEAVE:
            send(packet(EXIT, b"\0"))
            return


def far_stuck():
    """It records, and sends nothing."""
    pathlib.Path(os.environ["FOLDER"], "arguments").write_text(" ".join(sys.argv[1:]))
    serve(on_clock=clocks, stuck=True)


def far_flood():
    send(hello(protocol=2))
    while True:
        send(packet(OUTPUT, b"x" * 65535 + b"\n"))


if "FOLDER" in os.environ:
    globals()["far_" + sys.argv[sys.argv.index("--") + 1].split(".")[0]]()
    sys.exit(0)

from tap import check, end
KTRACECTL = os.path.abspath(sys.argv[1])
FOLDER = pathlib.Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENVIRONMENT = os.environ | {"KTRACE_SSH": os.path.abspath(__file__), "LC_ALL": "C.UTF-8", "FOLDER": str(FOLDER)}


def start(*hosts, folder="t", command=(), **more):
    shutil.rmtree(FOLDER / folder, ignore_errors=True)
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    return subprocess.Popen([KTRACECTL, "record", "-H", ",".join(hosts), "-e", "a:b", "-o", folder, *command],
                            cwd=FOLDER, env=ENVIRONMENT, **more)


def within(seconds, condition):
    """Waits for the condition. Returns whether it came true."""
    limit = time.monotonic() + seconds
    while not condition() and time.monotonic() < limit:
        time.sleep(0.05)
    return bool(condition())


def get_memory_of(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def get_fars(process):
    """The number of far sides that run."""
    try:
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return sum(b"ktracectl\0serve" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes() for child in children)
    except OSError:
        return 0


def run(*hosts):
    """The status, the messages, and the manifest by host."""
    with start(*hosts) as process:
        out, errors = process.communicate(timeout=100)
    machines = json.loads((FOLDER / "t/manifest.json").read_text())["machines"]
    return process.returncode, out, errors, {machine["host"]: machine for machine in machines}


def check_bad(host, expected, said=None):
    """The bad host is named with the reason, and the good one has its recording. said: ktracectl there printed it."""
    status, out, errors, machines = run("good", host)
    line = f"ktracectl: {host}: {said or expected}".encode()
    check(f"{host}: {expected}", [] if errors.count(line) == 1 and machines["good"]["started"] > 0
          and (not said or machines[host]["message"] == expected and errors.count(b"luck") == 1)
          and not any(b"\x1b" in one for one in errors.splitlines() if one.startswith(b"ktracectl")) else
          [f"status {status}", repr(errors), repr(machines)])


def get_memory(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        return int(next(line for line in text.splitlines() if line.startswith("Private_Dirty")).split()[1])
    except (OSError, StopIteration):
        return 0


def get_readers(pid):
    """The processes that read a stream, without ssh."""
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(child) for child in children
                if pathlib.Path(f"/proc/{child}/comm").read_text() == "ktracectl\n"]
    except OSError:
        return []


def measure(n):
    """Starts n machines at once. Returns the memory of ktracectl and of its readers in kB."""
    began = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with open(FOLDER / "errors", "w+b") as output:  # a pipe has no room for the lines of 500
        process = start(*[f"good.{i}" for i in range(n)], stdout=output, stderr=output)
        peak = 0
        while process.poll() is None:
            peak = max(peak, get_memory(process.pid) + sum(map(get_memory, get_readers(process.pid))))
            time.sleep(0.1)
        output.seek(0)
        errors = output.read()
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    machines = json.loads((FOLDER / "t/manifest.json").read_text())["machines"]
    n_started = sum("started" in machine for machine in machines)
    late = max(machine.get("started", 0) for machine in machines) - min(machine.get("started", 0)
                                                                      for machine in machines)
    print(f"# {n} machines: {time.monotonic() - began:.1f} s, {peak} kB, {cpu:.1f} s of CPU with their far sides, "
          f"started within {late / 1e6:.1f} ms", flush=True)
    check(f"{n} machines record", [] if n_started == n else [f"{n_started} started", repr(errors[-500:])])
    return peak


if len(sys.argv) > 2:
    counts = [int(count) for count in sys.argv[2:]]
    peaks = [measure(n) for n in counts]
    slope = (peaks[-1] - peaks[0]) / (counts[-1] - counts[0])
    print(f"# {slope:.0f} kB for a machine")
    check("memory grows linearly, and little", [] if slope < 300 else [repr(peaks)])
    end()
    sys.exit(0)

# Meanwhile: each of these would be awaited for ever.
patient = start("good", "slow", "mute", "unarmed", "unstarted", "unended", folder="patient", command=("--", "true"))
# "measured" leaves its place to the last of the dead ones, and "good" begins when the first of them are given up.
dead = start("measured", *[f"dead.{i}" for i in range(32)], "good", folder="dead")
check("dead machines do not delay the start", [] if within(20, (FOLDER / "dead/measured.kts").exists) else ["no start"])
status, out, errors, machines = run("lazy", "measured")
lead = int((FOLDER / "lead").read_text())
check("a machine that answers slowly does not delay the start", [] if machines["lazy"]["clock"][0]["bound"] > 8e8
      and 0 < lead < 1e9 else [f"{lead} ns", repr(machines), repr(errors)])

status, out, errors, machines = run("good", "ahead", "behind", "unasked")
check("clocks that are far away are no problem",
      [] if all(machine["clock"] and abs(machine["started"] - machines["good"]["started"]) < 3e9
                for machine in machines.values()) else [repr(machines), repr(errors)])
for name, offset in (("good", 0), ("ahead", 10 ** 15)):
    check(f"{name}: the offset is within its bound",
          [] if all(abs(point["mono"] - offset + (time.clock_gettime_ns(time.CLOCK_BOOTTIME) -
                                                   time.clock_gettime_ns(time.CLOCK_MONOTONIC)))
                    <= point["bound"] + 100000 for point in machines[name]["clock"]) else [repr(machines[name])])
check_bad("huge", "its clocks have times that no clock has")
check_bad("backwards", "its clocks run backwards")
check_bad("early", "a packet of the type started, which may not come now")
check_bad("twice", "a packet of the type armed, which may not come now")
check_bad("ended", "no?[31m luck", said="failed")
check_bad("old", "ktracectl there is too old to record together with other machines")
check("an old machine gets no command", ["it did"] if (FOLDER / "old-got-it").exists() else [])
check_bad("empty", "it sent no recording")
check_bad("hasty", "it sends a stream before it is ready")
check_bad("gone", "ssh cannot connect: no route")
check_bad("latin", "?" * 255)
message = json.loads((FOLDER / "t/manifest.json").read_text())["machines"][1]["message"]
check("a text that is no UTF-8 is one in the manifest", [] if message == "?" * 255 else [message])
status, out, errors, machines = run("good", "good.2")
check("a stream that is none", [] if status == 1 and b"t/good.2.kts: " in errors
      and machines["good.2"]["state"] == "cut" else [f"status {status}", repr(errors), repr(machines)])
with start("good", "good.2", command=("--", "true")) as process:
    errors = process.communicate(timeout=30)[1]
check("with a command it is 125", [] if process.returncode == 125 else [f"{process.returncode}", repr(errors)])
with start("gone", "ended") as process:
    errors = process.communicate(timeout=30)[1]
check("without a file no directory is left", [] if not (FOLDER / "t").exists() and process.returncode == 4 else
      [f"{process.returncode}", repr(errors)])
status, out, errors, machines = run("noise", "good")
check("each line of a machine begins with its name, and a long one is cut",
      [] if all(line.startswith(b"noise: ") and len(line) <= 4096 + 7 for line in out.splitlines()) and
      b"noise: line\n" in out else [repr(out[:200])])

with start("cut", "cut.2") as process:
    within(20, lambda: (FOLDER / "t/manifest.json").exists())
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=20)[1]
machines = json.loads((FOLDER / "t/manifest.json").read_text())["machines"]
check("a stream without an end is a failure, also after ^C",
      [] if process.returncode == 1 and b"t/cut.kts: " in errors and all(
          machine["state"] == "cut" and "message" in machine for machine in machines) else
      [f"{process.returncode}", repr(errors), repr(machines)])

with start("stubborn", "stubborn.2", command=("--", "true")) as process:
    within(20, lambda: (FOLDER / "t/manifest.json").exists())
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    errors = process.communicate(timeout=20)[1]
check("the second signal reaches the command", [] if b"stubborn: done" in errors and b"interrupted" not in errors
      else [repr(errors)])

with start("stuck", "stuck.2") as process:
    check("the manifest is written early", [] if within(20, lambda: (FOLDER / "t/manifest.json").exists()) else ["no"])
    process.kill()
    process.communicate()
machines = json.loads((FOLDER / "t/manifest.json").read_text())["machines"]
check("and names the files", [] if [machine.get("file") for machine in machines] == ["stuck.kts", "stuck.2.kts"] and
      all((FOLDER / "t" / machine["file"]).exists() and machine["clock"] for machine in machines) else [repr(machines)])

with start(*[f"waiting.{i}" for i in range(40)]) as process:
    is_reached = within(20, lambda: get_fars(process) == 32)
    time.sleep(0.6)
    n = get_fars(process)
    (FOLDER / "go").touch()
    errors = process.communicate(timeout=60)[1]
check("32 machines connect at one time", [] if is_reached and n == 32 else [f"{n}"])
machines = json.loads((FOLDER / "t/manifest.json").read_text())["machines"]
check("and all record", [] if all(machine.get("started") for machine in machines) else [repr(machines)])

(FOLDER / "arguments").unlink()
reader, writer = os.pipe()
fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
with start(*[f"gone.{i}.{'x' * 100}" for i in range(40)], "stuck", stderr=writer) as process:
    within(30, lambda: (FOLDER / "arguments").exists())
    for _ in range(8):
        process.send_signal(signal.SIGINT)
        ended = within(1, lambda: process.poll() is not None)
    check("^C ends it while standard error is stuck", [] if ended else ["it runs"])
    process.kill()
os.close(reader)
os.close(writer)

LIST = [KTRACECTL, "-H", "lines,lines.2", "list"]
found = subprocess.run(LIST, cwd=FOLDER, env=ENVIRONMENT, capture_output=True, timeout=20)
check("last lines without an end are printed",
      [] if found.stdout == b"lines: one\nlines: two\nlines.2: one\nlines.2: two\n" and
      sorted(found.stderr.splitlines()) == [b"lines.2: no end", b"lines: no end"] else [repr(found)])
with open("/dev/full", "wb") as full:
    found = subprocess.run(LIST, cwd=FOLDER, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, timeout=20)
check("a full disk", [] if found.returncode == 1 and b"cannot write to standard output" in found.stderr else
      [repr(found)])
reader, writer = os.pipe()
os.close(reader)
found = subprocess.run(LIST, cwd=FOLDER, env=ENVIRONMENT, stdout=writer, stderr=subprocess.PIPE, timeout=20)
os.close(writer)
check("a reader that is gone", [] if found.returncode == 141 else [repr(found)])
for words, expected in ((["spool", "list"], 0), (["spool", "fetch", "x"], 2), (["watch"], 0)):
    found = subprocess.run(LIST[:3] + words, cwd=FOLDER, env=ENVIRONMENT, capture_output=True, timeout=20)
    check(" ".join(words), [] if found.returncode == expected else [repr(found)])

(FOLDER / "arguments").unlink()


def has_arguments():
    """Whether the first ssh has written its line."""
    try:
        return (FOLDER / "arguments").read_text() != ""
    except FileNotFoundError:
        return False


with start("stuck", "stuck.2", "stuck.3") as process:
    limit = time.monotonic() + 60
    while not has_arguments() and time.monotonic() < limit:
        time.sleep(0.1)
    counts = [len(os.listdir(f"/proc/{reader}/fd")) for reader in get_readers(process.pid)]
    check("the reader of a stream has no connection to another machine",
          [] if counts == [5, 5, 5] or "asan" in KTRACECTL else [repr(counts)])
    arguments = (FOLDER / "arguments").read_text()
    check("ssh asks for no password", [] if arguments.startswith("-axT -oBatchMode=yes -- stuck") else [arguments])
    process.kill()

with start("flood", "flood.2", "newlines." + "x" * 200, "good") as process:
    os.set_blocking(process.stderr.fileno(), False)
    errors = b""

    def is_done():
        global errors
        errors += process.stderr.read() or b""
        return b"good: done" in errors

    check("a flood for a stuck reader stops no other machine", [] if within(20, is_done) else [repr(errors)])
    kilobytes = get_memory_of(process)
    check("and takes no memory", [] if kilobytes < 40000 or "asan" in KTRACECTL else [f"{kilobytes} kB"])
    process.kill()

errors = patient.communicate(timeout=60)[1]
machines = json.loads((FOLDER / "patient/manifest.json").read_text())["machines"]
for host, expected in (("mute", "it was not ready"), ("unarmed", "it was not ready"),
                       ("unstarted", "it did not start"), ("unended", "it did not end")):
    check(f"{host}: {expected}", [] if f"ktracectl: {host}: {expected} within 30 s".encode() in errors else
          [repr(errors)])
errors = dead.communicate(timeout=60)[1]
machines = {machine["host"]: machine for machine in
            json.loads((FOLDER / "dead/manifest.json").read_text())["machines"]}
check("a machine that connects after dead ones starts late",
      [] if errors.count(b"no connection within 30 s") == 32 and
      machines["good"]["started"] - machines["measured"]["started"] > 10e9 else [repr(errors), repr(machines)])
machines = json.loads((FOLDER / "patient/manifest.json").read_text())["machines"]
check("a machine whose clocks are slow starts late", [] if machines[1]["started"] > 0 else [repr(machines[1])])
end()
