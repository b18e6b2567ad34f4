/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "perfetto/proto.h"

/* Fields of TracePacket. */
enum {
        PACKET_FTRACE_EVENTS = 1,
        PACKET_PROCESS_TREE = 2,
        PACKET_CLOCK_SNAPSHOT = 6,
        PACKET_TIMESTAMP = 8,
        PACKET_SEQUENCE = 10,
        PACKET_TRACK_EVENT = 11,
        PACKET_FTRACE_STATS = 34,
        PACKET_SYSTEM_INFO = 45,
        PACKET_TRACK_DESCRIPTOR = 60,
        PACKET_ATTRIBUTES = 126,
};

/* A trace is a sequence of packets of one writer. */
static inline size_t perfetto_packet_open(TextBlock *block) {
        size_t place = proto_open(block, 1);

        proto_add_number(block, PACKET_SEQUENCE, 1);
        return place;
}
