/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes the numbers of a recording as one JSON object. Its schema is
 * interfaces/summary.schema.json. `ktracectl summary` prints the same object as tables. */

#include "export/export-summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/summary.h"
#include "interfaces/json-text.h"
#include "interfaces/json.h"
#include "trace/receipt.h"
#include "trace/text-escape.h"

#define VERSION 1

typedef struct SummaryExport {
        const Trace *trace;
        FILE *out;
        Summary *summary;
        uint64_t n_lost;
        bool has_unknown_loss;
        json_object *root;
        bool is_short_of_memory;
} SummaryExport;

/* Consumes value. NULL stands for a lack of memory. */
static void put(SummaryExport *export, json_object *object, const char *key, json_object *value) {
        if (object && value && json_object_object_add(object, key, value) == 0)
                return;
        json_object_put(value);
        export->is_short_of_memory = true;
}

static void put_null(SummaryExport *export, json_object *object, const char *key) {
        if (!object || json_object_object_add(object, key, NULL) != 0)
                export->is_short_of_memory = true;
}

static void put_number(SummaryExport *export, json_object *object, const char *key, uint64_t n) {
        put(export, object, key, json_object_new_uint64(n));
}

/* Names may hold any bytes. Those that a terminal may act on become \xNN. */
static void put_text(SummaryExport *export,
                json_object *object,
                const char *key,
                const char *text) {
        TextBlock block = {};

        text_escape_add(&block, text, strlen(text), false);
        put(export,
                        object,
                        key,
                        block.is_short_of_memory ? NULL
                                                 : json_object_new_string_len(block.data ?: "",
                                                                   (int)block.used));
        text_block_clear(&block);
}

/* Adds an array to the object and returns it. */
static json_object *put_array(SummaryExport *export, json_object *object, const char *key) {
        json_object *array = json_object_new_array();

        put(export, object, key, array);
        return array;
}

/* Adds an object to the array and returns it. */
static json_object *add_row(SummaryExport *export, json_object *array) {
        json_object *row = json_object_new_object();

        if (array && row && json_object_array_add(array, row) == 0)
                return row;
        json_object_put(row);
        export->is_short_of_memory = true;
        return NULL;
}

static void put_durations(SummaryExport *export, json_object *object, const Sketch *nsec) {
        put_number(export, object, "total-nsec", nsec->total);
        put_number(export, object, "mean-nsec", sketch_get_mean(nsec));
        put_number(export, object, "p50-nsec", sketch_get_percentile(nsec, 50));
        put_number(export, object, "p95-nsec", sketch_get_percentile(nsec, 95));
        put_number(export, object, "p99-nsec", sketch_get_percentile(nsec, 99));
        put_number(export, object, "max-nsec", nsec->max);
}

static void put_events(SummaryExport *export) {
        json_object *array = put_array(export, export->root, "events");
        size_t n = 0;
        SummaryEvent **events = summary_sort_events(export->summary, &n);

        export->is_short_of_memory |= !events;
        for (size_t i = 0; i < n; i++) {
                json_object *row = add_row(export, array);
                char name[256];

                (void)snprintf(name,
                                sizeof(name),
                                "%s:%s",
                                events[i]->event->system,
                                events[i]->event->name);
                put_text(export, row, "event", name);
                put_number(export, row, "count", events[i]->n);
        }
        free(events);
}

static void put_calls(SummaryExport *export) {
        json_object *array = put_array(export, export->root, "calls");
        size_t n = 0;
        CallRow **rows = call_table_sort(&export->summary->calls, &n);

        export->is_short_of_memory |= !rows;
        for (size_t i = 0; i < n; i++) {
                json_object *row = add_row(export, array);

                put_text(export, row, "name", rows[i]->name);
                if (rows[i]->tid != 0) {
                        put_number(export, row, "thread", (uint64_t)rows[i]->tid);
                        put_text(export,
                                        row,
                                        "thread-name",
                                        decode_command(export->trace->decode, rows[i]->tid));
                }
                put_number(export, row, "count", call_row_count(rows[i]));
                put_number(export, row, "errors", rows[i]->n_errors);
                put_number(export, row, "unfinished", rows[i]->n_open);
                put_number(export, row, "doubtful", rows[i]->n_doubtful);
                put_durations(export, row, &rows[i]->nsec);
        }
        free(rows);
}

static void put_threads(SummaryExport *export, json_object *scheduler) {
        json_object *array = put_array(export, scheduler, "threads");
        size_t n = 0;
        SchedThread **threads = sched_table_sort(&export->summary->sched, &n);

        export->is_short_of_memory |= !threads;
        for (size_t i = 0; i < n; i++) {
                const SchedThread *thread = threads[i];
                json_object *row = add_row(export, array);

                put_number(export, row, "thread", (uint64_t)thread->tid);
                put_text(export, row, "name", thread->name);
                put_number(export, row, "running-nsec", thread->running_nsec);
                put_number(export, row, "waiting-nsec", thread->waiting_nsec);
                put_number(export,
                                row,
                                "interruptible-nsec",
                                thread->sleeping_nsec[SCHED_SLEEP_INTERRUPTIBLE]);
                put_number(export,
                                row,
                                "uninterruptible-nsec",
                                thread->sleeping_nsec[SCHED_SLEEP_UNINTERRUPTIBLE]);
                put_number(export,
                                row,
                                "other-sleep-nsec",
                                thread->sleeping_nsec[SCHED_SLEEP_OTHER]);
                put_number(export, row, "switches", thread->n_switches);
        }
        free(threads);
}

static void put_longest_waits(SummaryExport *export, json_object *scheduler) {
        const SchedTable *sched = &export->summary->sched;
        json_object *array = put_array(export, scheduler, "longest-waits");

        for (size_t i = 0; i < sched->n_longest; i++) {
                const SchedWait *wait = &sched->longest[i];
                json_object *row = add_row(export, array);

                put_number(export, row, "nsec", wait->nsec);
                put_number(export, row, "start-nsec", wait->start);
                put_number(export, row, "cpu", wait->cpu);
                put_number(export, row, "thread", (uint64_t)wait->tid);
                put_text(export, row, "name", wait->name);
                if (wait->other_tid == 0 && export->trace->decode->hides_tasks) {
                        put_null(export, row, "other-thread");
                        put_null(export, row, "other-name");
                        continue;
                }
                put_number(export, row, "other-thread", (uint64_t)MAX_OF(wait->other_tid, 0));
                put_text(export, row, "other-name", wait->other_name);
        }
}

static void put_waits(SummaryExport *export,
                json_object *scheduler,
                const char *key,
                const Sketch *nsec) {
        json_object *object = json_object_new_object();

        put_number(export, object, "count", nsec->n);
        put_durations(export, object, nsec);
        put(export, scheduler, key, object);
}

/* Without the switches to own tasks, neither the time on a CPU nor the waits are known. */
static void put_scheduler(SummaryExport *export, bool is_granted) {
        const SchedTable *sched = &export->summary->sched;
        json_object *scheduler;

        if (sched->n_switches == 0) {
                put_null(export, export->root, "scheduler");
                return;
        }
        scheduler = json_object_new_object();
        put(export, export->root, "scheduler", scheduler);
        put(export, scheduler, "granted", json_object_new_boolean(is_granted));
        if (!is_granted || export->is_short_of_memory)
                return;
        put(export,
                        scheduler,
                        "others-granted",
                        json_object_new_boolean(!export->trace->decode->hides_tasks));
        put(export, scheduler, "has-wakeups", json_object_new_boolean(sched->has_wakeups));
        put_number(export, scheduler, "switches", sched->n_switches);
        put_waits(export, scheduler, "waits", &sched->waits);
        put_waits(export, scheduler, "wakeups", &sched->wakeups);
        put_longest_waits(export, scheduler);
        put_threads(export, scheduler);
}

static void put_io(SummaryExport *export, IoKind kind, const char *key) {
        const IoTable *io = &export->summary->io;
        json_object *array = put_array(export, export->root, key);

        for (size_t i = 0; i < io->n_rows; i++) {
                const IoRow *row = &io->rows[i];

                if (row->kind != kind)
                        continue;
                json_object *object = add_row(export, array);

                put_text(export, object, "device", row->device);
                put_text(export, object, "direction", row->direction);
                put_number(export, object, "count", row->n);
                put_number(export, object, "bytes", row->bytes);
                if (kind == IO_BLOCK) {
                        put_number(export, object, "timed", row->nsec.n);
                        put_durations(export, object, &row->nsec);
                }
        }
}

static int summary_begin(const ExporterInput *input, void **ret, Reason *reason) {
        const Decode *decode = input->trace->decode;

        if (!decode->is_ns)
                return reason_set(reason,
                                KT_E_FAILED,
                                "a summary needs times in nanoseconds, the clock of this recording "
                                "is \"%s\": record with --clock mono",
                                decode->clock);
        SummaryExport *export = calloc(1, sizeof(*export));

        if (!export)
                return -ENOMEM;
        export->trace = input->trace;
        export->out = input->out;
        *ret = export;
        return summary_new(decode, input->source->by_thread, &export->summary);
}

static int summary_take(void *state, const ExporterItem *item) {
        SummaryExport *export = state;

        return summary_record(export->summary, &item->record);
}

static int summary_take_loss(void *state, const ExporterItem *item) {
        SummaryExport *export = state;

        export->n_lost += item->lost > 0 ? (uint64_t)item->lost : 0;
        export->has_unknown_loss |= item->lost <= 0;
        return summary_loss(export->summary, item->record.cpu);
}

static void put_head(SummaryExport *export, const char *missing) {
        const Summary *summary = export->summary;
        const Stream *stream = &export->trace->stream;
        json_object *root = export->root;

        put_number(export, root, "version", VERSION);
        put_text(export, root, "clock", export->trace->decode->clock);
        put_number(export, root, "start-nsec", summary->start);
        put_number(export,
                        root,
                        "duration-nsec",
                        summary->end > summary->start ? summary->end - summary->start : 0);
        put_number(export, root, "cpus", export->trace->decode->n_cpus);
        put_number(export, root, "threads", summary->threads.n_used);
        put_number(export, root, "total-events", summary->n_events);
        put_number(export, root, "unknown-events", summary->n_unknown);
        put_number(export, root, "lost-events", MAX_OF(export->n_lost, stream_count_lost(stream)));
        put(export,
                        root,
                        "lost-more",
                        json_object_new_boolean(export->has_unknown_loss &&
                                                stream_count_lost(stream) == 0));
        put(export, root, "complete", json_object_new_boolean(missing[0] == '\0'));
        put(export,
                        root,
                        "own-processes-only",
                        json_object_new_boolean(export->trace->decode->hides_tasks));
}

static int summary_end(void *state, const char *missing) {
        SummaryExport *export = state;
        bool lacks_switches = false;

        int r = summary_finish(export->summary);
        r = r ?: receipt_lacks_switches(&export->trace->stream, &lacks_switches);
        if (r < 0)
                return r;
        export->root = json_object_new_object();
        if (!export->root)
                return -ENOMEM;
        put_head(export, missing);
        put_events(export);
        put_calls(export);
        put_scheduler(export, !lacks_switches);
        put_io(export, IO_BLOCK, "block");
        put_io(export, IO_NET, "network");
        if (export->is_short_of_memory)
                return -ENOMEM;
        r = json_text_print(export->out, export->root, JSON_C_TO_STRING_NOSLASHESCAPE);
        if (r == 0 && fputc('\n', export->out) == EOF)
                r = -errno;
        return r;
}

static void summary_export_free(void *state) {
        SummaryExport *export = state;

        if (!export)
                return;
        summary_free(export->summary);
        json_object_put(export->root);
        free(export);
}

const Exporter summary_exporter = {
        .begin = summary_begin,
        .record = summary_take,
        .loss = summary_take_loss,
        .end = summary_end,
        .free = summary_export_free,
};
