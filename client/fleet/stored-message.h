/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "broker/nats-link.h"

/* Where messages are read. Borrowed. */
typedef struct MessageSource {
        natsConnection *connection;
        jsCtx *api; /* with NATS_READ_PREFIX */
        const char *stream, *subject;
} MessageSource;

/* Gets the first message of the subject at or after *position, and sets *position to the next
 * one, also when the message cannot be read. 0; -ENOENT: none is stored yet; -EBADMSG: not a chunk;
 * -ENOTCONN with a reason: try again; KT_E_FAILED or KT_E_ACCESS_DENIED with a reason. */
int stored_message_get_next(const MessageSource *source,
                uint64_t *position,
                natsMsg **ret,
                Reason *reason);
/* Gets the last message of the subject. 0; -EBADMSG: it is not a plain message, or a late replica
 * does not have it; otherwise as above. */
int stored_message_get_last(const MessageSource *source, natsMsg **ret, Reason *reason);
