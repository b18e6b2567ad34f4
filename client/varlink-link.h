/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/json.h"

/* One connection to a Varlink service: whole messages out, whole messages and descriptors in. */
typedef struct VarlinkLink VarlinkLink;

/* Of one message: the histogram with the most rows has room. */
#define VARLINK_LINK_MESSAGE_MAX ((size_t)32 * 1024 * 1024)

/* timeout_usec 0: does not wait; -EAGAIN where it would have to. */
int varlink_link_open(const char *path, uint64_t timeout_usec, VarlinkLink **ret);
VarlinkLink *varlink_link_free(VarlinkLink *link);
DEFINE_CLEANUP(VarlinkLink, varlink_link_free);
/* To be polled, for POLLIN and what varlink_link_wants_write() says. */
int varlink_link_get_fd(const VarlinkLink *link);
bool varlink_link_wants_write(const VarlinkLink *link);

/* Queues a message. */
int varlink_link_send(VarlinkLink *link, json_object *message);
/* Writes what the socket takes. */
int varlink_link_flush(VarlinkLink *link);
/* Reads once, what is there. 0; -ECONNRESET: hung up; -EMSGSIZE, -EMFILE, -EPROTO: it sends what no
 * service may. */
int varlink_link_fill(VarlinkLink *link);
/* The next whole message of what was read: 1; 0: none; -EBADMSG: it is no JSON object. */
int varlink_link_next(VarlinkLink *link, json_object **ret);
/* The oldest descriptor that nobody has taken; -1: there is none. The caller's. */
int varlink_link_take_fd(VarlinkLink *link);
