/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "broker/chunk.h"
#include "interfaces/error.h"

/* A system that stores chunks of recordings, with one stream for each host and an order within each
 * session. Another system is another implementation of this header; broker.c is for NATS JetStream.
 * Functions that wait do so for at most `timeout_usec` without any progress. */
typedef struct Broker Broker;

#define BROKER_WINDOW 16 /* chunks that are on their way at most */

typedef struct BrokerOptions {
        const char *const *servers; /* URLs */
        size_t n_servers;
        const char *credentials_dir; /* see nats-link.h; NULL: none */
        const char *machine_id;
        uint64_t timeout_usec;
        void (*on_wait)(void *userdata); /* often while it waits; may be NULL */
        void *userdata;
} BrokerOptions;

/* options: borrowed, with its texts. Functions return 0, or -errno or KT_E_* with a reason. After a
 * failure the broker can only be freed. */
int broker_open(const BrokerOptions *options, Broker **ret, Reason *reason);
Broker *broker_free(Broker *broker);
DEFINE_CLEANUP(Broker, broker_free);
/* Sends a chunk, and does not wait until it is stored. It waits only while too many are on their
 * way. Its data is borrowed until the chunk is acknowledged, or the broker is freed.
 * -EEXIST: the broker has another chunk with the identity of one of those that were put: give the
 * chunks from broker_get_acknowledged() on a new salt. */
int broker_put(Broker *broker, const Chunk *chunk, Reason *reason);
/* Waits until all chunks that were put are stored. Fails like broker_put(). */
int broker_flush(Broker *broker, Reason *reason);
/* Returns how many of the chunks that were put are stored, in their order. Also after a failure. */
uint64_t broker_get_acknowledged(const Broker *broker);
/* Returns the position of the newest of them in the stream of the host; 0: none. */
uint64_t broker_get_position(const Broker *broker);
