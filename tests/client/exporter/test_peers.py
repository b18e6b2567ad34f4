#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prometheus and node_exporter read the metrics: test_peers.py KTRACECTL METRICS-SERVE. TAP."""
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

from server import Server, free_port, wait_until
from tap import check, end, skip

KTRACECTL, SERVE = sys.argv[1:3]
FOLDER = tempfile.TemporaryDirectory()
SCRAPES = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - {{job_name: ktrace, static_configs: [{{targets: ["127.0.0.1:{}"]}}]}}
"""


def get(address):
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return answer.read().decode()
    except OSError:
        return ""


class Prometheus:
    def __init__(self, target):
        self.port = free_port()
        config = os.path.join(FOLDER.name, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(SCRAPES.format(target))
        self.log = open(os.path.join(FOLDER.name, "prometheus.log"), "wb")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={FOLDER.name}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log, cwd=FOLDER.name)
        atexit.register(self.process.kill)

    def ask(self, query):
        """The values of an instant vector, by their labels without those of Prometheus."""
        text = get(f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": query}))
        found = json.loads(text)["data"]["result"] if text else []
        return {tuple(sorted((name, value) for name, value in one["metric"].items()
                             if name not in ("__name__", "instance", "job"))): one["value"][1] for one in found}

    def target(self):
        text = get(f"http://127.0.0.1:{self.port}/api/v1/targets")
        targets = json.loads(text)["data"]["activeTargets"] if text else []
        return targets[0] if targets else {}

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=20)
        self.log.close()


def check_prometheus():
    if not shutil.which("prometheus"):
        skip("Prometheus scrapes the metrics", "no prometheus")
        return
    server = Server(SERVE)
    prometheus = Prometheus(server.port)
    read = (("call", "read"),)  # Prometheus drops an empty label
    is_up = wait_until(lambda: prometheus.target().get("health") == "up", 60)
    check("Prometheus scrapes the metrics", [] if is_up else [str(prometheus.target())])
    for _ in range(41):
        server.order("next")
    has_number = wait_until(lambda: prometheus.ask("ktrace_calls_total").get(read) == "42", 10)
    check("and has the exact number", [] if has_number else [str(prometheus.ask("ktrace_calls_total"))])
    hostile = [dict(labels)["call"] for labels in prometheus.ask('ktrace_calls_total{error="EPERM"}')]
    check("a hostile name comes through", [] if hostile == ['a"b\\c\ufffdd\ufffd\ufffd[2J'] else [repr(hostile)])
    for quantile, device, low, high in (0.5, "sda", 0, 2e-6), (0.9, "sda", 4e-6, 8e-6), (0.5, "sdb", 2e-6, 4e-6):
        query = f'histogram_quantile({quantile}, ktrace_latency_seconds_bucket{{device="{device}"}})'
        values = list(prometheus.ask(query).values())
        check(f"quantile {quantile} of {device} is in its bucket",
              [] if len(values) == 1 and low <= float(values[0]) <= high else [str(values)])
    values = prometheus.ask('sum by (le) (ktrace_latency_seconds_bucket)')
    counts = [int(values[key]) for key in sorted(values, key=lambda labels: float(dict(labels)["le"]))]
    check("buckets of all devices add up", [] if counts == [5, 7, 8, 9] else [str(values)])
    check("no family identifies users", [] if not prometheus.ask('{comm!=""}') else ["it has"])
    target = prometheus.target()
    check("without an error", [] if target.get("lastError") == "" else [str(target)])
    prometheus.end()
    server.end()


def check_node_exporter():
    if not shutil.which("prometheus-node-exporter"):
        skip("node_exporter reads the file", "no prometheus-node-exporter")
        return
    server = Server(SERVE)
    port, folder = free_port(), os.path.join(FOLDER.name, "textfile")
    os.mkdir(folder)
    subprocess.run([KTRACECTL, "metrics", f"--from=127.0.0.1:{server.port}", "-o", f"{folder}/ktrace.prom"], check=True)
    exporter = subprocess.Popen(["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}",
                                 "--collector.disable-defaults", "--collector.textfile",
                                 f"--collector.textfile.directory={folder}"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(exporter.kill)
    wait_until(lambda: get(f"http://127.0.0.1:{port}/metrics"), 30)
    lines = get(f"http://127.0.0.1:{port}/metrics").split("\n")
    expected = {"node_textfile_scrape_error 0", 'ktrace_calls_total{call="read",error=""} 1',
                'ktrace_latency_seconds_bucket{device="sda",le="4e-06"} 5', "ktrace_size_bytes_count 8"}
    check("node_exporter reads the file", sorted(expected - set(lines)))
    exporter.terminate()
    exporter.wait(timeout=10)
    server.end()


check_prometheus()
check_node_exporter()
end()
