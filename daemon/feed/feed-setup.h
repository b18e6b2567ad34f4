/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spool/spool.h"
#include "trace/trace.h"
#include "work/spawn.h"

/* One user's part of a trace of all tasks: only the records of these lives pass. */
typedef struct FeedView {
        int metadata_fd; /* instead of the trace's own */
        int lives_fd;    /* of n_lives ControlLife */
        size_t n_lives;
} FeedView;

typedef struct FeedSetup {
        ControlSink kind;
        bool is_snapshot;
        const FeedView *view;    /* of a snapshot; NULL: all records */
        const SpoolEntry *entry; /* the recording on disk; NULL: none */
} FeedSetup;

/* Sends the first message. *ret_client: the client's end of the connection, if the kind has one;
 * set even if the call fails. */
int feed_setup_send(Consumer *consumer,
                const FeedSetup *setup,
                const Trace *trace,
                int *ret_client);
/* Makes both ends of a connection to a client. ret_sink is the consumer's end; ret_client is the
 * client's end. */
int feed_setup_make_ends(ControlSink kind, int *ret_sink, int *ret_client);
