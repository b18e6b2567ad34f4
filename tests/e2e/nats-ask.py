#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""nats-ask.py PORT SUBJECT: asks nats-server with the credential of the readers, and prints the answer."""
import json
import socket
import sys

server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
server.settimeout(10)
lines = server.makefile("rb")
lines.readline()
options = {"user": "ktrace-fleet", "pass": "a secret of the readers", "verbose": False}
server.sendall(f"CONNECT {json.dumps(options)}\r\nSUB _INBOX_fleet.ask 1\r\n"
               f"PUB {sys.argv[2]} _INBOX_fleet.ask 0\r\n\r\n".encode())
while (words := lines.readline().split())[0] != b"MSG":
    pass
print(lines.read(int(words[-1])).decode())
