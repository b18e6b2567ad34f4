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

/* The functions that the owner of the stream provides. */
typedef struct SpoolSinkHandlers {
        /* Puts the last frames of a file into tail, which has no sink. Fails with -ENOMEM. */
        int (*make_tail)(struct Queue *tail,
                        const char *code,
                        const char *reason,
                        size_t names_max, /* limit for command names, in bytes */
                        void *userdata);
        /* Called when the state for spool_sink_report() has changed and the daemon must be
         * informed. */
        void (*on_news)(void *userdata);
} SpoolSinkHandlers;

/* A stream into numbered files, each of them readable alone. */
typedef struct SpoolSink {
        const SpoolSinkHandlers *handlers;
        void *userdata;
        Syncer *syncer;  /* borrowed */
        int fd, next_fd; /* -1: no file */
        unsigned number, next_number;
        uint64_t max_bytes;   /* per file */
        uint64_t tail_bytes;  /* reserved for the last frames */
        uint64_t names_bytes; /* also reserved for command names, at least */
        uint64_t spare_bytes; /* also reserved for data that was read before the end */
        unsigned sync_sec;
        const char *metadata;
        size_t metadata_size;
        uint32_t version; /* of the streams in the files */
        bool has_head;
        bool is_last; /* no file follows */
        bool wants_next, is_dirty;
        int error; /* the disk takes nothing for now */
        int fatal; /* the disk will take nothing again */
        uint64_t bytes, closed_bytes;
        uint64_t written_bytes; /* in all files */
        uint64_t lost;
} SpoolSink;

typedef enum SpoolPut {
        SPOOL_PUT_DONE,
        SPOOL_PUT_LATER,   /* no room now */
        SPOOL_PUT_DROPPED, /* never any room */
} SpoolPut;

/* metadata: borrowed. Fails with -EFBIG when a file of that size could hold no data. */
int spool_sink_init(SpoolSink *sink,
                const ControlMessage *setup,
                const char *metadata,
                size_t metadata_size,
                Syncer *syncer,
                const SpoolSinkHandlers *handlers,
                void *userdata);
/* fd: consumed; -1: no file follows. */
int spool_sink_add(SpoolSink *sink, unsigned number, int fd);
/* Writes one whole frame. */
SpoolPut spool_sink_put(SpoolSink *sink, FrameType type, const struct iovec *iov, int n_iov);
/* Returns the room for command names if they are the next frame. */
uint64_t spool_sink_get_names_room(const SpoolSink *sink);
/* No file follows. Waiting data may use the room that was reserved for it. */
void spool_sink_end(SpoolSink *sink);
/* Syncs all data that was written so far. */
void spool_sink_sync(SpoolSink *sink);
void spool_sink_close(SpoolSink *sink);
void spool_sink_report(const SpoolSink *sink, ControlMessage *ret);
