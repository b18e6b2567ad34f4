/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_FILES_MAX   1024 /* per entry */
#define SPOOL_BLOCK       4096
#define SPOOL_ENTRY_BYTES (2 * SPOOL_BLOCK) /* the directory and session.json */

/* The request for one more file of a recording, and the available space. All sizes are in bytes. */
typedef struct SpoolRoom {
        uint64_t file;             /* its maximum size */
        uint64_t entry, max_entry; /* in use, allowed; UINT64_MAX: no limit */
        uint64_t uid, max_uid;
        uint64_t total, max_total;
        size_t n_files;
        size_t n_droppable; /* complete files of the entry */
        bool keeps_newest;
} SpoolRoom;

typedef enum SpoolVerdict {
        SPOOL_ROOM_YES,
        SPOOL_ROOM_DROP, /* drop the entry's oldest file, then ask again */
        SPOOL_ROOM_FULL, /* the recording gets no further file */
        SPOOL_ROOM_WAIT, /* wait until others make space */
} SpoolVerdict;

/* limit: set to the name of the exceeded limit. */
SpoolVerdict spool_room_judge(const SpoolRoom *room, const char **limit);
/* Whether a limit of the recording itself is reached, so that space of others would not help. */
bool spool_room_is_own(const SpoolRoom *room);
/* The verdict when the disk is full. */
SpoolVerdict spool_room_judge_disk(const SpoolRoom *room);
/* The accounted size of a file of that length. */
uint64_t spool_room_count(uint64_t bytes);
/* The default size of one file: an eighth of max_bytes, within bounds. */
uint64_t spool_room_rotate(uint64_t max_bytes);
