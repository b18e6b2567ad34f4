/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cleanup.h"

/* Closes sockets whose queue contains descriptors of a client. */
typedef struct VarlinkCloser VarlinkCloser;

/* Called by varlink_closer_reap, in its caller's thread, some time after the socket was closed. */
typedef void (*VarlinkClosed)(void *userdata);

int varlink_closer_new(VarlinkCloser **ret);
/* Sockets that are not closed yet stay open until the process ends; their `closed` is not
 * called. */
VarlinkCloser *varlink_closer_free(VarlinkCloser *closer);
DEFINE_CLEANUP(VarlinkCloser, varlink_closer_free);
/* Consumes sock. If memory is short, the socket stays open and `closed` is never called. */
void varlink_closer_add(VarlinkCloser *closer, int sock, VarlinkClosed closed, void *userdata);
void varlink_closer_reap(VarlinkCloser *closer);
