/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

typedef struct VarlinkOut VarlinkOut;

/* What a client has not read yet. */
typedef struct VarlinkOutbox {
        TAILQ_HEAD(, VarlinkOut) messages;
        size_t n_bytes; /* of those that wait */
} VarlinkOutbox;

void varlink_outbox_init(VarlinkOutbox *outbox);
void varlink_outbox_clear(VarlinkOutbox *outbox);
/* text with its NUL. Consumes fd (-1: none), also where it fails. -ENOMEM. */
int varlink_outbox_add(VarlinkOutbox *outbox, const char *text, size_t size, int fd);
/* Sends what the socket takes. 0, -errno: it is broken. */
int varlink_outbox_flush(VarlinkOutbox *outbox, int sock);

static inline bool varlink_outbox_is_empty(const VarlinkOutbox *outbox) {
        return TAILQ_EMPTY(&outbox->messages);
}
