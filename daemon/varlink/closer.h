/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cleanup.h"

/* Closes sockets in whose queue somebody else's descriptors lie. */
typedef struct VarlinkCloser VarlinkCloser;

/* It is closed, some time ago: called by varlink_closer_reap, in its thread. */
typedef void (*VarlinkClosed)(void *userdata);

int varlink_closer_new(VarlinkCloser **ret);
/* What is not closed yet stays open until the process ends; nobody is called. */
VarlinkCloser *varlink_closer_free(VarlinkCloser *closer);
DEFINE_CLEANUP(VarlinkCloser, varlink_closer_free);
/* Consumes sock; without memory it stays open for ever, and nobody is called. */
void varlink_closer_add(VarlinkCloser *closer, int sock, VarlinkClosed closed, void *userdata);
void varlink_closer_reap(VarlinkCloser *closer);
