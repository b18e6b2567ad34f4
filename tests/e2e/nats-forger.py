#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""nats-forger.py PORT ID PASSWORD SESSION FILE: with the credential of the machine ID, stores a recording that the
machine has never made. Its only file is FILE, with correct hashes. Prints how many messages were stored."""
import hashlib
import json
import socket
import sys

port, machine, password, session, file = int(sys.argv[1]), *sys.argv[2:6]
CHUNK = 512 * 1024
INBOX = f"_INBOX_{machine}.forger"
server = socket.create_connection(("127.0.0.1", port))
server.settimeout(20)
lines = server.makefile("rb")


def digest(data):
    return hashlib.sha256(data).hexdigest()


def store(data, **fields):
    """Returns whether the server has stored the message."""
    fields = {"Ktrace-File": 1, "Ktrace-Previous-File": 0, "Ktrace-Hash": digest(data), "Ktrace-Uid": 0,
              "Ktrace-Created": 1, "Ktrace-Name": "forged", **{f"Ktrace-{k}": v for k, v in fields.items()}}
    header = ("NATS/1.0\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items()) + "\r\n").encode()
    server.sendall(f"HPUB ktrace.{machine}.{session} {INBOX} {len(header)} {len(header) + len(data)}\r\n".encode() +
                   header + data + b"\r\n")
    while True:
        words = lines.readline().split()
        if words[0] in (b"MSG", b"HMSG"):
            answer = lines.read(int(words[-1]) + 2)
            return b'"seq"' in answer and b'"error"' not in answer


lines.readline()
server.sendall(f"CONNECT {json.dumps({'user': machine, 'pass': password, 'headers': True, 'verbose': False})}\r\n"
               f"SUB {INBOX} 1\r\n".encode())
content = open(file, "rb").read()
chunks = [content[i:i + CHUNK] for i in range(0, len(content), CHUNK)] or [b""]
n = 0
for number, data in enumerate(chunks):
    last = {"File-Hash": digest("".join(map(digest, chunks)).encode()), "File-Bytes": len(content)}
    n += store(data, Chunk=number, **({} if number < len(chunks) - 1 else last))
n += store(b'{"code": "stopped"}', Chunk=0, End=1, **{"Previous-File": 1})
print(n)
