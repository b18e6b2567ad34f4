#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""perfetto.py DENSE COMPATIBLE JSON: reads both forms of one recording with protoc and compares them, record by record,
with each other and with the output of `convert --to json`. Prints what differs, and ends with 1 then."""
import ast
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perfetto.proto")
TYPES = {3: "int64", 4: "uint64", 5: "int32", 9: "string", 13: "uint32"}


class Message(collections.defaultdict):
    """The fields of a message: a list of values for each name."""

    def __init__(self):
        super().__init__(list)

    def one(self, name, default=None):
        return self[name][0] if name in self else default


def parse(text):
    """Reads protoc's text."""
    stack = [Message()]
    for line in text.splitlines():
        line = line.strip()
        if line == "}":
            stack.pop()
        elif line.endswith(" {"):
            inner = Message()
            stack[-1][line[:-2]].append(inner)
            stack.append(inner)
        else:
            name, value = line.split(": ", 1)
            if name.isdigit():
                sys.exit(f"unknown field: {line}")
            if value.startswith('"'):
                value = ast.literal_eval("b" + value).decode()
            stack[-1][name].append(value if not re.fullmatch("-?[0-9]+", value) else int(value))
    return stack[0]


def decode(path, proto):
    with tempfile.TemporaryDirectory() as folder, open(path, "rb") as trace:
        with open(os.path.join(folder, "all.proto"), "w", encoding="utf-8") as file:
            file.write(proto)
        run = subprocess.run(["protoc", f"-I{folder}", "--decode=Trace", "all.proto"], cwd=folder, stdin=trace,
                             stdout=subprocess.PIPE, check=True)
    return run.stdout.decode()


def describe(text):
    """The events that describe themselves, as protoc's language: {number: (name, declaration)}."""
    found = {}
    for block in re.findall(r"generic_event_descriptors \{\n(.*?)\n    \}", text, re.S):
        event = parse(block)
        number, body = event.one("field_id"), event.one("event_descriptor")
        fields = "".join(f"optional {TYPES[f.one('type')]} {f.one('name')} = {f.one('number')};" for f in body["field"])
        found[number] = (body.one("name"), f"message Described{number} {{ {fields} }}")
    return found


def read(path):
    with open(PROTO, encoding="utf-8") as file:
        proto = file.read()
    # Unknown fields contain what is only known after the descriptors are read.
    described = describe(decode(path, proto))
    lines = "".join(f"optional Described{n} described_{n} = {n};\n" for n in described)
    proto = proto.replace("// DESCRIBED EVENTS", lines) + "\n".join(d for _, d in described.values())
    return parse(decode(path, proto)), {n: name for n, (name, _) in described.items()}


def values(event, names):
    """A record as (time, pid, event, {field: value})."""
    body = [k for k in event if k not in ("timestamp", "pid")]
    assert len(body) == 1, f"an event with {body}"
    name, fields = body[0], event.one(body[0])
    if name == "generic":
        name = fields.one("event_name")
        fields = {f.one("name"): next(v[0] for k, v in f.items() if k != "name") for f in fields["field"]}
    else:
        if name.startswith("described_"):
            name = names[int(name[10:])]
        fields = {k: v[0] if k != "args" else v for k, v in fields.items()}
    return event.one("timestamp"), event.one("pid"), name, fields


def records(path):
    """The records of each CPU."""
    trace, names = read(path)
    cpus = collections.defaultdict(list)
    for packet in trace["packet"]:
        for bundle in packet["ftrace_events"]:
            cpus[bundle.one("cpu")] += [values(e, names) for e in bundle["event"]]
    return cpus


def agrees(value, expected):
    """Arrays of events that describe themselves are text."""
    if isinstance(expected, list) and isinstance(value, str):
        return value == json.dumps(expected, separators=(",", ":"))
    if isinstance(expected, str) and expected.startswith("0x") and isinstance(value, int):
        return value == int(expected, 16)
    return value == expected


def check(record, line):
    """Compares a record with its line of JSON."""
    time, pid, name, fields = record
    expected, event = line["fields"], line["event"]
    if event.startswith("sys_enter_") or event.startswith("sys_exit_"):
        kind = event[:event.index("_", 4)]
        number = expected.pop("__syscall_nr")
        expected = {"id": number, "ret": expected["ret"]} if kind == "sys_exit" else \
            {"id": number, "args": [int(v, 16) if isinstance(v, str) else v for v in expected.values()]}
        event = kind
    if name == "sys_enter":
        fields.setdefault("args", [])
    assert (pid, name) == (line["pid"], event), "another record"
    for key, value in fields.items():
        assert agrees(value, expected[key]), f"{key}: {value!r} instead of {expected[key]!r}"
    if name not in ("sys_enter", "sys_exit", "print") and not name.startswith("sched_process"):
        assert len(fields) == len(expected), f"the fields are {list(fields)}"


def main():
    dense, compatible = records(sys.argv[1]), records(sys.argv[2])
    assert dense == compatible, "the two forms differ"
    with open(sys.argv[3], encoding="utf-8", errors="replace") as file:
        lines = [json.loads(line) for line in file]
    n = 0
    distances = set()
    for cpu, expected in sorted(dense.items()):
        wanted = [line for line in lines if line.get("cpu") == cpu and "event" in line and line["event"]]
        assert len(wanted) == len(expected), f"CPU {cpu}: {len(expected)} records instead of {len(wanted)}"
        for record, line in zip(expected, wanted):
            try:
                check(record, line)
            except (AssertionError, KeyError) as error:
                sys.exit(f"{record}\n{line}\n{error!r}")
            distances.add(record[0] - line["ts"])
            n += 1
    assert len(distances) == 1, f"the times differ by {distances}"
    print(n)


main()
