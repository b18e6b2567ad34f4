#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""view.py KTRACECTL WRITE-SAMPLE: what the web server of `ktracectl view` answers, and to whom."""
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

KTRACECTL, WRITE_SAMPLE = sys.argv[1:3]
FOLDER = tempfile.TemporaryDirectory()
RECORDING = os.path.join(FOLDER.name, "sample.kts")
with open(RECORDING, "wb") as sample:
    subprocess.run([WRITE_SAMPLE], stdout=sample, check=True)
number = 0


def check(is_right, title, got=""):
    global number
    number += 1
    print(f"{'ok' if is_right else 'not ok'} {number} - {title}", flush=True)
    if not is_right:
        print(f"# got {got!r}", flush=True)


class View:
    """A running `ktracectl view`."""

    def __init__(self, path=RECORDING):
        self.process = subprocess.Popen([KTRACECTL, "view", "--no-browser", path], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", self.address)
        self.port = int(found[1]) if found else 0

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def ask(self, path="/", method="GET", host=None, **headers):
        """Returns status, head and body."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host or f'127.0.0.1:{self.port}'}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        with self.connect() as connection:
            connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), head.decode(), body

    def open(self):
        """Keeps a page open until the connection is closed."""
        connection = self.connect()
        connection.sendall(f"GET /open HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
        connection.recv(1)
        return connection

    def end(self):
        self.process.terminate()
        return self.process.communicate(timeout=10)[1]


def check_answers(view):
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        subprocess.run([KTRACECTL, "convert", "-q", RECORDING, "--to", "html", "-o", page], check=True)
        with open(page, "rb") as file:
            expected = file.read()
    status, head, body = view.ask("/")
    check(status == 200 and b"<iframe" in body, "the document", status)
    check("frame-ancestors 'none'" in head, "no other page can frame the document", head)
    status, head, body = view.ask("/recording")
    check(status == 200 and body == expected, "the recording is that of convert --to html", (status, len(body)))
    check("sandbox allow-scripts; default-src 'none'" in head, "the recording cannot connect", head)
    check(view.ask("/recording", "HEAD")[::2] == (200, b""), "HEAD")
    check(view.ask("/other")[0] == 404, "no other path")
    check(view.ask("/../etc/passwd")[0] == 404, "no path of the machine")
    check(view.ask(method="POST")[0] == 405, "no POST")
    check(view.ask(method="OPTIONS")[0] == 405, "no OPTIONS")


def check_sites(view):
    own = f"127.0.0.1:{view.port}"
    for title, wrong in (
            ("another name for 127.0.0.1", {"host": f"evil.example:{view.port}"}),
            ("no port in Host", {"host": "127.0.0.1"}),
            ("another Origin", {"Origin": "http://evil.example"}),
            ("Origin null", {"Origin": "null"}),
            ("an Origin that begins with ours", {"Origin": f"http://{own}.evil.example"}),
            ("Sec-Fetch-Site: cross-site", {"Sec-Fetch-Site": "cross-site"}),
            ("Sec-Fetch-Site: same-site", {"Sec-Fetch-Site": "same-site"})):
        status, _, body = view.ask("/recording", **wrong)
        check(status == 403 and len(body) < 200, f"refused: {title}", status)
    for title, right in (
            ("localhost", {"host": f"localhost:{view.port}"}),
            ("its own Origin", {"Origin": f"http://{own}"}),
            ("Sec-Fetch-Site: same-origin", {"Sec-Fetch-Site": "same-origin"}),
            ("an address that was typed", {"Sec-Fetch-Site": "none"})):
        check(view.ask("/", **right)[0] == 200, f"answered: {title}")


def check_users(view):
    if os.geteuid() != 0:
        check(True, "a connection of another user # SKIP only root can become another user")
        return
    program = ("import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
               "try:\n s.sendall(b'GET / HTTP/1.1\\r\\nHost: 127.0.0.1:' + sys.argv[1].encode() + b'\\r\\n\\r\\n')\n"
               " print(len(s.recv(1000)))\nexcept ConnectionError: print(0)")
    for _ in range(2):
        done = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", sys.executable, "-c", program,
                               str(view.port)], capture_output=True, text=True)
        check(done.stdout == "0\n", "a connection of another user gets no byte", done)
    check(view.ask()[0] == 200, "the owner is still served")


def check_end(view):
    page = view.open()
    page.close()
    page = view.open()
    time.sleep(4)
    check(view.process.poll() is None, "view survives a reload")
    page.close()
    start = time.monotonic()
    try:
        status = view.process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        status = None
    check(status == 0, "view ends when the page was closed", status)
    print(f"# after {time.monotonic() - start:.1f} s")


def check_files():
    with open(RECORDING, "rb") as file:
        content = file.read()
    with tempfile.TemporaryDirectory() as folder:
        cut, bad = os.path.join(folder, "cut.kts"), os.path.join(folder, "bad.kts")
        with open(cut, "wb") as file:
            file.write(content[:-20])
        with open(bad, "wb") as file:
            file.write(b"no recording")
        view = View(cut)
        check(view.port and view.ask("/recording")[0] == 200, "a cut recording is shown")
        view.open().close()
        check(view.process.wait(timeout=10) == 4, "a cut recording exits with 4", view.process.returncode)
        view = View(bad)
        check(view.address == "" and view.process.wait(timeout=10) == 1, "another file is not served", view.address)


first = View()
check(first.port != 0, "the address of this machine is printed", first.address)
check_answers(first)
check_sites(first)
check_users(first)
message = first.end()
check(message.count("refused a connection") == (1 if os.geteuid() == 0 else 0), "one message on other users", message)
check_end(View())
check_files()
print(f"1..{number}")
