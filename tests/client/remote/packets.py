# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packets of ktracectl -H (client/remote/packet.h), made by hand."""
import json
import struct

(HELLO, ARGUMENT, RUN, INPUT, SIGNAL, PING, INPUT_TAKEN, PONG, OUTPUT, ERRORS, STREAM, STREAM_END, EXIT,
 ERROR, CLOCK, CLOCK_TIMES, ARMED, START, STARTED, LEAVE, STREAM_NEXT) = range(1, 22)
WINDOW = 256 * 1024


def packet(kind, data=b""):
    return b"KT" + struct.pack("<BBI", kind, 0, len(data)) + data


def hello(**more):
    return packet(HELLO, json.dumps({"protocol": 1, "oldest": 1, "version": "test"} | more).encode())


def command(*words, **more):
    """What a near side sends at first."""
    return hello(**more) + b"".join(packet(ARGUMENT, word.encode()) for word in words) + packet(RUN)


def read(file):
    """The next packet, or None at the end."""
    head = file.read(8)
    if len(head) < 8:
        return None
    magic, kind, zero, size = struct.unpack("<2sBBI", head)
    assert magic == b"KT" and zero == 0, head
    return kind, file.read(size)


def read_all(file):
    return list(iter(lambda: read(file), None))


def joined(packets, kind):
    return b"".join(data for one, data in packets if one == kind)
