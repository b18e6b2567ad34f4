/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/command-names.h"
#include "interfaces/control.h"

/* The histograms of a judged stream, counted of its records. */
typedef struct Counts Counts;

typedef struct CountRecord {
        const uint8_t *bytes;
        size_t size;
        unsigned cpu;
        uint64_t nsec;
} CountRecord;

/* plan: as the daemon makes it (trace/trace-counts.c). told: "events" of the metadata, which the
 * reader of the stream may have. -EBADMSG, -ENOMEM. */
int counts_new(json_object *plan, json_object *told, Counts **ret);
Counts *counts_free(Counts *counts);
DEFINE_CLEANUP(Counts, counts_free);
/* Counts a member's record. Returns whether the reader of the stream may have it. */
bool counts_take(Counts *counts, const CountRecord *record);
/* NULL: no histogram shows names. Borrowed. */
CommandNames *counts_get_names(const Counts *counts);
bool counts_has(const Counts *counts, uint32_t table);
/* Of all tables where table is CONTROL_COUNTS_ALL. lost: records of the session, so far. */
void counts_change(Counts *counts, uint32_t table, ControlCountsVerb verb, uint64_t lost);
/* Copies of the rows as they are to be shown, CONTROL_ENTRIES_MAX at most; the caller clears each
 * and frees the list. -ENOMEM. */
int counts_list(const Counts *counts, uint32_t table, CountRow **ret, size_t *ret_n);
void counts_put_entry(const Counts *counts,
                uint32_t table,
                const CountRow *row,
                ControlMessage *ret);
void counts_put_totals(const Counts *counts, uint32_t table, uint64_t lost, ControlMessage *ret);
/* What notify triggers have counted since the last call. False: nothing more. */
bool counts_take_hits(Counts *counts, ControlMessage *ret);
/* The daemon could not be told now. */
void counts_give_back_hits(Counts *counts, const ControlMessage *message);
