/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "interfaces/cleanup.h"
#include "trace/text-block.h"

/* Later times would be beyond 64 bits with the offset of the time of day, and readers reject them.
 * In nanoseconds, it is 146 years. */
#define CTF_TIME_MAX (UINT64_C(1) << 62)

/* A stream file: the packets of one CPU of one buffer. */
typedef struct CtfStream {
        uint32_t part; /* number of the file */
        uint32_t cpu;
        const char *instance; /* NULL: the recording has only one buffer */
        TextBlock packet;     /* the one that is being filled, with room for its header */
        uint64_t begin, end;  /* times of its events */
        uint64_t n_packets, n_discarded;
} CtfStream;

/* NULL: memory is short. instance: borrowed. */
CtfStream *ctf_stream_new(uint32_t part, uint32_t cpu, const char *instance);
CtfStream *ctf_stream_free(CtfStream *stream);
DEFINE_CLEANUP(CtfStream, ctf_stream_free);

/* Makes room for an event of at most size_max bytes. Sets *ret_ts to the time that the event must
 * have. The caller appends the event to stream->packet. Returns 0 or -errno. */
int ctf_stream_begin_event(CtfStream *stream,
                uint64_t ts,
                size_t size_max,
                FILE *out,
                uint64_t *ret_ts);
/* Counts events that were lost before ts. Returns 0 or -errno. */
int ctf_stream_discard(CtfStream *stream, uint64_t ts, uint64_t n_lost, FILE *out);
/* Writes the packet, if it has events. Returns 0 or -errno. */
int ctf_stream_flush(CtfStream *stream, FILE *out);
