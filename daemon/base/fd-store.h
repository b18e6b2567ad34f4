/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cleanup.h"

/* Descriptors that outlive this process: in the service manager's hands (sd_notify(3), FDSTORE=1),
 * under names that need not be unique. Without a service manager it is always empty. */
typedef struct FdStore FdStore;

/* Takes what the last process has left; once, before anything else looks at LISTEN_FDS. */
int fd_store_new(FdStore **ret);
FdStore *fd_store_free(FdStore *store);
DEFINE_CLEANUP(FdStore, fd_store_free);
/* A copy is kept; fd stays the caller's. A full store, or none: it does not outlive us, that is
 * all. All of these take NULL for none. */
void fd_store_put(FdStore *store, const char *name, int fd);
/* The next of this name that was left, the caller's from now on; it stays in the store. -1: none.
 */
int fd_store_take(FdStore *store, const char *name);
/* What was left and nobody has taken is closed and forgotten. */
void fd_store_close_rest(FdStore *store);
/* All of this name. */
void fd_store_forget(FdStore *store, const char *name);
