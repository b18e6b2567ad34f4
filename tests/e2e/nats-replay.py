#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""nats-replay.py PORT ID PASSWORD FROM TO: with the credential of the machine ID, stores all its messages of the
session FROM once more, as messages of the session TO, with all their headers but the one that finds repetitions."""
import json
import re
import socket
import sys

port, machine, password, source, target = int(sys.argv[1]), *sys.argv[2:6]
INBOX = f"_INBOX_{machine}.replay"
server = socket.create_connection(("127.0.0.1", port))
server.settimeout(20)
lines = server.makefile("rb")


def request(subject, header, data):
    """Returns the header and the data of the answer."""
    server.sendall(f"HPUB {subject} {INBOX} {len(header)} {len(header) + len(data)}\r\n".encode() + header + data +
                   b"\r\n")
    while True:
        words = lines.readline().split()
        if words[0] not in (b"MSG", b"HMSG"):
            continue
        answer = lines.read(int(words[-1]) + 2)[:-2]
        size = int(words[-2]) if words[0] == b"HMSG" else 0
        return answer[:size], answer[size:]


lines.readline()
server.sendall(f"CONNECT {json.dumps({'user': machine, 'pass': password, 'headers': True, 'verbose': False})}\r\n"
               f"SUB {INBOX} 1\r\n".encode())
stored = []
while True:
    header, data = request(f"$JS.API.DIRECT.GET.ktrace-{machine}", b"NATS/1.0\r\n\r\n",
                           json.dumps({"seq": len(stored) + 1}).encode())
    if not re.match(rb"NATS/1\.0\r\n", header):
        break
    stored.append((header, data))
n = 0
for header, data in stored:
    if f"\r\nNats-Subject: ktrace.{machine}.{source}\r\n".encode() not in header:
        continue
    header = re.sub(rb"Nats-[A-Za-z-]+: [^\r]*\r\n", b"", header)
    header, answer = request(f"ktrace.{machine}.{target}", header, data)
    n += b'"seq"' in answer
print(n)
