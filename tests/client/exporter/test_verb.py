#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""ktracectl metrics with the HTTP server, and with servers that are not ktrace-metrics:
test_verb.py KTRACECTL METRICS-SERVE. TAP."""
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from server import Server, free_port
from tap import check, end, skip

KTRACECTL, SERVE = sys.argv[1:3]
FOLDER = tempfile.TemporaryDirectory()
FILE = os.path.join(FOLDER.name, "ktrace.prom")


def run(*options, **more):
    return subprocess.run([KTRACECTL, "metrics", *options], capture_output=True, timeout=30, check=False, **more)


def check_run(what, options, status, *expected):
    """Each expected text is in what the command prints."""
    found = run(*options)
    text = found.stdout + found.stderr
    wrong = [f"{one!r} is missing" for one in expected if one.encode() not in text]
    if found.returncode != status:
        wrong.append(f"status {found.returncode}")
    check(what, wrong and [*wrong, repr(text[:500])])
    return found.stdout


def check_served(server):
    port = f"--from=127.0.0.1:{server.port}"
    text = check_run("Prometheus text", [port], 0, "# TYPE ktrace_calls_total counter")
    check("no family that identifies users", ["secret"] if b"secret" in text else [])
    check_run("all families from the UNIX socket", [f"--from={server.path}"], 0,
              'ktrace_private_total{comm="secret"} 1')
    text = check_run("OpenMetrics", [port, "--openmetrics"], 0, "# TYPE ktrace_calls counter")
    check("its end", [] if text.endswith(b"# EOF\n") else [repr(text)])
    for form in "--json", "--json=short":
        families = json.loads(check_run(form, [port, form], 0))["families"]
        points = {family["name"]: family["points"] for family in families}
        check(f"{form}: the numbers", [] if points["ktrace_calls"][1]["value"] == 2 ** 64 - 1 and
              points["ktrace_gap_seconds"][0]["value"] == 3e-6 else [str(points)])


def limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def check_file(server):
    port = f"--from=127.0.0.1:{server.port}"
    check_run("a file", [port, "-o", FILE], 0)
    status = os.stat(FILE)
    with open(FILE, "rb") as file:
        text = file.read()
    check("has the text, for all users", [] if text == run(port).stdout and status.st_mode & 0o777 == 0o644 else
          [oct(status.st_mode)])
    subprocess.run([KTRACECTL, "metrics", port, "-o", FILE], preexec_fn=lambda: os.umask(0o077), check=True)
    check("a umask does not hide it", [] if os.stat(FILE).st_mode & 0o777 == 0o644 else ["it does"])
    check_run("metrics of a socket with a group", [f"--from={server.path}", "-o", FILE], 0)
    check("stay with a group", [] if os.stat(FILE).st_mode & 0o777 == 0o640 else [oct(os.stat(FILE).st_mode)])
    check_run("a port again", [port, "-o", FILE], 0)
    check("it is replaced by a new file", [] if os.stat(FILE).st_ino != status.st_ino else ["it is not"])
    check_run("a failure", ["--from=127.0.0.1:1", "-o", FILE], 1, "nothing listens there: is ktrace-metrics.socket")
    with open(FILE, "rb") as file:
        check("leaves the file and nothing else", [] if file.read() == text and
              os.listdir(FOLDER.name) == ["ktrace.prom"] else os.listdir(FOLDER.name))
    check_run("a directory that does not exist", [port, "-o", os.path.join(FOLDER.name, "x/y.prom")], 1,
              "cannot be written")
    found = run(port, "-o", FILE, preexec_fn=limit_files)
    check("a full disk leaves the file and nothing else", [] if found.returncode == 1 and
          os.stat(FILE).st_size == len(text) and os.listdir(FOLDER.name) == ["ktrace.prom"] else [str(found)])
    check_run("another suffix", [port, "-o", FILE + ".txt"], 2, ".prom")
    check_run("another format", [port, "-o", FILE, "--json"], 2, "--output")
    check_run("two formats", [port, "--openmetrics", "--json"], 2, "exclude")
    check_run("an argument", [port, "x"], 2)
    link, target = os.path.join(FOLDER.name, "link.prom"), os.path.join(FOLDER.name, "target.prom")
    os.symlink(target, link)
    check_run("a link", [port, "-o", link], 0)
    if not shutil.which("promtool"):
        skip("promtool accepts the file", "no promtool")
        return
    found = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
    check("promtool accepts the file", [] if found.returncode == 0 else found.stderr.decode().splitlines())


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"


def answer(body, head=HEAD, length=None):
    return head + f"Content-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body


HOSTILE = {
    "nothing": (b"", "does not speak HTTP"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP"),
    "a head without end": (HEAD, "does not speak HTTP"),
    "another protocol": (answer(b"x\n", b"HTTP/2.0 200 OK\r\n"), "does not speak HTTP"),
    "another status": (answer(b"Go away\n", HEAD.replace(b"200 OK", b"503 No")), "HTTP status 503: Go away"),
    "a redirection": (answer(b"", HEAD.replace(b"200 OK", b"301 x") + b"Location: http://127.0.0.1:1/\r\n"),
                      "HTTP status 301"),
    "a page": (answer(b"<html>", HEAD.replace(b"plain", b"html")), "another type"),
    "no type": (answer(b"x\n", b"HTTP/1.1 200 OK\r\n"), "another type"),
    "less than its length": (answer(b"x 1\n", length=5), "is cut"),
    "more than its length": (answer(b"x 1\n", length=3), "is cut"),
    "no length": (HEAD + b"\r\nx 1\n", "is cut"),
    "an escape sequence": (answer(b"x{a=\"\x1b[2J\"} 1\n"), "not text"),
    "a C1 escape sequence": (answer("x{a=\"\x9b2J\"} 1\n".encode()), "not text"),
    "a carriage return": (answer(b"x 1\ry 2\n"), "not text"),
    "a NUL": (answer(b"x 1\0\n"), "not text"),
    "no UTF-8": (answer(b"x{a=\"\xff\"} 1\n"), "not text"),
    "an escape sequence in an error": (answer(b"\x1b]0;x\x07", HEAD.replace(b"200", b"500")), "not text"),
    "too much": (b"x" * (18 * 1024 * 1024), "more than 17 MiB"),
}


class Liar:
    """A server that sends this to whoever connects."""

    def __init__(self, data, closes=True):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.data, self.closes = data, closes
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        connection, _ = self.socket.accept()
        connection.recv(1000)
        try:
            connection.sendall(self.data)
            while not self.closes:
                connection.sendall(b"x")
                time.sleep(0.3)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        except OSError:  # it has heard enough
            pass
        connection.close()
        self.socket.close()


def check_hostile():
    for name, (data, expected) in HOSTILE.items():
        liar = Liar(data)
        found = run(f"--from=127.0.0.1:{liar.port}")
        text = found.stdout + found.stderr
        is_right = found.returncode == 1 and expected.encode() in found.stderr and not found.stdout
        has_control = any(c < 0x20 and c != 10 for c in text)
        check(f"a server that answers {name}", [] if is_right and not has_control else [repr(text[:300])])
    liar = Liar(answer(b"{" + b"[" * 1000, HEAD.replace(b"text/plain", b"application/json")))
    check_run("JSON that is none", [f"--from=127.0.0.1:{liar.port}", "--json"], 1, "metrics")
    begin = time.monotonic()
    liar = Liar(HEAD, closes=False)
    check_run("a server that never ends", [f"--from=127.0.0.1:{liar.port}"], 1,
              "within ten seconds; the machine may be busy, else 'journalctl -u ktrace-metrics' has the reason")
    took = time.monotonic() - begin
    check("is left after ten seconds", [] if 9 < took < 13 else [f"{took} s"])


def check_absent():
    check_run("no service", [f"--from=127.0.0.1:{free_port()}"], 1, "nothing listens there: is ktrace-metrics.socket")
    check_run("no socket", [f"--from={FOLDER.name}/none"], 1, "nothing listens there: is ktrace-metrics.socket")
    for address in ("localhost:9466", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "::1:80", "[::1]",
                    "", ":1", "[127.0.0.1]:1", "127.0.0.1]:1", "/" + "x" * 200):
        check_run(f"no address: {address[:20]}", [f"--from={address}"], 2, "expected an address such as")


main_server = Server(SERVE)
check_served(main_server)
check_file(main_server)
check_hostile()
check_absent()
main_server.end()
end()
