/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#define SINK_TEXT_MAX 256

/* Messages of the consumer to a client over the SOCK_SEQPACKET socket of OpenSink. The client
 * sends one message of one byte with its sink's fd. The consumer answers once about that fd, and
 * once more when the stream has ended. Integers are in native byte order, because both run on
 * one machine. See org.ktrace1(5). */
typedef struct SinkAnswer {
        int32_t error;  /* errno; 0: fd accepted, or all data written */
        uint32_t final; /* 0: about the fd; 1: the stream has ended, no message follows */
        uint64_t written_bytes;
        uint64_t discarded_bytes; /* read from the ring, never written */
        char text[SINK_TEXT_MAX]; /* one line, empty when error is 0 */
        uint64_t cut_records;     /* cut by a limit, or because their owner is unknown */
} SinkAnswer;
