/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"

#define PAGE_HEADER_SIZE 16
#define PAGE_PIDS_MAX    4194304

/* Which bytes of each event's records belong to a field of it. */
typedef struct PageMasks PageMasks;

/* events: the array of that name in the metadata. -EBADMSG when it is not as the daemon makes it.
 */
int page_masks_new(json_object *events, PageMasks **ret);
PageMasks *page_masks_free(PageMasks *masks);
DEFINE_CLEANUP(PageMasks, page_masks_free);

typedef struct PageTally {
        uint8_t *pids; /* bit set of PAGE_PIDS_MAX: whose records were seen; NULL: not wanted */
        uint64_t n_unknown;  /* records of events that the masks do not know, made into padding */
        uint64_t n_unparsed; /* sub-buffers whose rest could not be walked, cut there */
} PageTally;

/* Bytes of a sub-buffer that carry anything: header, records, the stored count of missed events.
 * Never more than size. */
size_t page_get_used(const uint8_t *page, size_t size);
/* Zeroes in place whatever no field owns: holes and alignment, bodies of padding and discarded
 * records, all beyond commit but the count of missed events. */
void page_clean(const PageMasks *masks, uint8_t *page, size_t size, PageTally *tally);
