#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Varlink server of ktrace-metrics against readers and against clients that would harm others:
test_report.py METRICS-SERVE. TAP."""
import json
import os
import shutil
import subprocess
import sys
import time

from server import Server, read_all, wait_until
from tap import check, end, skip

SERVE = sys.argv[1]
USER_CLIENTS_MAX = 8  # report-server.c


def call(method, **keys):
    return json.dumps({"method": method, **keys}).encode() + b"\0"


LIST = call("io.systemd.Metrics.List", more=True)


def read_replies(connection):
    """The replies to one call, as objects."""
    data = b""
    while True:
        while not data.endswith(b"\0"):
            part = connection.recv(65536)
            if not part:
                raise EOFError
            data += part
        replies = [json.loads(text) for text in data.split(b"\0")[:-1]]
        if not replies[-1].get("continues"):
            return replies
        data += connection.recv(65536)


def ask(server, message=LIST):
    with server.connect(server.report) as connection:
        connection.sendall(message)
        return read_replies(connection)


def is_served(server):
    begin = time.monotonic()
    names = {reply["parameters"]["name"] for reply in ask(server)}
    took = time.monotonic() - begin
    return [] if names == {"org.ktrace1.Calls", "org.ktrace1.GapSeconds"} and took < 2 else [f"{names} after {took} s"]


def check_answers(server):
    check("a reader gets the metrics", is_served(server))
    check("all but the last reply continue", [str(reply) for reply in ask(server)[:-1] if not reply["continues"]])
    families = [reply["parameters"] for reply in ask(server, call("io.systemd.Metrics.Describe", more=True))]
    check("and their descriptions", [] if [f["type"] for f in families] == ["counter", "gauge"] else [str(families)])
    with server.connect(server.report) as connection:
        connection.sendall(LIST * 3 + call("org.varlink.service.GetInfo"))
        wait_until(lambda: False, 0.2)
        data = b""
        while data.count(b"\0") < 10:
            data += connection.recv(65536)
        check("calls in one packet are answered in order",
              [] if data.count(b"GapSeconds") == 3 and b"ktrace-metrics" in data.split(b"\0")[-2] else [repr(data)])
    mode = oct(os.stat(server.report).st_mode & 0o777)
    check("every user may connect", [] if mode == "0o666" else [mode])
    before = ask(server)[0]["parameters"]["value"]
    server.order("next")
    after = ask(server)[0]["parameters"]["value"]
    check("the numbers are those of the newest snapshot", [] if after == before + 1 else [f"{before} {after}"])


GARBAGE = {
    "no JSON": b"hello\0", "an empty message": b"\0", "no end": b"{" * 5000, "a long message": b" " * 4096 + b"\0",
    "deep": b"[" * 2000 + b"]" * 2000 + b"\0",
    "many values": b'{"method":"a.B","parameters":{"a":[' + b"0," * 500 + b"0]}}\0",
    "not UTF-8": b'{"method":"\xff.B"}\0', "no method": b"{}\0", "an unknown key": b'{"method":"a.B","x":1}\0',
    "twice the same key": b'{"method":"a.B","method":"a.C"}\0',
}


def check_garbage(server):
    for name, data in GARBAGE.items():
        with server.connect(server.report) as connection:
            try:
                connection.sendall(data)
            except OSError:  # the server has closed it already
                pass
            answer = read_all(connection)
        check(f"garbage: {name}", [repr(answer)] if answer else is_served(server))


def check_holders(server):
    """Clients that hold all that one user can hold."""
    for name, data in {"sends nothing": b"", "does not read": LIST * 20, "sends half a message": b'{"meth'}.items():
        holders = [server.connect(server.report) for _ in range(USER_CLIENTS_MAX - 1)]
        for holder in holders:
            holder.setblocking(False)
            try:
                while data and holder.send(data) == len(data) and data == LIST * 20:
                    pass
            except BlockingIOError:
                pass
        check(f"a client that {name} delays no other", is_served(server))
        for holder in holders:
            holder.close()
    before = server.descriptors()
    holders = [server.connect(server.report) for _ in range(100)]
    held = wait_until(lambda: server.descriptors() - before <= USER_CLIENTS_MAX)
    check("a user holds no more than the limit", [] if held else [str(server.descriptors() - before)])
    if os.geteuid() == 0:
        other = subprocess.run([sys.executable, "-c", CODE_OF_USER, server.report], capture_output=True, text=True,
                               check=False)
        check("another user is served", [] if other.stdout == "3\n" else [other.stdout, other.stderr])
    else:
        skip("another user is served", "not root")
    for holder in holders:
        holder.close()


# Counts the replies as another user.
CODE_OF_USER = f"""
import os, socket, sys
os.setuid(61000)
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(10)
connection.connect(sys.argv[1])
connection.sendall({LIST!r})
data = b""
while data.count(b"\\0") < 3:
    data += connection.recv(65536)
print(data.count(b"\\0"))
"""


def check_varlinkctl(server):
    if not shutil.which("varlinkctl"):
        skip("varlinkctl reads the metrics", "no varlinkctl")
        return
    found = subprocess.run(["varlinkctl", "call", "--more", server.report, "io.systemd.Metrics.List", "{}"],
                           capture_output=True, text=True, check=False)
    check("varlinkctl reads the metrics", [] if "org.ktrace1.GapSeconds" in found.stdout else [found.stderr])


main_server = Server(SERVE)
os.chmod(main_server.folder.name, 0o755)
check_answers(main_server)
check_garbage(main_server)
check_holders(main_server)
check_varlinkctl(main_server)
held_open = main_server.connect(main_server.report)
check("the server ends in spite of a client", [] if main_server.end() == 0 else ["it does not"])
end()
