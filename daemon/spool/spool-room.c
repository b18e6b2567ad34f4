/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How much of the disk a recording may use; only arithmetic. The current file and the prepared next
 * file count with their maximum size. Therefore a recording stays within its limits even while the
 * daemon is stopped. A complete file counts with its size, rounded up to blocks. Used by
 * spool-record.c and by the tests.
 *
 * To add a limit of the spool: the table in policy/limit.c, the count here, the check in
 * spool-record.c, and a key of the spec in interfaces/spec-spool.c; tests/spool/test-entry.c. */

#include "spool/spool-room.h"

#include "interfaces/cleanup.h"
#include "interfaces/spec.h"

#define ROTATE_DEFAULT_MAX (UINT64_C(64) << 20)

uint64_t spool_room_count(uint64_t bytes) {
        return bytes > UINT64_MAX - SPOOL_BLOCK
                               ? UINT64_MAX
                               : (bytes + SPOOL_BLOCK - 1) / SPOOL_BLOCK * SPOOL_BLOCK;
}

uint64_t spool_room_rotate(uint64_t max_bytes) {
        return MAX_OF(MIN_OF(max_bytes / 8, ROTATE_DEFAULT_MAX), SPEC_ROTATE_MIN);
}

static bool fits(uint64_t used, uint64_t file, uint64_t max) {
        return used <= max && file <= max - used;
}

/* The verdict when one of the recording's limits is reached, as its spec requests. */
static SpoolVerdict make_own_room(const SpoolRoom *room) {
        return !room->keeps_newest     ? SPOOL_ROOM_FULL
               : room->n_droppable > 0 ? SPOOL_ROOM_DROP
                                       : SPOOL_ROOM_WAIT;
}

bool spool_room_is_own(const SpoolRoom *room) {
        return !fits(room->entry, room->file, room->max_entry) || room->n_files >= SPOOL_FILES_MAX;
}

SpoolVerdict spool_room_judge(const SpoolRoom *room, const char **limit) {
        *limit = !fits(room->entry, room->file, room->max_entry)   ? "max-bytes"
                 : room->n_files >= SPOOL_FILES_MAX                ? "number of files"
                 : !fits(room->uid, room->file, room->max_uid)     ? "max-spool-kb-per-uid"
                 : !fits(room->total, room->file, room->max_total) ? "max-spool-kb-total"
                                                                   : NULL;
        return *limit ? make_own_room(room) : SPOOL_ROOM_YES;
}

/* Other programs fill and empty the disk, so a full disk does not end a recording. */
SpoolVerdict spool_room_judge_disk(const SpoolRoom *room) {
        return room->keeps_newest && room->n_droppable > 0 ? SPOOL_ROOM_DROP : SPOOL_ROOM_WAIT;
}
