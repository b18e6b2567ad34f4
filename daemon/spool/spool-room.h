/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_FILES_MAX   1024 /* of one entry */
#define SPOOL_BLOCK       4096
#define SPOOL_ENTRY_BYTES (2 * SPOOL_BLOCK) /* the directory and session.json */

/* One more file of a recording: what it needs, and what there is. Bytes. */
typedef struct SpoolRoom {
        uint64_t file;             /* what it may become */
        uint64_t entry, max_entry; /* in use, allowed; UINT64_MAX: no limit */
        uint64_t uid, max_uid;
        uint64_t total, max_total;
        size_t n_files;
        size_t n_droppable; /* files of the entry that nobody writes to */
        bool keeps_newest;
} SpoolRoom;

typedef enum SpoolVerdict {
        SPOOL_ROOM_YES,
        SPOOL_ROOM_DROP, /* the entry's oldest file goes first; ask again */
        SPOOL_ROOM_FULL, /* no file follows */
        SPOOL_ROOM_WAIT, /* it is for others to make room */
} SpoolVerdict;

/* limit: the name of the limit that says no. */
SpoolVerdict spool_room_judge(const SpoolRoom *room, const char **limit);
/* What the disk says no to. */
SpoolVerdict spool_room_judge_disk(const SpoolRoom *room);
/* What a file of so many bytes is counted for. */
uint64_t spool_room_count(uint64_t bytes);
/* Of one file where the caller does not say: an eighth of it all, within bounds. */
uint64_t spool_room_rotate(uint64_t max_bytes);
