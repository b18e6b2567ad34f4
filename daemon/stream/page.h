/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mask.h"

#define PAGE_HEADER_SIZE 16
#define PAGE_PIDS_MAX    4194304

typedef struct PageTally {
        uint8_t *pids; /* bit set of PAGE_PIDS_MAX: whose records were seen; NULL: not wanted */
        uint64_t n_unknown;  /* records of events that the masks do not know, made into padding */
        uint64_t n_unparsed; /* sub-buffers whose rest could not be walked, cut there */
} PageTally;

/* Bytes of a sub-buffer that carry anything: header, records, the stored count of missed events.
 * Never more than size. */
size_t page_get_used(const uint8_t *page, size_t size);
/* Cleans in place by the masks, and zeroes bodies of padding and discarded records and all beyond
 * commit but the count of missed events. */
void page_clean(const Masks *masks, uint8_t *page, size_t size, PageTally *tally);
