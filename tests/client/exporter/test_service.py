#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""ktrace-metrics with the sockets of a service manager, and with settings of a push, without a daemon:
test_service.py KTRACE-METRICS. TAP."""
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from server import free_port, read_all, wait_until
from tap import check, end

PROGRAM = sys.argv[1]
FOLDER = tempfile.TemporaryDirectory()
os.chmod(FOLDER.name, 0o755)
LIST = b'{"method":"io.systemd.Metrics.List","more":true}\0'


class Service:
    """sockets: pairs of a name and a socket, as systemd passes them."""

    def __init__(self, *options, settings=None, sockets=(), **environment):
        self.config = os.path.join(FOLDER.name, "etc")
        os.makedirs(self.config, mode=0o755, exist_ok=True)
        self.write(settings)
        self.log = os.path.join(FOLDER.name, "log")
        environment = {**os.environ, "KTRACE_VARLINK_ADDRESS": f"unix:{FOLDER.name}/none", **environment}
        command = [PROGRAM, f"--config-dir={self.config}", f"--lib-dir={FOLDER.name}/lib", *options]
        if sockets:
            environment["LISTEN_FDS"] = str(len(sockets))
            environment["LISTEN_FDNAMES"] = ":".join(name for name, _ in sockets)
            command = ["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", *command]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, env=environment, stderr=log, close_fds=False,
                                            preexec_fn=lambda: self.place([one for _, one in sockets]))

    def write(self, settings):
        with open(os.path.join(self.config, "ktrace-metrics.json"), "w", encoding="utf-8") as file:
            json.dump(settings or {}, file)

    @staticmethod
    def place(sockets):
        """Gives the sockets the numbers from 3."""
        copies = [os.dup(one.fileno()) for one in sockets]
        high = [os.dup2(copy, 200 + i) for i, copy in enumerate(copies)]
        for i, number in enumerate(high):
            os.dup2(number, 3 + i)

    def text(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def reload(self, settings):
        """Returns what the service logs."""
        self.write(settings)
        before = len(self.text())
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "settings" in self.text()[before:])
        return self.text()[before:]

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(timeout=10)


def listen_unix(name):
    path = os.path.join(FOLDER.name, name)
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    return listener


def talk(address, data):
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as connection:
        connection.settimeout(10)
        connection.connect(address)
        connection.sendall(data)
        if data == LIST:
            return connection.recv(65536)
        return read_all(connection)


def scrape(address):
    return talk(address, b"GET /metrics HTTP/1.0\r\n\r\n")


def find_push(address, name):
    """The number of a metric of the push, or None."""
    for line in scrape(address).decode().split("\n"):
        if line.startswith(f"ktrace_metrics_push_{name} "):
            return int(line.split()[-1])
    return None


def check_sockets():
    tcp = socket.create_server(("127.0.0.1", 0))
    private, report = listen_unix("private"), listen_unix("report")
    service = Service(sockets=[("http", tcp), ("report", report), ("http", private)])
    answers = wait_until(lambda: b"ktrace_metrics_build_info" in scrape(tcp.getsockname()))
    check("the port of the service manager answers", [] if answers else [service.text()])
    check("its UNIX socket too", [] if b"ktrace_metrics_build_info" in scrape(private.getsockname())
          else [service.text()])
    check("and the one for reports", [] if b"org.ktrace1.MetricsBuildInfo" in talk(report.getsockname(), LIST)
          else [service.text()])
    check("the service ends", [] if service.end() == 0 else [service.text()])
    kinds = socket.SOL_SOCKET, socket.SO_ACCEPTCONN
    check("and leaves the sockets for the next one",
          [str(one) for one in (tcp, private, report) if not one.getsockopt(*kinds)])
    for one in tcp, private, report:
        one.close()


def check_refused(what, sockets, text="FileDescriptorName="):
    service = Service(sockets=sockets)
    status = service.process.wait(timeout=10)
    check(f"{what}: one line", [] if status == 1 and text in service.text() and service.text().count("\n") == 1
          else [f"{status} {service.text()}"])
    for _, one in sockets:
        one.close()


def check_options():
    port, path = free_port(), os.path.join(FOLDER.name, "own")
    service = Service(f"--listen=127.0.0.1:{port}", f"--listen={path}", f"--report={path}.report")
    wait_until(lambda: os.path.exists(f"{path}.report") and b"build_info" in scrape(path))
    check("sockets of the service's own", [] if b"build_info" in scrape(("127.0.0.1", port)) and
          b"build_info" in scrape(path) and b"BuildInfo" in talk(f"{path}.report", LIST) else [service.text()])
    second = Service(f"--listen={path}")
    check("a socket that is in use is not replaced", [] if second.process.wait(timeout=10) == 1 and
          "Address already in use" in second.text() and b"build_info" in scrape(path) else [second.text()])
    service.process.kill()
    service.process.wait()
    service = Service(f"--listen={path}")
    check("one that was left is", [] if wait_until(lambda: service.process.poll() is None and
          not isinstance(try_scrape(path), OSError)) else [service.text()])
    service.end()
    with open(f"{path}.file", "w", encoding="utf-8"):
        pass
    service = Service(f"--listen={path}.file")
    check("a file is not", [] if service.process.wait(timeout=10) == 1 and os.path.isfile(f"{path}.file") else
          [service.text()])


def try_scrape(path):
    try:
        return scrape(path)
    except OSError as error:
        return error


class Handler(http.server.BaseHTTPRequestHandler):
    requests = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.requests.append(dict(self.headers))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def check_push():
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    with open(os.path.join(FOLDER.name, "otlp-headers"), "w", encoding="utf-8") as file:
        file.write("Authorization: Bearer s3cret\n")
    otlp = {"endpoint": f"http://127.0.0.1:{receiver.server_port}", "interval": "1s"}
    tcp = socket.create_server(("127.0.0.1", 0))
    address = tcp.getsockname()
    service = Service(settings={"interval": "1s", "otlp": otlp}, sockets=[("http", tcp)],
                      CREDENTIALS_DIRECTORY=FOLDER.name)
    is_sent = wait_until(lambda: (find_push(address, 'snapshots_total{result="sent"}') or 0) >= 2, 15)
    check("snapshots are sent and counted", [] if is_sent else [service.text()])
    check("with the headers of the credential", [] if Handler.requests and
          Handler.requests[0].get("Authorization") == "Bearer s3cret" else [str(Handler.requests)])
    wrong = service.reload({"interval": "1s", "otlp": {"endpoint": "ftp://x"}})
    check("a wrong endpoint keeps the push", [] if "expected http:// or https://" in wrong and
          "stay as they were" in wrong else [wrong])
    wrong = service.reload({"interval": "1s", "otlp": {"interval": "5s"}})
    check("one without endpoint too", [] if "endpoint is missing" in wrong else [wrong])
    before = find_push(address, 'snapshots_total{result="sent"}')
    service.reload({"interval": "2s", "otlp": otlp})
    after = find_push(address, 'snapshots_total{result="sent"}')
    check("a reload keeps the counts of the push",
          [] if before and after and after >= before else [f"{before} {after}"])
    service.reload({"interval": "1s"})
    is_gone = wait_until(lambda: find_push(address, "queued") is None)
    check("a reload without otlp ends it", [] if is_gone else [service.text()])
    check("the log has no secret", ["it has"] if "s3cret" in service.text() else [])
    check("the service ends", [] if service.end() == 0 else [service.text()])
    receiver.shutdown()
    tcp.close()


METRIC = {"name": "m", "help": "h", "type": "gauge", "status": "sessions"}


def check_unanswered():
    """A bus that has no ktraced."""
    sets, address = os.path.join(FOLDER.name, "etc/metrics.d"), f"unix:path={FOLDER.name}/bus"
    os.makedirs(sets)
    for name in "ab":
        with open(os.path.join(sets, f"{name}.json"), "w", encoding="utf-8") as file:
            json.dump({"metrics": [{**METRIC, "name": name}]}, file)
    with subprocess.Popen(["dbus-daemon", "--session", f"--address={address}", "--nofork", "--nopidfile"],
                          stderr=subprocess.DEVNULL) as bus:
        wait_until(lambda: os.path.exists(f"{FOLDER.name}/bus"))
        service = Service(f"--listen={FOLDER.name}/unanswered", settings={"sets": ["a", "b"], "interval": "1s"},
                          DBUS_SYSTEM_BUS_ADDRESS=address)
        wait_until(lambda: "no set is counted" in service.text())
        time.sleep(3)
        lines = service.text().splitlines()
        check("no ktraced: one set has the reason, and one line is about all", [] if len(lines) == 2 and
              "set a: ktraced is not running" in lines[0] and "no set is counted" in lines[1] else lines)
        service.end()
        bus.terminate()


check_sockets()
check_refused("a socket of another name is refused", [("other", socket.create_server(("127.0.0.1", 0)))])
check_refused("a report over TCP is refused", [("report", socket.create_server(("127.0.0.1", 0)))])
check_refused("a socket that does not listen is refused", [("http", socket.socket())])
check_refused("too many sockets are refused", [("http", socket.create_server(("127.0.0.1", 0))) for _ in range(17)],
              "expected at most 16 sockets for HTTP")
check_options()
check_unanswered()
check_push()
end()
