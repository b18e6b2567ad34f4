/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "interfaces/error.h"

/* The directory for state that survives a restart of the daemon, with one file for each session.
 * The state does not survive a restart of the machine. All functions accept NULL for no store. */
typedef struct Store Store;

int store_new(const char *path, Store **ret);
Store *store_free(Store *store);
DEFINE_CLEANUP(Store, store_free);
/* Saves the file completely or not at all. name: without a '/'. */
int store_save(Store *store, const char *name, json_object *object);
void store_remove(Store *store, const char *name);
/* Fails with -ENOENT, and with the codes of json_load_fd. */
int store_load(Store *store, const char *name, json_object **ret);
/* Removes all files. */
void store_clear(Store *store);
/* Calls visit for each file. A file that cannot be read is removed and logged. */
void store_visit(Store *store,
                void (*visit)(const char *name, json_object *object, void *userdata),
                void *userdata);
