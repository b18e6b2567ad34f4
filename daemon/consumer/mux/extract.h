/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer/records/condition.h"

#define EXTRACT_IDS       65536 /* event ids have 16 bits */
#define EXTRACT_NO_VIEWER UINT32_MAX

/* What one class of viewers gets. */
typedef struct ExtractChoice {
        uint8_t keep[EXTRACT_IDS / 8]; /* a bit for each event id */
        uint32_t marker_id;            /* of ftrace:print */
        Condition **conditions;        /* by event id; NULL: every record of the event */
        size_t n_conditions;           /* room */
} ExtractChoice;

/* Copies the chosen records of consecutive sub-buffers of one CPU into new sub-buffers. The caller
 * sets the first seven members. */
typedef struct Extract {
        const ExtractChoice *choice;
        const uint8_t *off; /* a bit for each event id that is left out; NULL: none is */
        uint32_t viewer;    /* the marks of this viewer are kept; EXTRACT_NO_VIEWER: none are */
        unsigned cpu;
        uint8_t *out;
        size_t out_size; /* at least that of all sub-buffers that follow, each with its full size */
        size_t subbuf_size;

        size_t page;        /* offset of the sub-buffer that is being filled */
        size_t used;        /* bytes of records in it; 0: it is empty */
        uint64_t last_nsec; /* of its last record */
        uint32_t n_records;
        uint32_t n_wanted;     /* records of the events of the class, before its filters */
        uint64_t mark_viewers; /* a bit for each viewer whose marks were left out */
        uint64_t n_unparsed;   /* sub-buffers that were cut where they could not be parsed */
} Extract;

static inline void extract_keep(ExtractChoice *choice, uint16_t id) {
        choice->keep[id / 8] |= (uint8_t)(1U << (id % 8));
}

static inline bool extract_keeps(const ExtractChoice *choice, uint16_t id) {
        return choice->keep[id / 8] >> (id % 8) & 1;
}

/* Only records for which the condition holds are chosen. Takes the condition if it returns 0. */
int extract_add_condition(ExtractChoice *choice, uint16_t id, Condition *condition);
/* Frees the conditions. */
void extract_clear_choice(ExtractChoice *choice);
void extract_page(Extract *extract, const uint8_t *page, size_t size);
/* Returns the bytes of the result. The last sub-buffer ends after its records. */
size_t extract_end(Extract *extract);
