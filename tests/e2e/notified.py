#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""notified.py SOCKET: stands for the service manager. Prints a line "SECONDS NAME=VALUE" for each thing that a service
reports to it (NOTIFY_SOCKET). The time is that of /proc/uptime."""
import os
import socket
import sys
import time

manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
while True:
    for line in manager.recv(65536).decode(errors="replace").splitlines():
        print(f"{time.clock_gettime(time.CLOCK_BOOTTIME):.2f} {line}", flush=True)
