/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "interfaces/error.h"

/* The directory of what is kept over a restart of the daemon, one file a session; not over one of
 * the machine. All take NULL for none. */
typedef struct Store Store;

int store_new(const char *path, Store **ret);
Store *store_free(Store *store);
DEFINE_CLEANUP(Store, store_free);
/* As a whole or not at all. name: without a '/'. */
int store_save(Store *store, const char *name, json_object *object);
void store_remove(Store *store, const char *name);
/* -ENOENT, and what json_load_fd says. */
int store_load(Store *store, const char *name, json_object **ret);
/* All of them. */
void store_clear(Store *store);
/* Calls visit for each file; one that cannot be read is removed, with a line in the journal. */
void store_visit(Store *store,
                void (*visit)(const char *name, json_object *object, void *userdata),
                void *userdata);
