/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/records/command-names.h"
#include "interfaces/control.h"

/* The histograms of a stream, counted from its records. */
typedef struct Counts Counts;

typedef struct CountRecord {
        const uint8_t *bytes;
        size_t size;
        unsigned cpu;
        uint64_t nsec;
} CountRecord;

/* plan: as the daemon makes it (trace/trace-counts.c). readable: the array "events" of the
 * metadata, which the reader of the stream may see. is_judged: the caller notes the names of tasks
 * before their records are counted. Fails with -EBADMSG or -ENOMEM. */
int counts_new(json_object *plan, json_object *readable, bool is_judged, Counts **ret);
Counts *counts_free(Counts *counts);
DEFINE_CLEANUP(Counts, counts_free);
/* Counts a record. Returns whether the reader of the stream may see it. */
bool counts_take(Counts *counts, const CountRecord *record);
/* Of a stream that is not judged: all rings were read. */
void counts_end_round(Counts *counts);
/* NULL: no histogram shows names. Borrowed. */
CommandNames *counts_get_names(const Counts *counts);
bool counts_has(const Counts *counts, uint32_t table);
/* Changes one table, or all tables for CONTROL_COUNTS_ALL. lost: lost records of the session so
 * far. */
void counts_change(Counts *counts, uint32_t table, ControlCountsVerb verb, uint64_t lost);
/* Copies the rows in the order to show, at most CONTROL_ENTRIES_MAX. The caller clears each row and
 * frees the list. Fails with -ENOMEM. */
int counts_list(const Counts *counts, uint32_t table, CountRow **ret, size_t *ret_n);
void counts_put_entry(const Counts *counts,
                uint32_t table,
                const CountRow *row,
                ControlMessage *ret);
void counts_put_totals(const Counts *counts, uint32_t table, uint64_t lost, ControlMessage *ret);
/* Returns the hits of a notify trigger since the last call. Returns false when no trigger has new
 * hits. */
bool counts_take_hits(Counts *counts, ControlMessage *ret);
/* Gives back hits that could not be sent to the daemon. */
void counts_give_back_hits(Counts *counts, const ControlMessage *message);
