#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The example files for Prometheus and Grafana: examples.py SOURCE. TAP.

promtool accepts the alerts and each query of the dashboard; the alerts are raised as rules-test.yml says; and each name
and label that they use is that of a metric in a shipped set or of the service itself."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tap import check, end, skip

source = pathlib.Path(sys.argv[1])
here = pathlib.Path(__file__).parent
rules = source / "units/prometheus/ktrace.rules.yml"
dashboard = json.loads((source / "units/grafana/ktrace.json").read_text())
SUFFIXES = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}


def shipped():
    """The names of the series of all sets, and their labels."""
    series = {}
    for file in sorted((source / "policy/metrics.d").glob("*.json")):
        for metric in json.loads(file.read_text())["metrics"]:
            labels = {label["name"] for label in metric.get("labels", [])}
            for suffix in SUFFIXES[metric["type"]]:
                series[metric["name"] + suffix] = labels | ({"le"} if suffix == "_bucket" else set())
    return series


def own():
    """The names of the service's own series."""
    code = (source / "client/metrics/self.c").read_text()
    found = re.findall(r'METRIC_(GAUGE|COUNTER),\s+"(ktrace_metrics_\w+)"', code)
    return {name + SUFFIXES[kind.lower()][0]: {"set", "metric", "by", "version"} for kind, name in found}


def queries():
    """(title, query) of the dashboard, with values in place of Grafana's variables."""
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".+")


def labels_in(query):
    groups = re.findall(r"by \(([^)]*)\)", query)
    return {label.strip() for group in groups for label in group.split(",")} - {"instance"}


def overlap(a, b):
    return all(a[at] < b[at] + b[size] and b[at] < a[at] + a[size] for at, size in (("x", "w"), ("y", "h")))


def promtool(*arguments):
    run = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True)
    return (run.stdout + run.stderr).splitlines() if run.returncode else []


known = shipped() | own()
alerts = re.findall(r"expr: (?:>-\n)?(.*(?:\n {12}.*)*)", rules.read_text())
used = [("the alerts", query) for query in alerts] + list(queries())
check("each metric of the examples exists",
      [f"{title}: {name}" for title, query in used for name in re.findall(r"ktrace_\w+", query) if name not in known])
check("each label of the examples exists",
      [f"{title}: {label}" for title, query in used for label in labels_in(query)
       if not any(label in known.get(name, ()) for name in re.findall(r"ktrace_\w+", query))])
check("each set has a panel",
      sorted(name for name in shipped() if not name.endswith(("_count", "_sum", "_bucket"))
             and "uptime" not in name and not any(name in query for title, query in used)))
check("the panels are not on top of each other",
      [f"{a['title']}, {b['title']}" for a in dashboard["panels"] for b in dashboard["panels"]
       if a["id"] < b["id"] and overlap(a["gridPos"], b["gridPos"])])
if shutil.which("promtool"):
    check("promtool accepts the alerts", promtool("check", "rules", rules))
    with tempfile.TemporaryDirectory() as folder:
        parsed, tests = pathlib.Path(folder) / "dashboard.yml", pathlib.Path(folder) / "test.yml"
        records = [{"record": f"query:{i}", "expr": query} for i, (title, query) in enumerate(queries())]
        parsed.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": records}]}))  # JSON is YAML
        check("promtool accepts the queries of the dashboard", promtool("check", "rules", parsed))
        tests.write_text((here / "rules-test.yml").read_text().replace("RULES", str(rules)))
        check("the alerts are raised by what they are about", promtool("test", "rules", tests))
else:
    for what in ("accepts the alerts", "accepts the queries", "raises the alerts"):
        skip(f"promtool {what}", "there is no promtool (prometheus)")
end()
