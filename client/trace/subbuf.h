/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state of a walk over one sub-buffer. */
typedef struct Subbuf {
        const uint8_t *data; /* borrowed: the first entry */
        size_t size;         /* committed bytes that are present */
        size_t next;
        uint64_t ts;
        bool is_damaged; /* the walk ended before the last committed byte */
        bool is_padded;  /* the walk ended at padding up to the end of the sub-buffer */
} Subbuf;

/* page: size bytes of one sub-buffer; the part after its committed bytes may be missing. long_size:
 * of the kernel, 4 or 8. *ret_missed: events lost before it; 0 for none, -1 for an unknown
 * number. */
void subbuf_open(Subbuf *walk,
                const uint8_t *page,
                size_t size,
                unsigned long_size,
                int64_t *ret_missed);
/* Returns false when there is no further record. ret_data points into the page. */
bool subbuf_next(Subbuf *walk, const uint8_t **ret_data, uint32_t *ret_size, uint64_t *ret_ts);
