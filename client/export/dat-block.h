/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/dat-put.h"
#include "trace/trace.h"

/* Reads a stream's data as blocks of whole sub-buffers, as a trace.dat has them. */
typedef struct DatBlock {
        Trace *trace;
        DatCounts *counts; /* records and losses of all blocks */
        uint8_t *data;
        size_t size; /* whole sub-buffers */
        size_t used; /* without the zeros that fill up the last sub-buffer */
        size_t allocated;
} DatBlock;

/* Reads the next block of a chunk, from *place on, which it advances. lost: events lost before the
 * chunk. Returns 1, 0 at the chunk's end, -errno, or -EBADMSG for damaged data. */
int dat_block_read(DatBlock *block, const TraceChunk *chunk, uint64_t *place, uint64_t lost);
void dat_block_clear(DatBlock *block);
