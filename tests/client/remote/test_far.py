#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""ktracectl serve with a near side that is hostile, or gone: test_far.py KTRACECTL. TAP."""
import atexit
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).parents[2])]
from packets import (ARGUMENT, ERROR, EXIT, HELLO, INPUT, INPUT_TAKEN, OUTPUT, PING, PONG, RUN, SIGNAL, STREAM_END,
                     WINDOW, command, hello, joined, packet, read, read_all)
from tap import check, end

KTRACECTL = os.path.abspath(sys.argv[1])
FOLDER = pathlib.Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
SSH = FOLDER / "ssh"
SSH.write_text(f"#!/bin/sh\n: >{FOLDER}/called\n")
SSH.chmod(0o755)
ENVIRONMENT = os.environ | {"KTRACE_SSH": str(SSH), "LC_ALL": "C.UTF-8"}
SPEC = b'{"events": ["sched:sched_switch"], "scope": "own"}'


def start():
    return subprocess.Popen([KTRACECTL, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=ENVIRONMENT)


def serve(data):
    """The packets, the status, and the messages."""
    with start() as process:
        process.stdin.write(data)
        process.stdin.flush()
        packets = read_all(process.stdout)
        process.stdin.close()
        return packets, process.wait(10), process.stderr.read()


def check_served(what, data, kind, expected, status=0):
    packets, found, messages = serve(data)
    good = packets and packets[0][0] == HELLO and expected in joined(packets, kind) and found == status
    check(what, [] if good else [repr(packets), f"status {found}", repr(messages)])
    return packets


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def within(seconds, holds):
    limit = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    return True


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0]


def is_gone(pid):
    try:
        return state(pid) == "Z"
    except OSError:
        return True


def waiting():
    """A far side whose verb waits for standard input, and the pid of the verb."""
    process = start()
    process.stdin.write(command("ktracectl", "saved", "check", "-"))
    process.stdin.flush()
    assert within(10, lambda: children(process.pid))
    return process, children(process.pid)[0]


def finish(process):
    process.stdin.close()
    process.stdout.close()
    process.stderr.close()
    process.wait(10)


check_served("a verb runs", command("ktracectl", "--version"), OUTPUT, b"ktracectl ")
packets = check_served("its status comes last", command("ktracectl", "nosuch"), EXIT, b"\x02")
check("and nothing after it", [] if packets[-1][0] == EXIT else [repr(packets)])
check_served("its input comes, too",
             command("x", "saved", "check", "-") + packet(INPUT, SPEC) + packet(INPUT), OUTPUT,
             b"standard input: good")
check_served("a stream that was wanted has an end", command("x", "--version", stream=True), STREAM_END, b"\0")
check_served("serve does not serve", command("x", "serve"), EXIT, b"\x02")
check_served("verbs of local files do not run", command("x", "convert", "x.kts", "-o", "/tmp/x.json"), EXIT, b"\x02")
check_served("-H does not go on to another host", command("x", "-H", "web2", "--version"), OUTPUT, b"ktracectl ")
check_served("nor after the verb", command("x", "list", "-H", "web2", "nosuch"), EXIT, b"\x02")
check("ssh was not called", ["it was"] if (FOLDER / "called").exists() else [])
check_served("an older protocol is refused", hello(protocol=0, oldest=0), ERROR, b"range")
check_served("a newer protocol is refused", hello(protocol=9, oldest=9), ERROR, b"no protocol")
check_served("a hello that is none is refused", packet(HELLO, b"[]"), ERROR, b"hello")
check_served("no command line", hello() + packet(RUN), ERROR, b"without a word")
check_served("a word with a NUL", hello() + packet(ARGUMENT, b"a\0b"), ERROR, b"too long")
check_served("too many words", hello() + packet(ARGUMENT, b"a") * 4097, ERROR, b"4096")
check_served("too long words", hello() + packet(ARGUMENT, b"a" * 65536) * 17, ERROR, b"1 MiB")

for what, data in (("text", b"GET / HTTP/1.1\r\n\r\n"), ("a packet of the far side", hello() + packet(EXIT, b"\0")),
                   ("input before the command", hello() + packet(INPUT, b"x")),
                   ("a large packet", hello() + b"KT\4\0\xff\xff\xff\xff")):
    packets, status, messages = serve(data)
    check(f"{what} ends it with one line",
          [] if status == 1 and messages.count(b"\n") == 1 else [f"status {status}", repr(messages)])

process, verb = waiting()
process.stdin.close()
check("the verb ends with the connection", [] if within(5, lambda: is_gone(verb)) else ["it goes on"])
check("and the far side, too", [] if process.wait(10) == 1 else ["status 0"])

process, verb = waiting()
process.kill()
process.wait()
check("the verb ends with a far side that was killed", [] if within(5, lambda: is_gone(verb)) else ["it goes on"])
process.stdin.close()

process, verb = waiting()
process.stdin.write(packet(SIGNAL, bytes([signal.SIGKILL])) + packet(SIGNAL, bytes([signal.SIGTERM])))
process.stdin.flush()
packets = read_all(process.stdout)
check("only signals that ask for the end are passed on",
      [] if joined(packets, EXIT) == bytes([128 + signal.SIGTERM]) else [repr(packets)])
finish(process)

process, verb = waiting()
process.stdin.write(packet(SIGNAL, bytes([signal.SIGPIPE])) + packet(INPUT, SPEC) + packet(INPUT))
process.stdin.flush()
packets = read_all(process.stdout)
check("output that is not read any more has no reader",
      [] if joined(packets, EXIT) == bytes([128 + signal.SIGPIPE]) else [repr(packets)])
finish(process)

process, verb = waiting()
os.kill(verb, signal.SIGSTOP)
assert within(10, lambda: state(verb) == "T")  # until then it may still read
for size in (65536, 65536, 65536, 65536):
    process.stdin.write(packet(INPUT, b" " * size))
process.stdin.write(packet(PING))
process.stdin.flush()
kinds = []
while PONG not in kinds:
    kinds.append(read(process.stdout)[0])
check("a full window of input does not stop it", [] if not is_gone(verb) else ["the verb is gone"])
process.stdin.write(packet(INPUT, b" " * 65536) * 2)
process.stdin.flush()
check("more input than the window ends it", [] if within(5, lambda: process.poll() == 1) else ["it goes on"])
check("and a verb that was stopped", [] if within(5, lambda: is_gone(verb)) else ["it goes on"])
finish(process)

# The pipe takes 64 KiB of answers. The rest must not be kept.
process, verb = waiting()
for _ in range(200):
    process.stdin.write(packet(PING) * 10000)
process.stdin.flush()
status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
kilobytes = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
check("pings whose answers are not read take no memory",
      [] if kilobytes < 40000 or "asan" in KTRACECTL else [f"{kilobytes} kB"])
process.kill()
finish(process)

process, verb = waiting()
process.stdin.write(packet(INPUT, b" ") * 100 + packet(INPUT))
process.stdin.flush()
taken = sum(int.from_bytes(data, "little") for kind, data in read_all(process.stdout) if kind == INPUT_TAKEN)
check("input that was taken is reported", [] if taken == 100 else [f"{taken} bytes"])
finish(process)
assert WINDOW == 4 * 65536
end()
