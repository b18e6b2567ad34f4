/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <limits.h>
#include <sys/types.h>

#include "interfaces/json.h"
#include "interfaces/names.h"

/* The directory of the spool. Every function here may block as long as the disk does. */
typedef struct SpoolDisk {
        char *path;
        int fd; /* -1: not opened yet */
} SpoolDisk;

#define SPOOL_JSON "session.json"

/* Creates the directory if it is missing. Returns KT_E_FAILED with a reason; the next call tries
 * again. */
int spool_disk_open(SpoolDisk *disk, Reason *reason);
void spool_disk_close(SpoolDisk *disk);
/* Returns the free bytes for unprivileged users. Promised bytes are not subtracted. */
int spool_disk_get_free(const SpoolDisk *disk, uint64_t *ret_bytes);

/* Calls visit with the id of each entry. */
int spool_disk_scan(const SpoolDisk *disk,
                void (*visit)(const char *id, void *userdata),
                void *userdata);
/* Calls visit with each file of an entry except session.json, in no particular order. */
int spool_disk_scan_entry(const SpoolDisk *disk,
                const char *id,
                void (*visit)(const char *name, uint64_t bytes, void *userdata),
                void *userdata);
/* Fails with -EEXIST. */
int spool_disk_make_entry(const SpoolDisk *disk, const char *id);
/* Removes the entry with all its files; follows no link. */
int spool_disk_remove_entry(const SpoolDisk *disk, const char *id);
int spool_disk_load(const SpoolDisk *disk, const char *id, json_object **ret);
/* Replaces session.json atomically and durably. */
int spool_disk_save(const SpoolDisk *disk, const char *id, const char *text);
/* Creates a new file and opens it for writing. */
int spool_disk_create(const SpoolDisk *disk, const char *id, const char *name, int *ret_fd);
int spool_disk_open_file(const SpoolDisk *disk, const char *id, const char *name, int *ret_fd);
/* Makes the entry's file names durable. */
int spool_disk_sync(const SpoolDisk *disk, const char *id);
int spool_disk_unlink(const SpoolDisk *disk, const char *id, const char *name);
int spool_disk_get_size(const SpoolDisk *disk,
                const char *id,
                const char *name,
                uint64_t *ret_bytes);
