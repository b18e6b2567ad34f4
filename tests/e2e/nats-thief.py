#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""nats-thief.py PORT OWN-ID OTHER-ID PASSWORD [USER]: what the credential of one machine can do at nats-server, or
that of ktrace-fleet or ktrace-admin (USER). It speaks the protocol itself. Prints `ok`, `refused` or `THEFT` and the
deed."""
import json
import socket
import sys

port, own, other, password = int(sys.argv[1]), *sys.argv[2:5]
user = sys.argv[5] if len(sys.argv) > 5 else own
reads = user == "ktrace-fleet"
adds = user == "ktrace-admin"
INBOX = f"_INBOX_{'fleet' if reads else 'admin' if adds else own}.thief"


class Connection:
    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.lines = self.socket.makefile("rb")
        self.lines.readline()  # INFO
        options = {"user": user, "pass": password, "verbose": False, "pedantic": False, "headers": True,
                   "no_responders": True, "protocol": 1, "lang": "thief", "version": "0", "name": "thief"}
        self.send(f"CONNECT {json.dumps(options)}\r\nSUB {INBOX} 1\r\nPING\r\n")
        self.socket.settimeout(3)
        if self.read()[0] != "PONG":
            raise SystemExit("the credential is refused")

    def send(self, text):
        self.socket.sendall(text.encode())

    def read(self):
        """Returns the next event: (kind, text)."""
        line = self.lines.readline().decode().strip()
        words = line.split()
        if not words:
            return ("END", "")
        if words[0] == "MSG":
            data = self.lines.read(int(words[-1]) + 2)
            return ("MSG", data[:-2].decode(errors="replace"))
        if words[0] == "HMSG":
            data = self.lines.read(int(words[-1]) + 2)
            return ("MSG", data[:-2].decode(errors="replace"))
        return (words[0], line)

    def request(self, subject, data="", inbox=INBOX):
        """Returns the answer, or None if the server refuses."""
        self.send(f"PUB {subject} {inbox} {len(data)}\r\n{data}\r\nPING\r\n")
        answer = None
        for _ in range(4):
            try:
                kind, text = self.read()
            except TimeoutError:
                return answer
            if kind == "-ERR" or (kind == "PONG" and inbox != INBOX):
                return None
            if kind == "MSG":
                return text
        return answer

    def listen(self, subject):
        self.send(f"SUB {subject} 2\r\nPING\r\n")
        return self.read()[0] != "-ERR"


def attempt(deed, got, wanted=False):
    print("ok" if got and wanted else "THEFT" if got else "refused", deed)


def has(answer, *words):
    return answer is not None and '"error"' not in answer and "NATS/1.0 503" not in answer and any(
        w in answer for w in words)


# Readers have the second name for what they may ask.
APIS = "$JS.API.", "KTRACE.API."
SESSION = "0123456789abcdef"
attempt("publish own", has(Connection().request(f"ktrace.{own}.{SESSION}", "x"), '"seq"'), user == own)
attempt("publish for another", has(Connection().request(f"ktrace.{other}.{SESSION}", "x"), '"seq"'))
attempt("publish elsewhere", has(Connection().request("anything", "x"), '"seq"'))
for api in APIS:
    mine = reads if api == "KTRACE.API." else False
    attempt(f"read own with {api}", has(Connection().request(f"{api}DIRECT.GET.ktrace-{own}", '{"seq":1}'),
                                        "Nats-Sequence"), mine or (user == own and api == "$JS.API."))
    for stream in own, other:
        name = f"ktrace-{stream}"
        for deed, subject, data, word in (
                ("delete", f"STREAM.DELETE.{name}", "", '"success"'),
                ("purge", f"STREAM.PURGE.{name}", "", '"success"'),
                ("delete a message of", f"STREAM.MSG.DELETE.{name}", '{"seq":1}', '"success"'),
                ("change", f"STREAM.UPDATE.{name}", json.dumps({"name": name, "subjects": ["ktrace.>"]}), '"config"'),
                ("create", f"STREAM.CREATE.{name}", json.dumps({"name": name, "subjects": [f"ktrace.{stream}.*"],
                                                                "max_msgs": 1, "storage": "file"}), '"config"'),
                ("describe", f"STREAM.INFO.{name}", "", '"config"'),
                ("consume", f"CONSUMER.CREATE.{name}", json.dumps({"stream_name": name, "config": {
                    "deliver_subject": INBOX, "ack_policy": "none", "deliver_policy": "all"}}), '"config"')):
            attempt(f"{deed} {'its own' if stream == own else 'another'} stream",
                    has(Connection().request(api + subject, data), word), mine and deed == "describe")
    for kind, word in (("STREAM.MSG.GET", '"message"'), ("DIRECT.GET", "Nats-Sequence")):
        attempt(f"read a message of another with {kind}",
                has(Connection().request(f"{api}{kind}.ktrace-{other}", '{"seq":1}'), word), mine)
    # The server's answer would become a message of the other stream. The caller looks whether it has.
    for subject, data in ((f"ktrace.{own}.{SESSION}", "x"), (f"{api}DIRECT.GET.ktrace-{own}", '{"seq":1}'),
                          (f"{api}DIRECT.GET.ktrace-{other}", '{"seq":1}'), (f"{api}STREAM.NAMES", ""),
                          (f"{api}STREAM.MSG.GET.ktrace-{other}", '{"seq":1}'),
                          (f"{api}STREAM.INFO.ktrace-{other}", "")):
        Connection().request(subject, data, inbox=f"ktrace.{other}.{SESSION}")
    attempt("list streams", has(Connection().request(f"{api}STREAM.NAMES"), '"streams"'), mine)
    for name, config in (
            ("all", {"subjects": ["ktrace.>"]}),
            ("copy", {"mirror": {"name": f"ktrace-{other}"}}),
            ("squat", {"subjects": ["ktrace.00000000000000000000000000000000.*"]}),
            ("again", {"subjects": ["again"], "republish": {"src": ">", "dest": f"ktrace.{other}.{SESSION}"}})):
        attempt(f"create the stream {name}", has(Connection().request(f"{api}STREAM.CREATE.{name}", json.dumps(
            {"name": name, **config})), '"config"'), adds and api == "$JS.API.")
for subject in (">", "ktrace.>", f"ktrace.{own}.*", f"ktrace.{other}.*", f"_INBOX_{other}.>", "_INBOX.>",
                "_INBOX_fleet.>", "_INBOX_admin.>", "$JS.>", "KTRACE.>"):
    attempt(f"listen to {subject}", Connection().listen(subject), subject == f"{INBOX.removesuffix('.thief')}.>")
