/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/outlet.h"
#include "consumer/spool-sink.h"
#include "interfaces/frame.h"

/* Frames on their way to the sink, in order; what the sink does not take at once is kept. */
typedef struct Queue {
        int fd; /* -1: no sink (yet, or any more) */
        OutletKind kind;
        SpoolSink *spool; /* in place of fd; borrowed, NULL: none */
        int error;        /* errno of the sink: nothing is written any more */
        struct Chunk *first, **last;
        uint64_t written_bytes;
        uint64_t whole_bytes;     /* of them, up to the end of the last whole frame */
        uint64_t kept_bytes;      /* in memory */
        uint64_t discarded_bytes; /* ring data that will never be written */
} Queue;

void queue_init(Queue *queue);
void queue_clear(Queue *queue);
/* Sends a frame, or raw bytes when header is NULL; copies what is left over. -ENOMEM. A failed sink
 * is no error here: see queue->error. */
int queue_put(Queue *queue, const FrameHeader *header, const void *data, size_t size);
/* Goes on with what is kept. */
/* The sink takes nothing more. */
void queue_fail(Queue *queue, int error);
void queue_flush(Queue *queue);
/* All of it, which was never written, as one; NULL: no memory, or a mistake. Of a queue without a
 * sink. */
uint8_t *queue_take_all(Queue *queue, size_t *ret_size);
bool queue_is_empty(const Queue *queue);
