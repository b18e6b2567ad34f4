/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Judges records by event and thread. Called by trace.c for each record of a selection. A record
 * belongs to a thread if the thread made it, or if a field of it names the thread together with the
 * thread's name: a switch to the thread, or its wake-up by another one. */

#include "trace/record-filter.h"

#include <stdlib.h>
#include <string.h>

void record_filter_clear(RecordFilter *filter) {
        free(filter->events);
        *filter = (RecordFilter){ 0 };
}

static bool record_filter_has_pid(const RecordFilter *filter, int pid) {
        for (size_t i = 0; i < filter->n_pids; i++)
                if (filter->pids[i] == pid)
                        return true;
        return false;
}

static bool record_filter_names_pid(const RecordFilter *filter,
                const EventLayout *layout,
                const Record *record) {
        if (!layout || !event_layout_fits(layout, record->data, record->size))
                return false;
        for (size_t i = 0; i < layout->n_names; i++) {
                const EventLayoutField *field = layout->names[i].pid;

                if (record_filter_has_pid(filter,
                                    (int)event_layout_number(record->data + field->offset,
                                                    field->size,
                                                    field->is_signed)))
                        return true;
        }
        return false;
}

static RecordChoice record_filter_choose(const RecordFilter *filter, const Record *record) {
        uint16_t id = 0;

        if (!filter->events)
                return RECORD_CHOSEN;
        if (record->size >= sizeof(id))
                id = (uint16_t)event_layout_number(record->data, sizeof(id), false);
        return id < filter->n_events ? filter->events[id] : RECORD_LEFT_OUT;
}

bool record_filter_accepts(const RecordFilter *filter,
                const Decode *decode,
                const Record *record,
                bool is_before_accepted) {
        RecordChoice choice = record_filter_choose(filter, record);

        if (choice != RECORD_CHOSEN)
                return choice == RECORD_FOLLOWS && is_before_accepted;
        return !filter->pids || record_filter_has_pid(filter, decode_record_pid(record)) ||
               record_filter_names_pid(filter, decode_find(decode, record), record);
}
