#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""type-password.py PASSWORD COMMAND…: runs the command on a terminal of its own, types the password at each prompt
for one (as a human does, once it stands there and does not show what is typed), copies what it shows, ends with its
exit status. PASSWORD "^C" types that key instead; "-" types nothing."""
import os
import pty
import sys
import termios
import time

password, command = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)

seen = b""
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    sys.stdout.buffer.write(part)
    sys.stdout.flush()
    seen += part
    if b"assword:" in seen and password != "-":
        seen = b""
        # What is typed before is thrown away.
        end = time.monotonic() + 20
        while termios.tcgetattr(terminal)[3] & termios.ECHO and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.1)
        os.write(terminal, b"\x03" if password == "^C" else password.encode() + b"\n")
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(status if status >= 0 else 128 - status)
