/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/control.h"
#include "spool/spool.h"

typedef enum FeedSpoolNews {
        FEED_SPOOL_WAITS, /* no space: new data is dropped and counted until there is space */
        FEED_SPOOL_FULL,  /* the recording has reached its size limit */
} FeedSpoolNews;

typedef struct FeedSpoolHandlers {
        /* Passes a file to the consumer; fd is borrowed. fd -1: no file follows. */
        void (*on_file)(unsigned number, int fd, void *userdata);
        void (*on_news)(FeedSpoolNews news, const char *text, void *userdata);
} FeedSpoolHandlers;

/* The recording of a feed that writes to disk. */
typedef struct FeedSpool {
        SpoolEntry *entry; /* NULL: none */
        bool wants_file, is_full;
        bool has_no_room; /* for the next file, for now */
        int error;        /* as the consumer reported it */
        char full_text[64];
        const FeedSpoolHandlers *handlers;
        void *userdata;
} FeedSpool;

/* Takes the entry; NULL: the feed does not write to disk. */
void feed_spool_begin(FeedSpool *spool,
                SpoolEntry *entry,
                const FeedSpoolHandlers *handlers,
                void *userdata);
/* message: SPOOLED of the consumer. */
void feed_spool_take_report(FeedSpool *spool, const ControlMessage *message);
/* The session has ended: the consumer writes the rest of the recording, if there is one. */
void feed_spool_finish(FeedSpool *spool);
/* Ends the recording, if there is one. */
void feed_spool_end(FeedSpool *spool, const char *code, const char *text);
/* The daemon ends, and the consumer still writes the end of the recording. control_fd: borrowed. */
void feed_spool_await(FeedSpool *spool, int control_fd, const char *code, const char *text);
/* Leaves the entry to the next daemon. */
void feed_spool_leave(FeedSpool *spool);
