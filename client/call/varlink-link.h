/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/json.h"

/* A connection to a Varlink service. It sends and receives complete messages and descriptors. */
typedef struct VarlinkLink VarlinkLink;

/* Large enough for the histogram with the maximum number of rows. */
#define VARLINK_LINK_MESSAGE_MAX ((size_t)32 * 1024 * 1024)

/* timeout_usec 0: does not wait; fails with -EAGAIN if it would have to. */
int varlink_link_open(const char *path, uint64_t timeout_usec, VarlinkLink **ret);
VarlinkLink *varlink_link_free(VarlinkLink *link);
DEFINE_CLEANUP(VarlinkLink, varlink_link_free);
/* Poll it for POLLIN and, when varlink_link_wants_write() is true, for POLLOUT. */
int varlink_link_get_fd(const VarlinkLink *link);
bool varlink_link_wants_write(const VarlinkLink *link);

/* Queues a message. */
int varlink_link_send(VarlinkLink *link, json_object *message);
/* Writes as much as the socket accepts. */
int varlink_link_flush(VarlinkLink *link);
/* Reads once, without waiting. Returns 0, or -ECONNRESET when the service hung up, or -EMSGSIZE,
 * -EMFILE or -EPROTO when it violates the protocol. */
int varlink_link_fill(VarlinkLink *link);
/* Gets the next complete message that was read. Returns 1, 0 when there is none, or -EBADMSG when
 * it is not a JSON object. */
int varlink_link_next(VarlinkLink *link, json_object **ret);
/* Returns the oldest descriptor in the queue, or -1. The caller owns it. */
int varlink_link_take_fd(VarlinkLink *link);
