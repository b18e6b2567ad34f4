#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The HTTP server of ktrace-metrics against scrapers and against clients that would harm others:
test_http.py METRICS-SERVE PRINT-SAMPLE. With TAP_DEEP also a client that reads for more than half a minute. TAP."""
import concurrent.futures
import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

from server import Server, read_all, wait_until
from tap import check, end, skip

SERVE, PRINT_SAMPLE = sys.argv[1:3]
OPENMETRICS = "application/openmetrics-text"
LAST_LINE = b"\nktrace_size_bytes_count 8\n"
CONNECTIONS_MAX, PEER_CONNECTIONS_MAX = 256, 64  # http-server.h


def request(path="/metrics", method="GET", body=b"", **headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def ask(server, *arguments, to=None, **headers):
    """Returns status, headers and body of an answer."""
    with server.connect(to) as connection:
        connection.sendall(request(*arguments, Connection="close", **headers))
        head, _, body = read_all(connection).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), fields, body


def calls(body):
    """The number of the counter that each snapshot raises."""
    return int(re.search(rb'ktrace_calls_total\{call="read",error=""\} (\d+)', body)[1])


def is_served(server, seconds=2):
    """Whether a scraper gets its answer now."""
    begin = time.monotonic()
    status, _, body = ask(server)
    took = time.monotonic() - begin
    return [] if status == 200 and calls(body) and took < seconds else [f"{status} after {took} s"]


def differ(got, expected):
    return [] if got == expected else [f"{got!r} instead of {expected!r}"]


def check_answers(server):
    status, fields, body = ask(server)
    check("a scraper without wishes gets 0.0.4", differ((status, fields["content-type"]),
          (200, "text/plain; version=0.0.4; charset=utf-8")))
    check("the length is that of the text", differ(int(fields["content-length"]), len(body)))
    status, fields, body = ask(server, Accept=OPENMETRICS)
    check("OpenMetrics on request", differ((fields["content-type"], body[-6:]),
          (f"{OPENMETRICS}; version=1.0.0; charset=utf-8", b"# EOF\n")))
    status, fields, body = ask(server, Accept="application/json")
    check("JSON on request", differ(json.loads(body)["families"][0]["points"][0]["value"], 1))
    status, fields, body = ask(server, Accept_Encoding="gzip")
    check("gzip on request", differ((fields["content-encoding"], calls(gzip.decompress(body))), ("gzip", 1)))
    status, fields, body = ask(server, "/metrics", "HEAD")
    check("HEAD", differ((status, body, int(fields["content-length"]) > 1000), (200, b"", True)))
    check("a page for people", differ(ask(server, "/")[::2],
          (200, b"ktrace-metrics 0.1.0: the metrics are at /metrics\n")))
    for path in "/other", "/metrics/", "/../etc/passwd", "/%2e%2e/etc/passwd", "//metrics":
        check(f"404 for {path}", differ(ask(server, path)[0], 404))
    check("arguments change nothing", differ(ask(server, "/metrics?private=1")[2], ask(server)[2]))
    status, fields, _ = ask(server, "/metrics", "POST", b"x" * 100)
    check("405 for POST", differ((status, fields["allow"]), (405, "get, head")))
    check("405 for others", differ([ask(server, "/metrics", method)[0] for method in ("PUT", "OPTIONS", "FOO")],
                                   [405] * 3))
    check("a body is dropped", differ(ask(server, "/metrics", "GET", b"x" * 100000)[0], 200))
    status, _, body = ask(server, Accept="image/png")
    check("406 names the formats", differ((status, b"0.0.4" in body, body.count(b"\n")), (406, True, 1)))


def check_private(server):
    forms = {}, {"Accept": OPENMETRICS}, {"Accept": "application/json"}
    check("a port has no family that identifies users",
          differ([b"secret" in ask(server, **form)[2] for form in forms], [False] * 3))
    check("the UNIX socket has it", differ([b"secret" in ask(server, to=server.path, **form)[2] for form in forms],
                                           [True] * 3))
    # The other answer is in memory now.
    check("a port still has none", differ(b"secret" in ask(server)[2], False))
    check("not by another name of the host", differ(b"secret" in ask(server, X_Forwarded_For="unix")[2], False))
    check("the UNIX socket has a group's mode", differ(oct(os.stat(server.path).st_mode & 0o777), "0o660"))


def ask_as(server, host, to=None):
    """The status and the text of an answer to a request with this header Host; None: without."""
    line = "" if host is None else f"Host: {host}\r\n"
    with server.connect(to) as connection:
        connection.sendall(f"GET /metrics HTTP/1.0\r\n{line}\r\n".encode())
        head, _, body = read_all(connection).partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def check_host(server):
    """A web site whose name resolves to 127.0.0.1 has the origin of the port in a browser."""
    status, body = ask_as(server, f"attacker.example:{server.port}")
    check("a port of the loopback device has no other name",
          differ((status, body.count(b"\n"), b"ktrace_" in body), (403, 1, False)))
    good = None, "localhost", f"127.0.0.1:{server.port}", "[::1]:1"
    check("it has its own names", differ([ask_as(server, host)[0] for host in good], [200] * len(good)))
    check("the UNIX socket has any", differ(ask_as(server, "attacker.example", server.path)[0], 200))


def check_snapshots(server):
    before = ask(server)[2]
    check("between two snapshots all answers are equal", differ({ask(server)[2] for _ in range(50)}, {before}))
    server.order("next")
    check("a snapshot replaces it", differ(calls(ask(server)[2]), calls(before) + 1))


def check_pipeline(server):
    with server.connect() as connection:
        connection.sendall(request() * 5 + request("/", Connection="close"))
        data = read_all(connection)
    check("requests in one packet get their answers in order",
          differ((data.count(b"HTTP/1.1 200"), data.count(LAST_LINE), data.endswith(b"/metrics\n")), (6, 5, True)))


GARBAGE = {
    "nothing": b"", "zeros": b"\0" * 4096, "newlines": b"\r\n" * 4000, "no HTTP": b"hello\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
    "an endless name": b"GET /" + b"a" * 20000, "an endless header": b"GET / HTTP/1.1\r\nA: " + b"b" * 20000,
    "many headers": b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000 + b"\r\n",
    "a huge length": b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "a negative length": b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    "two lengths":
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks without end":
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + b"fff\r\n" * 2000,
    "another version": b"GET /metrics HTTP/9.9\r\n\r\n", "a hostile Accept":
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: " + b",;=/\"q=" * 900 + b"\r\n\r\n",
}


def throw(server, data):
    """Returns the answer to garbage."""
    with server.connect() as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        except OSError:  # the server has closed it already
            pass
        return read_all(connection)


def check_garbage(server):
    before = int(server.order("time"))
    # At once, because the server waits for the rest of some.
    with concurrent.futures.ThreadPoolExecutor(len(GARBAGE)) as pool:
        answers = pool.map(lambda data: throw(server, data), GARBAGE.values())
        check("garbage delays no scraper", is_served(server))
    for name, answer in zip(GARBAGE, answers):
        status = answer[9:12].decode() if answer else "closed"
        is_right = b"secret" not in answer and (status == "closed" or int(status) in range(200, 506))
        check(f"garbage: {name} ({status})", [] if is_right else [repr(answer[:80])])
    spent = int(server.order("time")) - before
    check("garbage costs no CPU time", [] if spent < 1000000 else [f"{spent} us"])


def check_stalled(server):
    """Clients that hold a connection in different states."""
    states = {"sends nothing": b"", "sends half a request": b"GET /metr", "sends half a head": b"GET / HTTP/1.1\r\nA",
              "does not read": request() * 50}
    for name, data in states.items():
        holders = [server.connect() for _ in range(PEER_CONNECTIONS_MAX - 1)]
        for holder in holders:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            holder.sendall(data)
        check(f"a client that {name} delays no other", is_served(server))
        for holder in holders:
            holder.close()


def check_many(server):
    before = server.descriptors()
    holders = []
    for i in range(1000):
        holders.append(server.connect())
        if i % 100 == 0:
            check(f"{i + 1} connections of a peer delay no scraper", is_served(server))
    held = wait_until(lambda: server.descriptors() - before <= PEER_CONNECTIONS_MAX + 1)
    check("a peer holds no more than its limit", [] if held else [f"{server.descriptors() - before} descriptors"])
    check("the oldest connections are the closed ones", differ(read_all(holders[0]), b""))
    holders[-1].sendall(request("/", Connection="close"))
    check("the newest one is served", differ(read_all(holders[-1])[:12], b"HTTP/1.1 200"))
    for holder in holders:
        holder.close()
    check("all are given back", [] if wait_until(lambda: server.descriptors() <= before) else ["no"])


def check_total(server):
    """Addresses of the loopback network are different peers."""
    before = server.descriptors()
    holders = [socket.create_connection(("127.0.0.1", server.port), source_address=(f"127.0.0.{2 + i // 50}", 0))
               for i in range(500)]
    held = wait_until(lambda: server.descriptors() - before <= CONNECTIONS_MAX)
    check("all peers together hold no more than the limit", [] if held else [f"{server.descriptors() - before}"])
    check("500 connections of ten peers delay no scraper", is_served(server))
    for holder in holders:
        holder.close()
    wait_until(lambda: server.descriptors() <= before)


def check_idle(server):
    with server.connect() as connection:
        connection.settimeout(20)
        begin = time.monotonic()
        data = read_all(connection)
        took = time.monotonic() - begin
    check("an idle connection is closed after ten seconds",
          [] if 8 < took < 14 and not data else [f"{took} s {data!r}"])


def check_slow_reader():
    """A large answer that is read slowly, while the snapshots change."""
    server = Server(SERVE, "--sets=20000")
    expected = ask(server)[2]
    with server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.sendall(request(Connection="close"))
        data = connection.recv(100)
        for _ in range(5):
            time.sleep(0.1)
            server.order("next")
            data += connection.recv(1000)
        check("a slow reader delays no other", is_served(server))
        data += read_all(connection)
    check("a slow reader gets the snapshot of its request", differ(data.partition(b"\r\n\r\n")[2] == expected, True))
    check("the server ends", differ(server.end(), 0))


def check_endless_reader():
    """One that reads just enough not to be idle would keep the text of its snapshot in memory."""
    what = "a reader that takes more than half a minute loses its connection"
    if not os.environ.get("TAP_DEEP"):
        skip(what, "only with deep")
        return
    server = Server(SERVE, "--sets=200000")
    with server.connect() as connection:
        connection.sendall(request(Connection="close"))
        size = int(re.search(rb"Content-Length: (\d+)", connection.recv(1000))[1])
        got = 0
        for second in range(1, 33):
            while got < second * 200000:
                got += len(connection.recv(65536))
            time.sleep(1)
        check("another scraper is served", is_served(server, 10))
        got += len(read_all(connection))
        check(what, [] if 32 * 200000 <= got < size - 100000 else [f"{got} of {size}"])
    server.end()


def check_rate(server):
    """A thousand scrapes of one snapshot cost the transfer only."""
    before = int(server.order("time"))
    with server.connect() as connection:
        for _ in range(1000):
            connection.sendall(request())
            data = b""
            while not data.endswith(LAST_LINE):
                data += connection.recv(65536)
    spent = int(server.order("time")) - before
    check("1,000 scrapes take less than half a second of CPU time", [] if spent < 500000 else [f"{spent} us"])


def check_end(server):
    holder = server.connect()
    holder.sendall(b"GET /metr")
    check("the server ends in spite of a client", differ(server.end(), 0))
    holder.close()


def check_promtool():
    if not shutil.which("promtool"):
        skip("promtool accepts the metrics", "no promtool")
        return
    text = subprocess.run([PRINT_SAMPLE, "prometheus", "100"], stdout=subprocess.PIPE, check=True).stdout
    found = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
    check("promtool accepts the metrics", [] if found.returncode == 0 else found.stderr.decode().splitlines())


main_server = Server(SERVE)
check_answers(main_server)
check_private(main_server)
check_host(main_server)
check_snapshots(main_server)
check_pipeline(main_server)
check_garbage(main_server)
check_stalled(main_server)
check_many(main_server)
check_total(main_server)
check_rate(main_server)
check_idle(main_server)
check_end(main_server)
check_slow_reader()
check_endless_reader()
check_promtool()
end()
