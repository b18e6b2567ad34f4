/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the data of a .kts stream for the two writers of trace.dat, and counts its records in the
 * same pass. Lost events that only the stream's frames report are written where trace-cmd expects
 * them, in the commit word of the next sub-buffer. */

#include "export/dat-block.h"

#include <errno.h>
#include <string.h>

#include "interfaces/cleanup.h"

#define BLOCK_SIZE ((size_t)256 * 1024)

static int dat_block_reserve(DatBlock *block, size_t size) {
        if (size <= block->allocated)
                return 0;
        uint8_t *data = realloc(block->data, size);
        if (!data)
                return -ENOMEM;
        block->data = data;
        block->allocated = size;
        return 0;
}

/* A packed chunk is one block. */
static size_t dat_block_choose_size(const DatBlock *block,
                const TraceChunk *chunk,
                uint64_t place) {
        size_t unit = block->trace->stream.subbuf_size,
               most = MAX_OF(BLOCK_SIZE / unit * unit, unit);

        return chunk->packed > 0 ? (size_t)chunk->size
                                 : (size_t)MIN_OF(chunk->size - place, (uint64_t)most);
}

int dat_block_read(DatBlock *block, const TraceChunk *chunk, uint64_t *place, uint64_t lost) {
        size_t unit = block->trace->stream.subbuf_size;

        if (*place >= chunk->size)
                return 0;
        block->used = dat_block_choose_size(block, chunk, *place);
        block->size = (block->used + unit - 1) / unit * unit;
        int r = dat_block_reserve(block, block->size);
        if (r < 0)
                return r;
        if (chunk->packed > 0)
                r = trace_unpack(block->trace, chunk, block->data);
        else if ((r = trace_read(block->trace, chunk->offset + *place, block->data, block->used)) ==
                        0)
                r = -EIO;
        if (r < 0)
                return r;
        memset(block->data + block->used, 0, block->size - block->used);
        for (size_t at = 0; at < block->size; at += unit)
                dat_count_records(block->trace,
                                block->data + at,
                                MIN_OF(unit, block->used - at),
                                chunk->lost > 0,
                                block->counts);
        if (*place == 0 && lost > 0) {
                dat_mark_lost(block->trace, block->data, lost);
                /* The number may follow the last record. */
                block->used = MIN_OF(block->used + sizeof(uint64_t), block->size);
        }
        *place += chunk->packed > 0 ? chunk->size : block->size;
        return 1;
}

void dat_block_clear(DatBlock *block) {
        free(block->data);
        block->data = NULL;
}
