/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "consumer/syncer.h"
#include "interfaces/control.h"
#include "interfaces/frame.h"

struct Queue;

/* What is asked of whoever has the stream. */
typedef struct SpoolSinkHandlers {
        /* The last frames of a file: into tail, which has no sink. -ENOMEM. */
        int (*make_tail)(struct Queue *tail,
                        const char *code,
                        const char *reason,
                        size_t names_max, /* bytes that command names may have */
                        void *userdata);
        /* Something that the daemon is told: see spool_sink_report(). */
        void (*on_news)(void *userdata);
} SpoolSinkHandlers;

/* A stream into numbered files, each of them whole. */
typedef struct SpoolSink {
        const SpoolSinkHandlers *handlers;
        void *userdata;
        Syncer *syncer;  /* borrowed */
        int fd, next_fd; /* -1: none */
        unsigned number, next_number;
        uint64_t max_bytes;   /* of a file */
        uint64_t tail_bytes;  /* kept free for its last frames */
        uint64_t names_bytes; /* and for command names, at least */
        uint64_t spare_bytes; /* and for what was read already when no file follows */
        unsigned sync_sec;
        const char *metadata;
        size_t metadata_size;
        bool has_head;
        bool is_last;  /* no file follows */
        bool gives_up; /* what cannot be written now never will be */
        bool wants_next, is_dirty, is_telling;
        int error; /* the disk takes nothing, for now */
        int fatal; /* nor ever will */
        uint64_t bytes, closed_bytes;
        uint64_t written_bytes; /* in all files */
        uint64_t lost;
} SpoolSink;

typedef enum SpoolPut {
        SPOOL_PUT_DONE,
        SPOOL_PUT_LATER,   /* no room now */
        SPOOL_PUT_DROPPED, /* nor later */
} SpoolPut;

/* metadata: borrowed. -EFBIG: no file of that size would hold any data. */
int spool_sink_init(SpoolSink *sink,
                const ControlMessage *setup,
                const char *metadata,
                size_t metadata_size,
                Syncer *syncer,
                const SpoolSinkHandlers *handlers,
                void *userdata);
/* fd: consumed; -1: none follows. */
int spool_sink_add(SpoolSink *sink, unsigned number, int fd);
/* One whole frame. */
SpoolPut spool_sink_put(SpoolSink *sink, FrameType type, const struct iovec *iov, int n_iov);
/* What there is room for of command names, if they come next. */
uint64_t spool_sink_get_names_room(const SpoolSink *sink);
/* No file follows; what waits may go where the room for it was kept. */
void spool_sink_end(SpoolSink *sink);
/* What was written so far lasts. */
void spool_sink_sync(SpoolSink *sink);
void spool_sink_close(SpoolSink *sink);
void spool_sink_report(const SpoolSink *sink, ControlMessage *ret);
