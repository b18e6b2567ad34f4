#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""hold-thread.py PID NAME: stops the one thread of the process with this name, while the others go on. It goes on when
this program ends (ptrace(2))."""
import ctypes
import os
import signal
import sys

PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
tasks = f"/proc/{sys.argv[1]}/task"
thread, = [int(tid) for tid in os.listdir(tasks) if open(f"{tasks}/{tid}/comm").read().strip() == sys.argv[2]]
for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
    if libc.ptrace(request, thread, None, None) < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
os.waitpid(thread, WALL)
print("held", flush=True)
signal.pause()
