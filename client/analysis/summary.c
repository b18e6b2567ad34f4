/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Computes the numbers of a recording in one pass. Called by export-summary.c with each record.
 * Owns the tables. Memory grows with threads, events and devices, not with records. */

#include "analysis/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/cleanup.h"

static int on_call(const Call *call, void *userdata) {
        Summary *summary = userdata;

        return call_table_add(&summary->calls, call);
}

int summary_new(const Decode *decode, bool by_thread, Summary **ret) {
        _cleanup_(summary_free_cleanup) Summary *summary = calloc(1, sizeof(*summary));

        if (!summary)
                return -ENOMEM;
        summary->decode = summary->sched.decode = summary->io.decode = decode;
        summary->calls.by_thread = by_thread;
        int r = call_pair_new(decode, on_call, summary, &summary->pair);

        if (r == 0)
                *ret = TAKE_PTR(summary);
        return r;
}

Summary *summary_free(Summary *summary) {
        if (!summary)
                return NULL;
        call_pair_free(summary->pair);
        call_table_clear(&summary->calls);
        sched_table_clear(&summary->sched);
        io_table_clear(&summary->io);
        number_map_free_all(&summary->events);
        number_map_clear(&summary->threads);
        free(summary);
        return NULL;
}

/* Returns NULL if memory is short. */
static SummaryEvent *summary_get_event(Summary *summary, const EventLayout *layout) {
        uint64_t id = (uint64_t)layout->event->id;
        SummaryEvent *event = number_map_find(&summary->events, id);
        const char *system = layout->event->system;

        if (event)
                return event;
        event = calloc(1, sizeof(*event));
        if (!event)
                return NULL;
        event->event = layout->event;
        event->is_for_sched = strcmp(system, "sched") == 0;
        event->is_for_calls = event->is_for_sched || strcmp(system, "syscalls") == 0 ||
                              strcmp(system, "raw_syscalls") == 0;
        event->is_for_io = strcmp(system, "block") == 0 || strcmp(system, "net") == 0;
        if (number_map_add(&summary->events, id, event) == 0)
                return event;
        free(event);
        return NULL;
}

static int summary_count_thread(Summary *summary, int tid) {
        if (tid <= 0 || tid > TID_MAX || number_map_find(&summary->threads, (uint64_t)tid))
                return 0;
        return number_map_add(&summary->threads, (uint64_t)tid, summary);
}

int summary_record(Summary *summary, const Record *record) {
        const EventLayout *layout = decode_find(summary->decode, record);
        int r = summary_count_thread(summary, decode_record_pid(record));

        summary->start = summary->n_events == 0 ? record->ts : summary->start;
        summary->end = MAX_OF(summary->end, record->ts);
        summary->n_events++;
        if (!layout) {
                summary->n_unknown++;
                return r;
        }
        SummaryEvent *event = summary_get_event(summary, layout);

        if (!event)
                return -ENOMEM;
        event->n++;
        if (r == 0 && event->is_for_calls)
                r = call_pair_record(summary->pair, record);
        if (r == 0 && event->is_for_sched)
                r = sched_table_record(&summary->sched, record);
        if (r == 0 && event->is_for_io)
                r = io_table_record(&summary->io, record);
        return r;
}

int summary_loss(Summary *summary, uint32_t cpu) {
        sched_table_loss(&summary->sched);
        io_table_loss(&summary->io);
        return call_pair_loss(summary->pair, cpu);
}

int summary_finish(Summary *summary) {
        sched_table_finish(&summary->sched, summary->end);
        return call_pair_finish(summary->pair);
}

static int summary_compare_events(const void *a, const void *b) {
        const SummaryEvent *first = *(SummaryEvent *const *)a, *second = *(SummaryEvent *const *)b;

        if (first->n != second->n)
                return first->n > second->n ? -1 : 1;
        return first->event->id - second->event->id;
}

SummaryEvent **summary_sort_events(const Summary *summary, size_t *ret_n) {
        SummaryEvent **events = (SummaryEvent **)number_map_list(&summary->events);

        if (!events)
                return NULL;
        *ret_n = summary->events.n_used;
        qsort(events, *ret_n, sizeof(*events), summary_compare_events);
        return events;
}
