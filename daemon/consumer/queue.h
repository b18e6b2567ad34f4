/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/outlet.h"
#include "consumer/preallocation.h"
#include "consumer/spool-sink.h"
#include "interfaces/frame.h"

/* Frames on their way to the sink, in order. What the sink does not take immediately is kept. */
typedef struct Queue {
        int fd; /* -1: no sink yet, or no longer one */
        OutletKind kind;
        Preallocation preallocation; /* of a file */
        SpoolSink *spool;            /* used instead of fd; borrowed, NULL: no spool */
        int error;                   /* errno of the sink: nothing more is written */
        struct Chunk *first, **last;
        uint64_t written_bytes;
        uint64_t whole_bytes;     /* part of written_bytes up to the end of the last whole frame */
        uint64_t kept_bytes;      /* in memory */
        uint64_t discarded_bytes; /* ring data that was dropped */
} Queue;

void queue_init(Queue *queue);
/* Sets the sink, and consumes it. */
void queue_open(Queue *queue, int fd, OutletKind kind);
void queue_clear(Queue *queue);
/* Sends a frame, or raw bytes when header is NULL. Copies the rest that the sink does not take.
 * Fails with -ENOMEM. A failed sink is not an error here: see queue->error. */
int queue_put(Queue *queue, const FrameHeader *header, const void *data, size_t size);
/* Called when the sink takes nothing more. */
void queue_fail(Queue *queue, int error);
/* Continues to write what is kept. */
void queue_flush(Queue *queue);
/* For a queue without a sink: returns all kept data as one block and empties the queue. Returns
 * NULL when memory is short. */
uint8_t *queue_take_all(Queue *queue, size_t *ret_size);
bool queue_is_empty(const Queue *queue);
