/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <limits.h>
#include <sys/types.h>

#include "interfaces/json.h"
#include "interfaces/names.h"

/* The directory of the spool. Everything here may hang as long as the disk does. */
typedef struct SpoolDisk {
        char *path;
        int fd; /* -1: not opened yet */
} SpoolDisk;

#define SPOOL_JSON "session.json"

/* Makes it if it is missing. KT_E_FAILED with the reason; no answer is kept. */
int spool_disk_open(SpoolDisk *disk, Reason *reason);
void spool_disk_close(SpoolDisk *disk);
/* What others may write there, beside what was promised. */
int spool_disk_get_free(const SpoolDisk *disk, uint64_t *ret_bytes);

/* Calls visit with the id of each entry. */
int spool_disk_scan(const SpoolDisk *disk,
                void (*visit)(const char *id, void *userdata),
                void *userdata);
/* Calls visit with each file of an entry but its session.json, in no order. */
int spool_disk_scan_entry(const SpoolDisk *disk,
                const char *id,
                void (*visit)(const char *name, uint64_t bytes, void *userdata),
                void *userdata);
/* -EEXIST. */
int spool_disk_make_entry(const SpoolDisk *disk, const char *id);
/* With all that is in it; nothing is followed. */
int spool_disk_remove_entry(const SpoolDisk *disk, const char *id);
int spool_disk_load(const SpoolDisk *disk, const char *id, json_object **ret);
/* As a whole or not at all, and made to last. */
int spool_disk_save(const SpoolDisk *disk, const char *id, const char *text);
/* A new file, for writing. */
int spool_disk_create(const SpoolDisk *disk, const char *id, const char *name, int *ret_fd);
int spool_disk_open_file(const SpoolDisk *disk, const char *id, const char *name, int *ret_fd);
/* The names in it last. */
int spool_disk_sync(const SpoolDisk *disk, const char *id);
int spool_disk_unlink(const SpoolDisk *disk, const char *id, const char *name);
int spool_disk_get_size(const SpoolDisk *disk,
                const char *id,
                const char *name,
                uint64_t *ret_bytes);
