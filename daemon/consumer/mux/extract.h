/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer/mux/batch.h"
#include "consumer/mux/event-bits.h"
#include "consumer/records/condition.h"
#include "consumer/records/mask.h"

#define EXTRACT_NO_VIEWER UINT32_MAX

/* What one class of viewers gets. */
typedef struct ExtractChoice {
        EventBits keep;
        uint32_t marker_id;     /* of ftrace:print */
        Condition **conditions; /* by event id; NULL: every record of the event */
        size_t n_conditions;    /* room */
} ExtractChoice;

/* What viewers of a class get of a batch. */
typedef struct ExtractPortion {
        const EventBits *off; /* these events are left out; NULL: none is */
        uint32_t viewer;      /* the marks of this viewer are kept; EXTRACT_NO_VIEWER: none are */
        BatchPart part;       /* from here come all but the marks; begin is NULL: the whole batch */
} ExtractPortion;

/* Copies the chosen records of a batch into new sub-buffers. The caller sets the first five
 * members. */
typedef struct Extract {
        const ExtractChoice *choice;
        const Masks *masks; /* the records are cleaned by them; NULL: they pass unchanged */
        ExtractPortion portion;
        uint8_t *out;    /* NULL: the records are only counted */
        size_t out_size; /* at least that of all sub-buffers, each with its full size */

        const Batch *batch;
        uint8_t *scratch;   /* the sub-buffer that is being filled; NULL: it is filled in out */
        size_t page;        /* offset of that sub-buffer in out */
        size_t used;        /* bytes of records in it; 0: it is empty */
        uint64_t last_nsec; /* of its last record */
        uint32_t n_records;
        uint32_t n_wanted; /* marks, and records of the events before the filters of the class */
        uint64_t mark_viewers; /* a bit for each viewer whose marks were left out */
        uint64_t n_unparsed;   /* sub-buffers that were cut where they could not be parsed */
        uint64_t n_unknown;    /* records of events without cuts, which were left out */
} Extract;

/* Only records for which the condition holds are chosen. Takes the condition if it returns 0. */
int extract_add_condition(ExtractChoice *choice, uint16_t id, Condition *condition);
/* Frees the conditions. */
void extract_clear_choice(ExtractChoice *choice);
/* Returns the bytes of the result. The last sub-buffer ends after its records. */
size_t extract_batch(Extract *extract, const Batch *batch);
