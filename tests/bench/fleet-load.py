#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""fleet-load.py accounts EXAMPLE N: prints the configuration EXAMPLE of nats-server with accounts for N machines.
fleet-load.py streams PORT N: creates their streams. fleet-load.py recordings PORT N M: stores the ends of M recordings
of each machine."""
import hashlib
import json
import socket
import sys

verb, where, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
EXAMPLE_ID = "0123456789abcdef0123456789abcdef"
AT_ONCE = 100


def identity(i):
    return f"{i:032x}"


def accounts(example):
    """The account of the example's machine is the last one."""
    begin = example.index(f"        machine-{EXAMPLE_ID}")
    end = example.rindex("}")
    return example[:begin] + "".join(example[begin:end].replace(EXAMPLE_ID, identity(i)) for i in range(n)) + "}\n"


class Connection:
    def __init__(self, user, password, inbox):
        self.socket = socket.create_connection(("127.0.0.1", int(where)))
        self.socket.settimeout(60)
        self.lines = self.socket.makefile("rb")
        self.lines.readline()
        options = {"user": user, "pass": password, "headers": True, "verbose": False}
        self.inbox = inbox
        self.socket.sendall(f"CONNECT {json.dumps(options)}\r\nSUB {inbox} 1\r\n".encode())

    def send(self, subject, header, data):
        self.socket.sendall(f"HPUB {subject} {self.inbox} {len(header)} {len(header) + len(data)}\r\n".encode() +
                            header + data + b"\r\n")

    def take(self):
        while (words := self.lines.readline().split())[0] not in (b"MSG", b"HMSG"):
            pass
        answer = self.lines.read(int(words[-1]) + 2)
        if b'"error"' in answer:
            raise SystemExit(answer.decode())


def all_of(connection, messages):
    """Sends the messages, with at most AT_ONCE on their way."""
    sent = taken = 0
    for message in messages:
        connection.send(*message)
        sent += 1
        if sent - taken == AT_ONCE:
            connection.take()
            taken += 1
    for _ in range(sent - taken):
        connection.take()


def stream(i):
    name = f"ktrace-{identity(i)}"
    config = {"name": name, "description": f"host-{i}", "subjects": [f"ktrace.{identity(i)}.*"], "storage": "file",
              "discard": "new", "allow_direct": True, "deny_delete": True, "num_replicas": 1}
    return f"$JS.API.STREAM.CREATE.{name}", b"NATS/1.0\r\n\r\n", json.dumps(config).encode()


def recording(i, number):
    data = json.dumps({"code": "stopped", "ended-usec": 1795000000000000 + number}).encode()
    fields = {"File": 1, "Chunk": 0, "Previous-File": 1, "Hash": hashlib.sha256(data).hexdigest(), "Uid": 0,
              "Created": 1794000000000000, "Name": "box", "End": 1}
    header = "NATS/1.0\r\n" + "".join(f"Ktrace-{key}: {value}\r\n" for key, value in fields.items()) + "\r\n"
    return f"ktrace.{identity(i)}.{number:016x}", header.encode(), data


if verb == "accounts":
    print(accounts(open(where).read()), end="")
elif verb == "streams":
    all_of(Connection("ktrace-admin", "a secret of the administrators", "_INBOX_admin.load"), map(stream, range(n)))
else:
    for i in range(n):
        connection = Connection(identity(i), "a secret of this machine", f"_INBOX_{identity(i)}.load")
        all_of(connection, (recording(i, number) for number in range(int(sys.argv[4]))))
