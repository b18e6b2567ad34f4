#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""line-latency.py N [-a]: milliseconds from a system call to its line on a terminal, N of them, one in 50 ms. ktracectl
prints to a terminal of its own; the call is one that does not exist, so no other process makes it. Without -a
ktracectl traces this process only, as any user may."""
import ctypes
import json
import os
import pty
import select
import signal
import sys
import time

CALL = 1000
PERIOD = 0.05
n = int(sys.argv[1])
libc = ctypes.CDLL(None)
what = ["-a"] if sys.argv[2:] == ["-a"] else ["-p", str(os.getpid())]
child, terminal = pty.fork()
if child == 0:
    os.execvp("ktracectl", ["ktracectl", "record", "-q", *what, "-e", "raw_syscalls:sys_enter",
                            "-f", f"id == {CALL}", "-o", "-"])


def line_after(seconds):
    """True when output comes before the time is over."""
    if not select.select([terminal], [], [], seconds)[0]:
        return False
    os.read(terminal, 65536)
    return True


# The recording has begun when a call gets its line.
for _ in range(200):
    libc.syscall(CALL)
    if line_after(0.05):
        break
else:
    sys.exit("line-latency: no line within 10 s")
while line_after(0.5):
    pass
# The calls do not wait for their lines.
begun, times = [], []
start = time.monotonic()
while len(times) < n:
    now = time.monotonic()
    if now - start > n * PERIOD + 5:
        sys.exit(f"line-latency: {n - len(times)} of {n} lines are missing after 5 s")
    due = start + len(begun) * PERIOD
    if len(begun) < n and now >= due:
        begun.append(now)
        libc.syscall(CALL)
        continue
    if select.select([terminal], [], [], max(0, due - now) if len(begun) < n else 0.1)[0]:
        lines = os.read(terminal, 65536).count(b"\n")
        now = time.monotonic()
        times += [(now - at) * 1000 for at in begun[len(times):len(times) + lines]]
os.kill(child, signal.SIGINT)
try:
    while os.read(terminal, 65536):
        pass
except OSError:
    pass
os.waitpid(child, 0)
times.sort()
print(json.dumps({"p50": times[n // 2], "p90": times[n * 9 // 10]}))
