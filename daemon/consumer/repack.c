/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes sub-buffers from single records, in the kernel's layout (page.c has its description).
 * past.c uses it, so that a stream shows nothing of the records that are not in it: no padding, and
 * sub-buffers that end where they are full. */

#include "consumer/repack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/records/page-walk.h"

#define SMALL_MAX ((size_t)4 * TYPE_DATA_MAX) /* of a body whose length is in its first word */

int repack_init(Repack *repack, size_t subbuf_size) {
        *repack = (Repack){ .page = calloc(1, subbuf_size), .size = subbuf_size };
        return repack->page ? 0 : -ENOMEM;
}

void repack_clear(Repack *repack) {
        free(repack->page);
        repack->page = NULL;
}

int repack_end(Repack *repack, Queue *queue) {
        FrameHeader header = { .type = FRAME_DATA, .cpu = repack->cpu, .size = repack->used };

        if (repack->used == 0)
                return 0;
        page_put_u32(repack->page + 8, (uint32_t)(repack->used - PAGE_HEADER_SIZE));
        int r = queue_put(queue, &header, repack->page, repack->used);
        memset(repack->page, 0, repack->size);
        repack->used = 0;
        return r;
}

static void repack_add_word(Repack *repack, uint32_t word) {
        page_put_u32(repack->page + repack->used, word);
        repack->used += sizeof(word);
}

int repack_put(Repack *repack,
                Queue *queue,
                unsigned cpu,
                uint64_t nsec,
                const uint8_t *record,
                size_t size) {
        bool is_small = size <= SMALL_MAX;
        size_t whole = size + (is_small ? 4 : 8);
        int r = 0;

        if (size == 0 || size % 4 != 0 || whole > repack->size - PAGE_HEADER_SIZE)
                return -EBADMSG;
        /* With room for a time. A time that goes back begins a sub-buffer, which has its own. */
        if (repack->used > 0 && (cpu != repack->cpu || nsec < repack->nsec ||
                                                whole + 8 > repack->size - repack->used))
                r = repack_end(repack, queue);
        if (r < 0)
                return r;
        if (repack->used == 0) {
                memcpy(repack->page, &nsec, sizeof(nsec));
                repack->used = PAGE_HEADER_SIZE;
                repack->cpu = cpu;
                repack->nsec = nsec;
        }
        uint64_t delta = nsec - repack->nsec;
        if (delta >> DELTA_BITS != 0) {
                repack_add_word(repack,
                                TYPE_EXTEND | (uint32_t)(delta & ((1U << DELTA_BITS) - 1)) << 5);
                repack_add_word(repack, (uint32_t)(delta >> DELTA_BITS));
                delta = 0;
        }
        repack_add_word(repack, (is_small ? (uint32_t)size / 4 : 0) | (uint32_t)delta << 5);
        if (!is_small)
                repack_add_word(repack, (uint32_t)size + 4);
        memcpy(repack->page + repack->used, record, size);
        repack->used += size;
        repack->nsec = nsec;
        return 0;
}
