#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""nats-reader-liar.py PORT MACHINE-ID LIE: a broker that lies to ktrace-fleet about what it has stored. Prints
`listening`."""
import base64
import hashlib
import json
import socket
import sys
import threading

port, machine, lie = int(sys.argv[1]), sys.argv[2], sys.argv[3]
NAME = f"ktrace-{machine}"
LEADERLESS = f"ktrace-{'7' * 32}"
SESSION = "0123456789abcdef"
INFO = {"server_id": "liar", "version": "2.9.10", "proto": 1, "headers": True, "max_payload": 1048576,
        "jetstream": True, "host": "127.0.0.1", "port": port}


def names():
    if lie == "endless":
        return {"total": 10**9, "offset": 0, "limit": 1024, "streams": [NAME] * 1024}
    if lie == "leaderless":  # not a lie: a stream of a cluster that has lost its servers
        return {"total": 2, "offset": 0, "limit": 1024, "streams": [LEADERLESS, NAME]}
    return {"total": 3, "offset": 0, "limit": 1024, "streams": [NAME, "../../etc", "ktrace-\x1b[31m"]}


def info():
    return {"config": {"name": NAME, "description": "\x1b[31mred" if lie == "names" else "web1",
                       "subjects": [f"ktrace.{machine}.*"]},
            "created": "2026-01-01T00:00:00Z",
            "state": {"messages": 1, "first_seq": 1, "last_seq": 1,
                      "subjects": {f"ktrace.{machine}.{SESSION}": 1, f"ktrace.{machine}.../../x": 1}}}


def chunk(position):
    """The header and the data of a stored chunk."""
    data = b"x" * (8_000_000 if lie == "huge" else 100)
    digest = hashlib.sha256(b"other" if lie == "hash" else data).hexdigest()
    number = 0 if lie == "backwards" else position - 1
    fields = {"Nats-Stream": NAME, "Nats-Subject": f"ktrace.{machine}.{SESSION}",
              "Nats-Sequence": 1 if lie == "backwards" else position, "Nats-Time-Stamp": "2026-01-01T00:00:00Z",
              "Ktrace-File": 1, "Ktrace-Chunk": number, "Ktrace-Previous-File": 0, "Ktrace-Hash": digest,
              "Ktrace-Uid": 0, "Ktrace-Name": "\x1b[31mred" if lie == "names" else "box", "Ktrace-Created": 1}
    return ("NATS/1.0\r\n" + "".join(f"{key}: {value}\r\n" for key, value in fields.items()) + "\r\n").encode(), data


def message(position):
    if position > 2:
        return {"error": {"code": 404, "err_code": 10037, "description": "no message found"}}
    header, data = chunk(position)
    return {"message": {"subject": f"ktrace.{machine}.{SESSION}", "seq": position, "time": "2026-01-01T00:00:00Z",
                        "hdrs": base64.b64encode(header).decode(), "data": base64.b64encode(data).decode()}}


def answer(client, sid, subject, reply, data):
    header = b""
    if lie == "silent":
        return
    if lie == "garbage":
        body = b"\xff\x00[{"
    elif "STREAM.NAMES" in subject:
        body = json.dumps(names()).encode()
    elif LEADERLESS in subject:
        body = b'{"error": {"code": 503, "err_code": 10008, "description": "JetStream system temporarily unavailable"}}'
    elif "STREAM.INFO" in subject:
        body = json.dumps(info()).encode()
    elif "STREAM.MSG.GET" in subject:
        body = json.dumps(message(json.loads(data)["seq"])).encode()
    else:
        asked = json.loads(data or b"{}").get("seq", 1)
        if lie == "late" or (asked > 2 and lie != "backwards"):
            header, body = b"NATS/1.0 404 Message Not Found\r\n\r\n", b""
        else:
            header, body = chunk(asked)
    client.sendall(f"HMSG {reply} {sid} {len(header)} {len(header) + len(body)}\r\n".encode() + header + body + b"\r\n"
                   if header else f"MSG {reply} {sid} {len(body)}\r\n".encode() + body + b"\r\n")


def serve(client):
    lines = client.makefile("rb")
    sids = []
    client.sendall(f"INFO {json.dumps(INFO)}\r\n".encode())
    while line := lines.readline().decode():
        words = line.split()
        if words and words[0] == "PING":
            client.sendall(b"PONG\r\n")
        elif words and words[0] == "SUB":
            sids.append((words[1].rstrip("*>"), words[-1]))
        elif words and words[0] in ("PUB", "HPUB"):
            data = lines.read(int(words[-1]) + 2)[:-2]
            sid = next((sid for pattern, sid in sids if words[2].startswith(pattern)), "1")
            answer(client, sid, words[1], words[2], data[int(words[-2]) if words[0] == "HPUB" else 0:])


def attend(client):
    try:
        serve(client)
    except OSError:
        pass


server = socket.create_server(("127.0.0.1", port))
print("listening", flush=True)
while True:
    threading.Thread(target=attend, args=(server.accept()[0],), daemon=True).start()
