/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cleanup.h"

/* Descriptors that outlive this process: the service manager keeps them (sd_notify(3), FDSTORE=1),
 * under names that need not be unique. Without a service manager the store is always empty. */
typedef struct FdStore FdStore;

/* Takes the descriptors that the previous process left. Called once, before any other use of
 * LISTEN_FDS. */
int fd_store_new(FdStore **ret);
FdStore *fd_store_free(FdStore *store);
DEFINE_CLEANUP(FdStore, fd_store_free);
/* Stores a copy; the caller keeps fd. If the store is full or missing, the descriptor does not
 * outlive the process; this is not an error. All functions here accept NULL as the store. */
void fd_store_put(FdStore *store, const char *name, int fd);
/* Returns the next stored descriptor with this name, which the caller owns; it also stays in the
 * store. -1: none. */
int fd_store_take(FdStore *store, const char *name);
/* Returns the next stored descriptor whose name begins so, with the rest of its name. -1: none. */
int fd_store_take_next(FdStore *store, const char *prefix, const char **ret_rest);
/* Closes the stored descriptors that were not taken and removes them from the store. */
void fd_store_close_rest(FdStore *store);
/* Removes all descriptors with this name. */
void fd_store_forget(FdStore *store, const char *name);
