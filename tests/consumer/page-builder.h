/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "consumer/records/page.h"

/* Sub-buffers made by hand, as the kernel lays them out. */
#define PAGE_SIZE_TEST  4096
#define EVENT_ID        300
#define EVENT_ID_TEXT   301 /* ends in an array without a size */
#define EVENT_ID_NAMES  302 /* char[16] at 8, char[11] at 24, a u8 at 35 */
#define EVENT_ID_SWITCH 303 /* char[16] of a member at 8, its pid at 24 */
#define EVENT_ID_PAIR   304 /* of two events: a u64 at 8, the time of the first at 16 */
#define EVENT_ID_FORK   310 /* not in the metadata; the child at 8 */
#define EVENT_ID_EXIT   311 /* not in the metadata */
#define EVENT_ID_EXEC   312 /* not in the metadata; the old number at 16 */
#define DIRT            0xd7
#define DELTA_TEST      7 /* of a record */

/* Fields of EVENT_ID: a u8 at 8, a hole to 16, a u64 at 16, __data_loc char[] at 24, __data_loc
 * u8[] at 28, __rel_loc char[] at 32; its end is at 36. */
#define EVENT_FIXED 36

typedef struct PageBuilder {
        uint8_t *bytes; /* PAGE_SIZE_TEST, DIRT where nothing was added */
        size_t at;
        uint64_t nsec; /* of the last record */
} PageBuilder;

void page_begin(PageBuilder *builder, uint8_t *bytes);
/* A word of type_len and delta. */
void page_add_word(PageBuilder *builder, uint32_t type_len, uint32_t delta);
void page_add_u32(PageBuilder *builder, uint32_t value);
/* A data record of `size` bytes of body (a multiple of 4), dirty; returns its body. */
uint8_t *page_add_record(PageBuilder *builder, uint16_t id, uint32_t pid, size_t size);
/* Writes commit, returns the page's used bytes. */
size_t page_end(PageBuilder *builder, uint32_t flags);
/* The time of the first record that follows, DELTA_TEST before it. */
void page_set_time(PageBuilder *builder, uint64_t nsec);
/* A record of a task at a time, not before that of the last one. */
uint8_t *page_add_at(PageBuilder *builder, uint64_t nsec, uint16_t id, uint32_t pid);
void page_add_fork(PageBuilder *builder, uint64_t nsec, uint32_t pid, uint32_t child);
void page_put_u32(uint8_t *at, uint32_t value);
uint32_t page_get_u32(const uint8_t *at);

/* "events" of the metadata, with the events above. */
json_object *page_events_new(void);
/* Metadata with them, as text. */
char *page_metadata_new(void);
