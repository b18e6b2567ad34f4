/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes a recording as Chrome's JSON format, which chrome://tracing, Perfetto's page and many
 * tools open. One group of tracks has the CPUs: a slice for each thread that ran, from
 * sched_switch. The other group has the threads: a slice for each system call, and an instant for
 * each other event. The slices of a track never overlap: a CPU runs one thread, and a thread makes
 * one call.
 *
 * A recording of own processes lacks switches between others. When a CPU switches away from another
 * thread than the one of the slice, the slice is left out.
 *
 * The end of a slice comes with a later record, so slices are not in the order of their starts,
 * which the format allows. Memory grows with CPUs and threads. The receipt is in "otherData". Only
 * the top buffer has slices: a trace.dat may have the same switches in an instance again. */

#include "export/export-chrome.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call-pair.h"
#include "export/chrome-event.h"
#include "interfaces/cleanup.h"
#include "interfaces/json-text.h"
#include "interfaces/json.h"
#include "trace/field-value.h"
#include "trace/json-string.h"
#include "trace/json-value.h"
#include "trace/receipt.h"

#define BLOCK_SIZE ((size_t)64 * 1024)

/* The thread that runs on a CPU since its last sched_switch. */
typedef struct Running {
        bool is_known;
        uint64_t since;
        int tid, prio;
        char comm[64];
} Running;

typedef struct Chrome {
        const Trace *trace;
        FILE *out;
        TextBlock block;
        CallPair *calls;
        Running *cpus; /* by number */
        size_t n_cpus;
        void *threads; /* of tsearch(): those that have a track */
        uint64_t last; /* time of the newest item */
        bool is_at_end;
        int error; /* while the tracks are named */
        bool is_short_of_memory;
} Chrome;

static int chrome_compare(const void *a, const void *b) {
        return ((intptr_t)a > (intptr_t)b) - ((intptr_t)a < (intptr_t)b);
}

/* The idle tasks of all CPUs have tid 0, so their events are on the CPU's track. */
static ChromeTrack chrome_choose_track(Chrome *chrome, int tid, uint32_t cpu) {
        if (tid == 0)
                return (ChromeTrack){ CHROME_CPUS, cpu };
        if (!tsearch((void *)(intptr_t)tid, &chrome->threads, chrome_compare)) /* NOLINT */
                chrome->is_short_of_memory = true;
        return (ChromeTrack){ CHROME_THREADS, tid };
}

static bool chrome_is_event(const EventLayout *layout, const char *system, const char *name) {
        return strcmp(layout->event->name, name) == 0 && strcmp(layout->event->system, system) == 0;
}

static int64_t chrome_read_number(const EventLayout *layout,
                const char *name,
                const Record *record) {
        const EventLayoutField *field = event_layout_find_kind(layout, name, EVENT_LAYOUT_NUMBER);

        return field ? (int64_t)event_layout_number(
                                       record->data + field->offset, field->size, field->is_signed)
                     : 0;
}

static void chrome_end_run(Chrome *chrome, uint32_t cpu, uint64_t ts) {
        Running *running = &chrome->cpus[cpu];

        if (!running->is_known)
                return;
        chrome_event_begin_slice(&chrome->block,
                        running->comm,
                        (ChromeTrack){ CHROME_CPUS, cpu },
                        running->since,
                        MAX_OF(ts, running->since));
        text_block_add_format(
                        &chrome->block, "\"tid\":%d,\"prio\":%d", running->tid, running->prio);
        chrome_event_end(&chrome->block);
        running->is_known = false;
}

static void chrome_switch(Chrome *chrome, const ExporterItem *item) {
        const EventLayout *layout = item->layout;
        const Record *record = &item->record;
        Running *running = &chrome->cpus[record->cpu];

        if (running->tid != (int)chrome_read_number(layout, "prev_pid", record))
                running->is_known = false;
        chrome_end_run(chrome, record->cpu, record->ts);
        running->tid = (int)chrome_read_number(layout, "next_pid", record);
        running->prio = (int)chrome_read_number(layout, "next_prio", record);
        running->since = record->ts;
        (void)snprintf(running->comm,
                        sizeof(running->comm),
                        "%s",
                        decode_command(chrome->trace->decode, running->tid));
        const EventLayoutField *comm =
                        event_layout_find_kind(layout, "next_comm", EVENT_LAYOUT_STRING);
        if (comm) {
                const char *text;
                size_t size = field_value_get_text(comm, record, &text);

                (void)snprintf(running->comm,
                                sizeof(running->comm),
                                "%.*s",
                                (int)MIN_OF(size, sizeof(running->comm)),
                                text);
        }
        /* The idle task has a name. Without one, the next thread may not be shown. */
        running->is_known = running->tid != 0 || running->comm[0];
}

static void chrome_add_call_members(TextBlock *block, const Call *call) {
        const char *separator = "";

        if (call->state == CALL_RETURNED || call->state == CALL_RESULT_ONLY ||
                        call->state == CALL_FIRST_RETURN) {
                text_block_add_format(block, "\"result\":%" PRId64, call->result);
                separator = ",";
        } else if (call->state == CALL_UNFINISHED) {
                text_block_add_format(block, "\"unfinished\":true");
                separator = ",";
        }
        if (call->is_doubtful) {
                text_block_add_format(block, "%s\"doubtful\":true", separator);
                separator = ",";
        }
        if (call->layout) {
                text_block_add_format(block, "%s\"entry\":", separator);
                json_value_add_fields(block, call->layout, &call->entry);
        }
}

/* Calls without an end are slices only when they last until the end of the recording. */
static int chrome_call(const Call *call, void *userdata) {
        Chrome *chrome = userdata;
        const char *name = call->name ?: call->name_if_64bit;
        uint32_t cpu = call->start > 0 ? call->start_cpu : call->end_cpu;
        ChromeTrack track = chrome_choose_track(chrome, call->tid, cpu);
        char number[32];

        if (!name) {
                (void)snprintf(number, sizeof(number), "call %" PRId64, call->number);
                name = number;
        }
        if (call->state == CALL_RETURNED)
                chrome_event_begin_slice(&chrome->block, name, track, call->start, call->end);
        else if (call->state == CALL_UNFINISHED && chrome->is_at_end)
                chrome_event_begin_slice(&chrome->block, name, track, call->start, chrome->last);
        else
                chrome_event_begin_instant(&chrome->block,
                                name,
                                strlen(name),
                                track,
                                call->start > 0 ? call->start : call->end);
        chrome_add_call_members(&chrome->block, call);
        chrome_event_end(&chrome->block);
        return 0;
}

static bool chrome_is_call(const EventLayout *layout) {
        const char *system = layout->event->system, *name = layout->event->name;

        return (strcmp(system, "syscalls") == 0 || strcmp(system, "raw_syscalls") == 0) &&
               (strncmp(name, "sys_enter", 9) == 0 || strncmp(name, "sys_exit", 8) == 0);
}

/* The text of a mark is its name, because that is what people look for. */
static void chrome_add_instant(Chrome *chrome, const ExporterItem *item) {
        const EventLayout *layout = item->layout;
        ChromeTrack track = chrome_choose_track(chrome, item->pid, item->record.cpu);
        const char *name = layout ? layout->event->name : "unknown or damaged record";
        size_t size = strlen(name);

        for (size_t i = 0; layout && i < layout->n_fields; i++)
                if (chrome_is_event(layout, "ftrace", "print") &&
                                layout->fields[i].kind == EVENT_LAYOUT_STRING)
                        size = field_value_get_text(&layout->fields[i], &item->record, &name);
        chrome_event_begin_instant(&chrome->block, name, size, track, item->record.ts);
        text_block_add_format(&chrome->block, "\"cpu\":%" PRIu32, item->record.cpu);
        if (layout) {
                text_block_add_format(&chrome->block, ",\"system\":");
                json_string_add(&chrome->block,
                                layout->event->system,
                                strlen(layout->event->system));
                text_block_add_format(&chrome->block, ",\"fields\":");
                json_value_add_fields(&chrome->block, layout, &item->record);
        }
        chrome_event_end(&chrome->block);
}

static int chrome_flush(Chrome *chrome, size_t from) {
        if (chrome->is_short_of_memory)
                return -ENOMEM;
        return chrome->block.used < from ? 0 : text_block_write(&chrome->block, chrome->out);
}

static int chrome_record(void *state, const ExporterItem *item) {
        Chrome *chrome = state;
        const EventLayout *layout = item->layout;
        bool is_top = item->buffer == chrome->trace->buffers;
        int r = 0;

        chrome->last = MAX_OF(chrome->last, item->record.ts);
        if (is_top && layout)
                r = call_pair_record(chrome->calls, &item->record);
        if (r == 0 && is_top && layout && chrome_is_event(layout, "sched", "sched_switch") &&
                        item->record.cpu < chrome->n_cpus)
                chrome_switch(chrome, item);
        else if (r == 0 && !(is_top && layout && chrome_is_call(layout)))
                chrome_add_instant(chrome, item);
        return r ?: chrome_flush(chrome, BLOCK_SIZE);
}

static int chrome_loss(void *state, const ExporterItem *item) {
        Chrome *chrome = state;
        char name[64];

        chrome->last = MAX_OF(chrome->last, item->record.ts);
        if (item->lost > 0)
                (void)snprintf(name, sizeof(name), "%" PRId64 " events lost", item->lost);
        else
                (void)snprintf(name, sizeof(name), "events lost");
        if (item->record.cpu < chrome->n_cpus)
                chrome->cpus[item->record.cpu].is_known = false;
        chrome_event_begin_instant(&chrome->block,
                        name,
                        strlen(name),
                        (ChromeTrack){ CHROME_CPUS, item->record.cpu },
                        item->record.ts);
        chrome_event_end(&chrome->block);
        int r = call_pair_loss(chrome->calls, item->record.cpu);
        return r ?: chrome_flush(chrome, BLOCK_SIZE);
}

static int chrome_allocate(Chrome *chrome) {
        const Trace *trace = chrome->trace;

        chrome->n_cpus = trace_count_cpus(trace);
        chrome->cpus = calloc(chrome->n_cpus + 1, sizeof(*chrome->cpus));
        return chrome->cpus ? call_pair_new(trace->decode, chrome_call, chrome, &chrome->calls)
                            : -ENOMEM;
}

static int chrome_begin(const ExporterInput *input, void **ret, Reason *reason) {
        Chrome *chrome;

        if (!input->trace->decode->is_ns)
                return reason_set(reason,
                                KT_E_FAILED,
                                "chrome needs times, but its clock (%s) does not count time",
                                input->trace->decode->clock);
        chrome = calloc(1, sizeof(*chrome));
        if (!chrome)
                return -ENOMEM;
        *ret = chrome;
        chrome->trace = input->trace;
        chrome->out = input->out;
        text_block_add_format(&chrome->block, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        text_block_add_format(&chrome->block,
                        "\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,"
                        "\"args\":{\"name\":\"CPUs\"}}",
                        CHROME_CPUS);
        chrome_event_add_name(&chrome->block,
                        "process_name",
                        (ChromeTrack){ CHROME_THREADS, 0 },
                        "Threads");
        return chrome_allocate(chrome);
}

static void chrome_name_thread(const void *node, VISIT visit, void *userdata) {
        Chrome *chrome = userdata;
        int tid = (int)*(const intptr_t *)node;

        if (chrome->error < 0 || (visit != postorder && visit != leaf))
                return;
        chrome_event_add_name(&chrome->block,
                        "thread_name",
                        (ChromeTrack){ CHROME_THREADS, tid },
                        decode_command(chrome->trace->decode, tid));
        chrome->error = chrome_flush(chrome, BLOCK_SIZE);
}

static int chrome_name_tracks(Chrome *chrome) {
        char name[32];

        for (size_t i = 0; i < chrome->trace->n_lanes; i++) {
                (void)snprintf(name, sizeof(name), "CPU %u", chrome->trace->lanes[i]->cpu);
                chrome_event_add_name(&chrome->block,
                                "thread_name",
                                (ChromeTrack){ CHROME_CPUS, chrome->trace->lanes[i]->cpu },
                                name);
        }
        twalk_r(chrome->threads, chrome_name_thread, chrome);
        return chrome->error;
}

static int chrome_add_receipt(Chrome *chrome) {
        _cleanup_json_ json_object *receipt = NULL;
        int r = receipt_make(&chrome->trace->stream, true, &receipt);

        if (r < 0 || !receipt)
                return r;
        text_block_add_format(&chrome->block, ",\"receipt\":");
        r = text_block_write(&chrome->block, chrome->out);
        return r ?: json_text_print(chrome->out, receipt, JSON_C_TO_STRING_PLAIN);
}

static int chrome_end(void *state, const char *missing) {
        Chrome *chrome = state;

        chrome->is_at_end = true;
        int r = call_pair_finish(chrome->calls);
        /* The thread may have ended, if switches are missing. */
        for (uint32_t cpu = 0; cpu < chrome->n_cpus && !chrome->trace->decode->lists_tasks; cpu++)
                chrome_end_run(chrome, cpu, chrome->last);
        r = r ?: chrome_name_tracks(chrome);
        text_block_add_format(&chrome->block, "\n],\"otherData\":{\"missing\":");
        json_string_add(&chrome->block, missing, strlen(missing));
        r = r ?: chrome_add_receipt(chrome);
        text_block_add_format(&chrome->block, "}}\n");
        return r ?: chrome_flush(chrome, 0);
}

static void chrome_keep(void *key _unused_) {
}

static void chrome_free(void *state) {
        Chrome *chrome = state;

        if (!chrome)
                return;
        call_pair_free(chrome->calls);
        tdestroy(chrome->threads, chrome_keep);
        text_block_clear(&chrome->block);
        free(chrome->cpus);
        free(chrome);
}

const Exporter chrome_exporter = {
        .begin = chrome_begin,
        .record = chrome_record,
        .loss = chrome_loss,
        .end = chrome_end,
        .free = chrome_free,
};
