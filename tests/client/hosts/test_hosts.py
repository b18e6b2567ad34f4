#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""ktracectl -H a,b with far sides that are hostile, slow or many: test_hosts.py KTRACECTL [MACHINES...]. TAP.
As KTRACE_SSH, this program is such a far side: the name of the host is that of a function far_NAME, and what follows a
'.' makes it another host. With numbers of machines it prints what they cost, and checks that it is linear."""
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
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "remote")]
from packets import (ARGUMENT, ARMED, CLOCK, CLOCK_TIMES, ERRORS, EXIT, LEAVE, OUTPUT, PING, RUN, SIGNAL, START,
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


def serve(offset=0, on_clock=None, stream=b"no stream" * 100, stuck=False):
    """A far side that behaves, but for what the arguments say."""
    send(hello(protocol=2))
    while True:
        found = read(sys.stdin.buffer)
        if found is None:
            return
        kind, data = found
        if kind == RUN:
            send(packet(ARMED))
        elif kind == CLOCK:
            send(on_clock(data) if on_clock else clocks(data, offset))
        elif kind == START:
            begin = struct.unpack("<Q", data)[0]
            while not on_clock and time.clock_gettime_ns(time.CLOCK_MONOTONIC) + offset < begin:
                time.sleep(0.001)
            if begin:
                send(packet(STARTED, struct.pack("<Q", time.clock_gettime_ns(time.CLOCK_MONOTONIC) + offset)))
            if stuck:
                time.sleep(60)
            send(*[packet(STREAM, stream[i:i + 65536]) for i in range(0, len(stream), 65536)],
                 packet(STREAM_END, b"\0"))
        elif kind == LEAVE:
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
assert PING and SIGNAL
KTRACECTL = os.path.abspath(sys.argv[1])
FOLDER = pathlib.Path(tempfile.mkdtemp())
ENVIRONMENT = os.environ | {"KTRACE_SSH": os.path.abspath(__file__), "LC_ALL": "C.UTF-8", "FOLDER": str(FOLDER)}


def start(*hosts, **more):
    shutil.rmtree(FOLDER / "t", ignore_errors=True)
    return subprocess.Popen([KTRACECTL, "record", "-H", ",".join(hosts), "-e", "a:b", "-o", "t"], cwd=FOLDER,
                            env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def run(*hosts):
    """The status, the messages, and the manifest by host."""
    with start(*hosts) as process:
        out, errors = process.communicate(timeout=100)
    machines = json.loads((FOLDER / "t/manifest.json").read_text())["machines"]
    return process.returncode, out, errors, {machine["host"]: machine for machine in machines}


def check_bad(host, expected):
    """The bad host is named with the reason, and the good one has its recording."""
    status, out, errors, machines = run("good", host)
    line = f"ktracectl: {host}: {expected}".encode()
    check(f"{host}: {expected}", [] if line in errors and machines["good"]["started"] > 0
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
    with start(*[f"good.{i}" for i in range(n)]) as process:
        peak = 0
        while process.poll() is None:
            peak = max(peak, get_memory(process.pid) + sum(map(get_memory, get_readers(process.pid))))
            time.sleep(0.1)
        errors = process.stderr.read()
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
check_bad("ended", "no?[31m luck")
check_bad("old", "ktracectl there is too old to record together with other machines")
check("an old machine gets no command", ["it did"] if (FOLDER / "old-got-it").exists() else [])
check_bad("empty", "it sent no recording")
status, out, errors, machines = run("good", "good.2")
check("a stream that is none", [] if status == 1 and b"t/good.2.kts: " in errors
      and machines["good.2"]["state"] == "cut" else [f"status {status}", repr(errors), repr(machines)])
status, out, errors, machines = run("noise", "good")
check("each line of a machine begins with its name, and a long one is cut",
      [] if all(line.startswith(b"noise: ") and len(line) <= 4096 + 7 for line in out.splitlines()) and
      b"noise: line\n" in out else [repr(out[:200])])

with start("mute", "good") as process:
    time.sleep(12)
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=20)[1]
check("a machine without clocks never starts, and ^C leaves it", [] if b"mute: interrupted" in errors else
      [repr(errors)])

with start("stuck", "stuck.2", "stuck.3") as process:
    limit = time.monotonic() + 60
    while not (FOLDER / "arguments").exists() and time.monotonic() < limit:
        time.sleep(0.1)
    counts = [len(os.listdir(f"/proc/{reader}/fd")) for reader in get_readers(process.pid)]
    check("the reader of a stream has no connection to another machine",
          [] if counts == [5, 5, 5] or "asan" in KTRACECTL else [repr(counts)])
    arguments = (FOLDER / "arguments").read_text()
    check("ssh asks for no password", [] if arguments.startswith("-axT -oBatchMode=yes -- stuck") else [arguments])
    process.kill()

with start("flood", "flood.2", "good") as process:
    time.sleep(2)
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    kilobytes = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
    check("a flood for a stuck reader takes no memory", [] if kilobytes < 40000 or "asan" in KTRACECTL
          else [f"{kilobytes} kB"])
    process.kill()
end()
