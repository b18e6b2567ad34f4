#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""nats-forger.py PORT ID PASSWORD SESSION FILE [OPTION...]: with the credential of the machine ID, stores a recording
that the machine has never made. Its only file is FILE, with correct hashes: SHA-256, as an older machine, but with
--claim or --collide as this one. Prints how many messages were stored."""
import argparse
import hashlib
import json
import socket
import sys

sys.dont_write_bytecode = True  # beside the sources
import xxh3

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
for name in ("machine", "password", "session", "file"):
    parser.add_argument(name)
parser.add_argument("--uid", type=int, default=0)
parser.add_argument("--created", type=int, default=1)
parser.add_argument("--name", default="forged")
parser.add_argument("--reason", type=int, metavar="N", help="the end has a reason of N bytes")
parser.add_argument("--spoof", metavar="KIND", help="one more message, before the second chunk")
parser.add_argument("--claim", metavar="SESSION", help="no end; the messages claim to be those of SESSION")
parser.add_argument("--collide", action="store_true", help="no end; the chunks are those that the machine will send, "
                    "with the same ids, headers and hashes, but with other data")
parser.add_argument("--fill", type=int, metavar="N", help="N recordings that have an end only")
o = parser.parse_args()
CHUNK = 512 * 1024
INBOX = f"_INBOX_{o.machine}.forger"
OTHER = "f" * 16
# Headers that are the server's, or that end what a reader reads.
SPOOFS = {
    "ahead": b"NATS/1.0\r\nNats-Sequence: 4000000000\r\n\r\n",
    "behind": b"NATS/1.0\r\nNats-Sequence: 1\r\n\r\n",
    "subject": f"NATS/1.0\r\nNats-Subject: ktrace.{o.machine}.{OTHER}\r\n\r\n".encode(),
    "stream": f"NATS/1.0\r\nNats-Stream: ktrace-{OTHER}\r\n\r\n".encode(),
    "time": b"NATS/1.0\r\nNats-Time-Stamp: never\r\n\r\n",
    "status": b"NATS/1.0 404 Message Not Found\r\n\r\n",
    "blank": b"NATS/1.0\r\nA: b\r\n\r\nC: d\r\n\r\n",
    "junk": b"junk",
}
server = socket.create_connection(("127.0.0.1", o.port))
server.settimeout(20)
lines = server.makefile("rb")


def digest(data):
    return xxh3.digest(data) if o.claim or o.collide else hashlib.sha256(data).hexdigest()


def send(session, header, data):
    server.sendall(f"HPUB ktrace.{o.machine}.{session} {INBOX} {len(header)} {len(header) + len(data)}\r\n".encode() +
                   header + data + b"\r\n")


def is_stored():
    """Whether the server has stored the next message, by its answer."""
    while True:
        words = lines.readline().split()
        if words[0] in (b"MSG", b"HMSG"):
            answer = lines.read(int(words[-1]) + 2)
            return b'"seq"' in answer and b'"error"' not in answer


def headers(data, **fields):
    fields = {"Ktrace-File": 1, "Ktrace-Previous-File": 0, "Ktrace-Hash": digest(data), "Ktrace-Uid": o.uid,
              "Ktrace-Created": o.created, "Ktrace-Name": o.name, **{f"Ktrace-{k}": v for k, v in fields.items()}}
    if o.claim:
        fields |= {"Nats-Subject": f"ktrace.{o.machine}.{o.claim}"}
    if o.claim or o.collide:
        fields |= {"Nats-Msg-Id": f"{o.claim or o.session}/1/{fields['Ktrace-Chunk']}/{digest(data)}/0"}
    return ("NATS/1.0\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items()) + "\r\n").encode()


def store(data, **fields):
    send(o.session, headers(data, **fields), data)
    return is_stored()


lines.readline()
server.sendall(f"CONNECT {json.dumps({'user': o.machine, 'pass': o.password, 'headers': True, 'verbose': False})}\r\n"
               f"SUB {INBOX} 1\r\n".encode())
content = open(o.file, "rb").read()
chunks = [content[i:i + CHUNK] for i in range(0, len(content), CHUNK)] or [b""]
end = json.dumps({"code": "stopped", **({"reason": "x" * o.reason} if o.reason else {})}).encode()
n = 0
if o.fill:
    for i in range(o.fill):
        send(f"{i:016x}", headers(end, Chunk=0, End=1), end)
        n += is_stored() if i >= 100 else 0
    n += sum(is_stored() for _ in range(min(100, o.fill)))
else:
    for number, data in enumerate(chunks):
        if o.spoof and number == 1:
            send(o.session, SPOOFS[o.spoof], b"" if o.spoof == "status" else b"x")
            n += is_stored()
        last = {"File-Hash": digest("".join(map(digest, chunks)).encode()), "File-Bytes": len(content)}
        if o.collide:
            data = xxh3.collide(data, b"forged")
        n += store(data, Chunk=number, **({} if number < len(chunks) - 1 else last))
    if not (o.claim or o.collide):
        n += store(end, Chunk=0, End=1, **{"Previous-File": 1})
print(n)
