#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""on_alert.py SOURCE-DIR: the answers of ktrace-on-alert, beside a ktracectl that returns what the file `status` says.
The case cookbook_alert runs it with a real Alertmanager."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from tap import check, end

STUB = """#!/bin/sh
case "$*" in
*snapshot*)
        [ -e status ] || exit 1
        mkdir "$7"
        exit "$(cat status)"
        ;;
esac
"""


def post(*machines):
    """The status and the text of the answer to an alert of these machines."""
    alerts = [{"status": "firing", "labels": {"instance": f"{machine}:9100"}} for machine in machines]
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/", json.dumps({"alerts": alerts}).encode(),
                                     {"Authorization": f"Bearer {TOKEN}"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def is_listening():
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", PORT)) == 0


def get_places():
    return sorted((FOLDER / "alerts").iterdir())


def run_checks():
    answers = {post("web1") for _ in range(101)}
    check("an attempt without a recording leaves no directory",
          [] if answers == {(503, "no snapshot of 1 of 1 machines\n")} and not get_places() else
          [repr(answers), f"{len(get_places())} directories"])
    (FOLDER / "status").write_text("3")
    answer = post("web1")
    check("nor does one that began with it", [] if answer[0] == 503 and not get_places() else [repr(answer)])
    (FOLDER / "ktracectl").rename(FOLDER / "other")
    answer = post("web1")
    check("nor does one that cannot run ktracectl", [] if answer[0] == 503 and not get_places() else [repr(answer)])
    (FOLDER / "other").rename(FOLDER / "ktracectl")
    (FOLDER / "status").write_text("0")
    answer = post("web1")
    check("the next one has its recording", [] if answer == (200, "asked 1 of 1 machines\n") and
          [(place / "events").is_dir() for place in get_places()] == [True] else [repr(answer)])
    (FOLDER / "status").write_text("4")
    answer = post("web1", "web2")
    check("a recording of some machines is kept", [] if answer[0] == 200 and len(get_places()) == 2 else [repr(answer)])
    answer = post(*[f"web{i}" for i in range(150)])
    n = len((get_places()[-1] / "machines").read_text().splitlines())
    check("the answer says that machines were left out",
          [] if answer == (200, "asked 100 of 150 machines\n") and n == 100 else [repr(answer), f"{n} machines"])
    answer = post()
    check("no machine", [] if answer == (200, "no machine\n") else [repr(answer)])
    for i in range(97):
        (FOLDER / "alerts" / str(i)).mkdir()
    answer = post("web1")
    check("100 directories", [] if answer == (503, "100 directories: remove old ones\n") else [repr(answer)])


with tempfile.TemporaryDirectory() as name:
    FOLDER, TOKEN = pathlib.Path(name), "0123456789abcdef"
    (FOLDER / "ktracectl").write_text(STUB)
    (FOLDER / "ktracectl").chmod(0o755)
    (FOLDER / "token").write_text(TOKEN)
    (FOLDER / "alerts").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        PORT = free.getsockname()[1]
    environment = os.environ | {"PATH": f"{name}:{os.environ['PATH']}", "PORT": str(PORT), "PAUSE": "0"}
    with subprocess.Popen([sys.executable, os.path.abspath(f"{sys.argv[1]}/units/prometheus/ktrace-on-alert"), "alerts",
                           "box", "token"], cwd=FOLDER, env=environment, stderr=subprocess.DEVNULL) as process:
        limit = time.monotonic() + 20
        while not is_listening() and time.monotonic() < limit:
            time.sleep(0.05)
        try:
            run_checks()
        finally:
            process.kill()
end()
