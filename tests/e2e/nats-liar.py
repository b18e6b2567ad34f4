#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""nats-liar.py PORT LIE: a broker that answers each chunk with a lie. Prints `listening`, and `stored` for each chunk
that it claims to have."""
import json
import socket
import sys
import threading

port, lie = int(sys.argv[1]), sys.argv[2]
INFO = {"server_id": "liar", "version": "2.9.10", "proto": 1, "headers": True, "max_payload": 1048576,
        "jetstream": True, "host": "127.0.0.1", "port": port}


def say(text):
    print(text, flush=True)


def answer(client, reply, subject, sids, n_chunks):
    stream = "ktrace-" + subject.split(".")[1] if subject.startswith("ktrace.") else "x"

    sid = next((sid for pattern, sid in sids if reply.startswith(pattern)), "1")

    def message(body, header=b"", reply=reply):
        if header:
            client.sendall(f"HMSG {reply} {sid} {len(header)} {len(header) + len(body)}\r\n".encode() + header + body +
                           b"\r\n")
        else:
            client.sendall(f"MSG {reply} {sid} {len(body)}\r\n".encode() + body + b"\r\n")

    good = {"stream": stream, "seq": 1}
    if not subject.startswith("ktrace."):  # it is asked for the stored chunk
        return message(json.dumps({"message": {"subject": "ktrace.x.0123456789abcdef", "seq": 1, "data": "eA==",
                                               "time": "2026-01-01T00:00:00Z"}}).encode())
    if lie == "duplicate":
        message(json.dumps({**good, "duplicate": True}).encode())
    elif lie == "guess":  # as a thief, who knows all answers before this one; the chunk itself is refused
        message(json.dumps(good).encode(), reply=f"{reply.rpartition('.')[0]}.{n_chunks}")
        message(b'{"error": {"code": 503, "description": "no space"}}')
    elif lie == "other-stream":
        message(json.dumps({**good, "stream": "elsewhere"}).encode())
    elif lie == "huge-header":
        message(b"{}", b"NATS/1.0\r\n" + b"A: " + b"x" * 8_000_000 + b"\r\n\r\n")
    elif lie == "huge-answer":
        message(b'{"stream": "' + b"x" * 8_000_000 + b'"}')
    elif lie == "garbage":
        message(b"\xff\x00[{")
    elif lie == "flood":
        for _ in range(20000):
            client.sendall(f"MSG {reply}9 {sid} 2\r\n{{}}\r\n".encode())
    elif lie == "no-stream":
        message(b"", b"NATS/1.0 503\r\n\r\n")
    say("stored")


def serve(client):
    lines = client.makefile("rb")
    sids = []
    n_chunks = 0
    client.sendall(f"INFO {json.dumps(INFO)}\r\n".encode())
    while line := lines.readline().decode():
        words = line.split()
        if words and words[0] == "PING":
            client.sendall(b"PONG\r\n")
        elif words and words[0] == "SUB":
            sids.append((words[1].rstrip("*>"), words[-1]))
        elif words and words[0] in ("PUB", "HPUB"):
            lines.read(int(words[-1]) + 2)
            has_reply = len(words) > (4 if words[0] == "HPUB" else 3)
            if has_reply:
                answer(client, words[2], words[1], sids, n_chunks)
                n_chunks += words[1].startswith("ktrace.")


def attend(client):
    try:
        serve(client)
    except OSError:
        pass


server = socket.create_server(("127.0.0.1", port))
say("listening")
while True:
    threading.Thread(target=attend, args=(server.accept()[0],), daemon=True).start()
