#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The OTLP push of ktrace-metrics to receivers that fail in all ways: test_otlp.py METRICS-SERVE
PRINT-SAMPLE. With TAP_DEEP, OpenTelemetry's own definitions read the text. TAP."""
import http.server
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from otlp_schema import check_request
from server import Server, free_port, wait_until
from tap import check, end, skip

SERVE, PRINT_SAMPLE = sys.argv[1:3]
QUEUE_MAX = 8  # otlp-push.h
FOLDER = tempfile.TemporaryDirectory()
TRANSFORMER, VERSION = "@opentelemetry/otlp-transformer", "0.57.2"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        receiver = self.server.receiver
        receiver.requests.append((time.monotonic(), self.path, dict(self.headers), body))
        status, headers, text = receiver.answers.pop(0) if receiver.answers else (200, {}, b"{}")
        if status == "hang":
            receiver.is_released.wait(60)
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        try:
            self.wfile.write(text)
        except OSError:  # the sender does not want all of it
            self.close_connection = True

    def do_CONNECT(self):
        self.server.receiver.requests.append((time.monotonic(), self.path, dict(self.headers), b""))
        self.send_error(502)

    def log_message(self, *_):
        pass


class Receiver:
    """Gives these answers, then only success. Each is (status, headers, text)."""

    def __init__(self, *answers, port=0, context=None):
        self.answers = list(answers)
        self.requests = []
        self.is_released = threading.Event()
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.http.handle_error = lambda *_: None  # a sender that closes the connection
        self.http.receiver = self
        self.port = self.http.server_port
        if context:
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def metrics(self, i):
        scopes = json.loads(self.requests[i][3])["resourceMetrics"][0]["scopeMetrics"]
        return {metric["name"]: metric for metric in scopes[0]["metrics"]}

    def calls(self, i):
        return int(self.metrics(i)["ktrace_calls"]["sum"]["dataPoints"][0]["asInt"])

    def close(self):
        self.is_released.set()
        self.http.shutdown()
        self.http.server_close()


def push(receiver, *options, scheme="http"):
    return Server(SERVE, f"--otlp={scheme}://127.0.0.1:{receiver.port}", "--usec=50000", *options)


def compare(got, **expected):
    return [f"{name}: {got[name]} instead of {number}" for name, number in expected.items() if got[name] != number]


def check_accepted():
    receiver = Receiver()
    server = push(receiver)
    wait_until(lambda: server.counts()["sent"] == 1)
    time.sleep(0.3)
    check("a snapshot is sent once", compare(server.counts(), sent=1, retries=0, failed=0, dropped=0, queued=0))
    server.order("next")
    wait_until(lambda: server.counts()["sent"] == 2)
    check("the next one too", compare({"n": len(receiver.requests), "calls": receiver.calls(1)}, n=2, calls=2))
    _, path, headers, body = receiver.requests[0]
    check("the request", compare({"path": path, **headers}, path="/v1/metrics", **{"Content-Type": "application/json"}))
    check("its text follows the schema", check_request(json.loads(body)))
    check("no family identifies users", ["secret"] if b"secret" in body or b"private" in body else [])
    check("the server ends", compare({"status": server.end()}, status=0))
    receiver.close()


def check_later():
    for status in 429, 502, 503, 504:
        receiver = Receiver((status, {}, b""))
        server = push(receiver)
        wait_until(lambda: server.counts()["sent"] == 1)
        check(f"{status} is repeated", compare(server.counts(), sent=1, retries=1, failed=0) or
              compare({"n": len(receiver.requests), "calls": receiver.calls(1)}, n=2, calls=1))
        waited = receiver.requests[1][0] - receiver.requests[0][0]
        check(f"{status}: after half a second to one", [] if 0.4 < waited < 2 else [f"{waited} s"])
        server.end()
        receiver.close()
    for value, least, most in ("3", 3, 4.5), ("-5", 0.4, 2), ("soon", 0.4, 2):
        receiver = Receiver((503, {"Retry-After": value}, b"later"))
        server = push(receiver)
        wait_until(lambda: server.counts()["sent"] == 1)
        waited = receiver.requests[1][0] - receiver.requests[0][0]
        check(f"Retry-After: {value}", [] if least <= waited < most else [f"{waited} s"])
        server.end()
        receiver.close()


def check_backoff():
    receiver = Receiver(*[(503, {}, b"")] * 3)
    server = push(receiver)
    wait_until(lambda: server.counts()["sent"] == 1, 20)
    times = [request[0] for request in receiver.requests]
    waits = [after - before for before, after in zip(times, times[1:])]
    check("each wait may be twice as long", [] if len(waits) == 3 and all(0.45 * 2 ** i < wait < 1.5 * 2 ** i
                                            for i, wait in enumerate(waits)) else [str(waits)])
    server.end()
    receiver.close()


def check_refused():
    for status in 301, 307, 400, 401, 404, 413, 500, 501:
        receiver = Receiver((status, {"Location": "/v1/other"}, b""))
        server = push(receiver)
        wait_until(lambda: server.counts()["failed"] == 1)
        server.order("next")
        wait_until(lambda: server.counts()["sent"] == 1)
        check(f"{status} is not repeated", compare(server.counts(), sent=1, retries=0, failed=1) or
              compare({"n": len(receiver.requests), "calls": receiver.calls(1)}, n=2, calls=2))
        server.end()
        receiver.close()


def check_partial():
    answers = {b'{"partialSuccess":{"rejectedDataPoints":"5","errorMessage":"too old"}}': 5,
               b'{"partialSuccess":{"rejectedDataPoints":7}}': 7, b'{"partialSuccess":{}}': 0, b"": 0, b"{": 0,
               b'{"partialSuccess":[]}': 0, b'{"partialSuccess":{"rejectedDataPoints":"-3"}}': 0, b"[" * 9000: 0,
               b'{"partialSuccess":{"rejectedDataPoints":{}},"a":"\x1b[2J"}': 0, b"x" * 1000000: 0}
    for text, rejected in answers.items():
        receiver = Receiver((200, {}, text))
        server = push(receiver)
        wait_until(lambda: server.counts()["sent"] == 1)
        time.sleep(0.1)
        check(f"answer {text[:60]!r}", compare(server.counts(), sent=1, retries=0, failed=0, rejected=rejected) or
              compare({"n": len(receiver.requests)}, n=1))
        server.end()
        receiver.close()


def check_queue():
    """No receiver at first."""
    port = free_port()
    server = Server(SERVE, f"--otlp=http://127.0.0.1:{port}", "--usec=20000")
    for _ in range(QUEUE_MAX + 4):
        time.sleep(0.06)
        server.order("next")
    time.sleep(0.1)
    counts = server.counts()
    check("the queue drops its oldest snapshots", compare(counts, sent=0, queued=QUEUE_MAX, dropped=5))
    receiver = Receiver(port=port)
    wait_until(lambda: server.counts()["queued"] == 0, 20)
    check("the others are sent in order", compare(server.counts(), sent=QUEUE_MAX, dropped=5) or
          compare({"calls": [receiver.calls(i) for i in range(QUEUE_MAX)]}, calls=list(range(6, 6 + QUEUE_MAX))))
    server.end()
    receiver.close()


def check_hanging():
    receiver = Receiver(("hang", {}, b""), ("hang", {}, b""))
    server = push(receiver)
    wait_until(lambda: receiver.requests)
    begin = time.monotonic()
    with server.connect() as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        data = connection.recv(100)
    took = time.monotonic() - begin
    check("a receiver that hangs delays no scraper", [] if b" 200 " in data and took < 1 else [f"{data!r} {took} s"])
    repeated = wait_until(lambda: server.counts()["retries"] == 1, 15)
    check("the request ends after ten seconds", [] if repeated else [str(server.counts())])
    wait_until(lambda: len(receiver.requests) == 2)
    begin = time.monotonic()
    status = server.end()
    took = time.monotonic() - begin
    check("the server ends in spite of a receiver that hangs", [] if status == 0 and took < 2 else [f"{took} s"])
    receiver.close()


def check_headers():
    path = os.path.join(FOLDER.name, "headers")
    with open(path, "w", encoding="utf-8") as file:
        file.write("Authorization: Bearer s3cret\n\nX-Scope-OrgID: a b\n")
    receiver = Receiver()
    server = push(receiver, f"--headers={path}")
    wait_until(lambda: server.counts()["sent"] == 1)
    check("headers of a file are sent", compare(receiver.requests[0][2], Authorization="Bearer s3cret",
                                               **{"X-Scope-OrgID": "a b"}))
    with open(f"/proc/{server.process.pid}/cmdline", "rb") as file:
        check("the secret is in no command line", ["it is"] if b"s3cret" in file.read() else [])
    server.end()
    receiver.close()


def check_proxy():
    """A proxy of the environment gets no secret."""
    proxy = Receiver()
    path = os.path.join(FOLDER.name, "headers")
    with open(path, "w", encoding="utf-8") as file:
        file.write("Authorization: Bearer s3cret\n")
    names = "http_proxy", "https_proxy", "all_proxy"
    before = {name: os.environ.pop(name, None) for name in (*names, "no_proxy", "NO_PROXY")}
    os.environ.update({name: f"http://127.0.0.1:{proxy.port}" for name in names})
    for host in "127.0.0.1", "localhost":
        receiver = Receiver()
        server = Server(SERVE, f"--otlp=http://{host}:{receiver.port}", "--usec=50000", f"--headers={path}")
        wait_until(lambda: server.counts()["sent"] == 1 or proxy.requests)
        check(f"{host} is asked without a proxy", compare(server.counts(), sent=1) or
              compare({"receiver": len(receiver.requests), "proxy": len(proxy.requests)}, receiver=1, proxy=0))
        server.end()
        receiver.close()
    server = Server(SERVE, "--otlp=https://collector.invalid:4318", "--usec=50000", f"--headers={path}")
    wait_until(lambda: server.counts()["retries"] == 1)
    what = [(path, headers.get("Authorization")) for _, path, headers, _ in proxy.requests]
    check("a proxy for TLS gets no header", compare({"what": what}, what=[("collector.invalid:4318", None)]))
    server.end()
    for name, value in before.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    proxy.close()


def check_certificate():
    if not shutil.which("openssl"):
        skip("certificates", "no openssl")
        return
    key, certificate = (os.path.join(FOLDER.name, name) for name in ("key", "certificate"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "2", "-subj", "/CN=receiver", "-addext", "subjectAltName=IP:127.0.0.1"],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    receiver = Receiver(context=context)
    server = push(receiver, scheme="https")
    wait_until(lambda: server.counts()["retries"] == 1)
    check("an unknown certificate is not accepted", compare(server.counts(), sent=0, retries=1) or
          compare({"n": len(receiver.requests)}, n=0))
    server.end()
    server = push(receiver, f"--ca={certificate}", scheme="https")
    wait_until(lambda: server.counts()["sent"] == 1)
    check("a known one is", compare(server.counts(), sent=1))
    server.end()
    server = Server(SERVE, f"--otlp=https://localhost:{receiver.port}", "--usec=50000", f"--ca={certificate}")
    wait_until(lambda: server.counts()["retries"] == 1)
    check("not for another name", compare(server.counts(), sent=0, retries=1))
    server.end()
    receiver.close()


def check_garbage():
    """A receiver that speaks no HTTP."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)

    def answer():
        connection, _ = listener.accept()
        connection.sendall(b"\0" * 70000)
        connection.close()

    thread = threading.Thread(target=answer)
    thread.start()
    server = Server(SERVE, f"--otlp=http://127.0.0.1:{listener.getsockname()[1]}", "--usec=50000")
    wait_until(lambda: server.counts()["retries"] + server.counts()["failed"] == 1)
    check("garbage is no success", compare(server.counts(), sent=0))
    thread.join()
    server.end()
    listener.close()


def find_transformer():
    """The directory of the npm package, which is kept outside of the tree, or None."""
    cache = os.environ.get("XDG_CACHE_HOME", "/var/cache") + "/ktrace-npm"
    package = f"{cache}/otlp-transformer-{VERSION}"
    if not os.path.isdir(package):
        new = f"{cache}/new.{os.getpid()}"
        os.makedirs(new)
        subprocess.run(["npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", new,
                        f"{TRANSFORMER}@{VERSION}"], check=False, capture_output=True)
        if not os.path.isdir(f"{new}/node_modules"):
            return None
        os.rename(new, package)
    return f"{package}/node_modules/{TRANSFORMER}"


def strip(value):
    """Without what the message does not have: empty lists and texts. 64-bit numbers of doubles lose their ends."""
    if isinstance(value, dict):
        return {name: strip(one) for name, one in value.items() if one not in ([], "")}
    if isinstance(value, list):
        return [strip(one) for one in value]
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def check_transformer():
    what = "OpenTelemetry's definitions read the text as it is"
    if not os.environ.get("TAP_DEEP"):
        skip(what, "only with deep")
        return
    package = find_transformer() if shutil.which("npm") else None
    if not package:
        skip(what, "npm cannot install the package")
        return
    text = subprocess.run([PRINT_SAMPLE, "otlp", "100"], stdout=subprocess.PIPE, check=True).stdout
    script = pathlib.Path(__file__).with_name("otlp-transformer.js")
    found = subprocess.run(["node", script, package], input=text, capture_output=True, check=False)
    check(what, [] if found.returncode == 0 and strip(json.loads(found.stdout)) == strip(json.loads(text)) else
          [found.stderr.decode()[:1000], found.stdout.decode()[:1000]])


check_transformer()
check_accepted()
check_later()
check_backoff()
check_refused()
check_partial()
check_queue()
check_headers()
check_proxy()
check_certificate()
check_garbage()
check_hanging()
end()
