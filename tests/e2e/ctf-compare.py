# SPDX-License-Identifier: LGPL-2.1-or-later
"""ctf-compare.py CTF: reads `report --json` of a recording on standard input, and the same recording in CTF with
babeltrace2. Prints the numbers of events and lost events, or the first difference."""
import datetime
import json
import sys

import bt2


def plain(field):
    """The value of a field without the lengths of sequences, which JSON does not have."""
    if isinstance(field, bt2._StringFieldConst):
        return str(field)
    if isinstance(field, bt2._ArrayFieldConst):
        return [plain(element) for element in field]
    return int(field)


def of_message(message):
    event, payload = message.event, message.event.payload_field
    seconds, ns = divmod(message.default_clock_snapshot.ns_from_origin, 10**9)
    wall = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return (
        message.default_clock_snapshot.value,
        int(event.packet.context_field["cpu_id"]),
        int(event.common_context_field["tid"]),
        str(event.common_context_field["procname"]),
        "%s.%09dZ" % (wall.strftime("%Y-%m-%dT%H:%M:%S"), ns),
        event.name,
        {k: plain(v) for k, v in payload.items() if not (k.endswith("_length") and k[1:-7] in payload)},
    )


def name_of(line):
    system, event = line["system"], line["event"]
    if system == "syscalls":
        return event.replace("sys_enter_", "syscall_entry_").replace("sys_exit_", "syscall_exit_")
    return event if system == "sched" else system + ":" + event


def value_of(line, key, value):
    if isinstance(value, str) and value.startswith("0x"):
        return int(value, 16)
    if line["event"] == "sched_switch" and key == "prev_state":  # preempted, idle: as LTTng has them
        return value & ~0x180 | (0x10000 if value & 0x100 else 0) | (0x402 if value & 0x80 else 0)
    return value


def of_line(line):
    def field_name(key):
        is_tid = line["system"] == "sched" and (key == "pid" or key.endswith("_pid"))
        return key[:-3] + "tid" if is_tid else key

    fields = {field_name(k): value_of(line, k, v) for k, v in line["fields"].items()}
    return line["ts"], line["cpu"], line["pid"], line["comm"], line["wall"], name_of(line), fields


def main():
    wanted, found, n_lost, n_discarded = [], [], 0, 0
    for text in sys.stdin:
        line = json.loads(text)
        if "ts" in line:
            wanted.append(of_line(line))
        elif "lost" in line:
            n_lost += line["lost"] or 1
    for message in bt2.TraceCollectionMessageIterator(sys.argv[1]):
        if type(message) is bt2._EventMessageConst:
            found.append(of_message(message))
        elif type(message) is bt2._DiscardedEventsMessageConst:
            n_discarded += message.count
    if n_discarded != n_lost:
        sys.exit("%u events lost, %u discarded" % (n_lost, n_discarded))
    if len(wanted) != len(found):
        sys.exit("%u events, %u in CTF" % (len(wanted), len(found)))
    # Events of one time may have any order over the CPUs.
    for one, other in zip(sorted(wanted, key=lambda e: e[:2]), sorted(found, key=lambda e: e[:2])):
        if one != other:
            sys.exit("JSON: %s\nCTF:  %s" % (one, other))
    print("%u events, %u lost" % (len(wanted), n_lost))


main()
