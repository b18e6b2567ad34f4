/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

typedef struct VarlinkOut VarlinkOut;

/* The messages that the client's socket has not accepted yet. */
typedef struct VarlinkOutbox {
        TAILQ_HEAD(, VarlinkOut) messages;
        size_t n_bytes; /* waiting to be sent */
} VarlinkOutbox;

void varlink_outbox_init(VarlinkOutbox *outbox);
void varlink_outbox_clear(VarlinkOutbox *outbox);
/* text includes its NUL. Consumes fd (-1: none), also on failure. Returns 0 or -ENOMEM. */
int varlink_outbox_add(VarlinkOutbox *outbox, const char *text, size_t size, int fd);
/* Sends as much as the socket accepts. Returns 0, or -errno if the socket is broken. */
int varlink_outbox_flush(VarlinkOutbox *outbox, int sock);

static inline bool varlink_outbox_is_empty(const VarlinkOutbox *outbox) {
        return TAILQ_EMPTY(&outbox->messages);
}
