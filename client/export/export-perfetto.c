/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes a recording for Perfetto: a sequence of packets of protocol buffers. The folder perfetto
 * writes the packets; this file gives them the items of the recording. The packets of one CPU have
 * about 64 KB and are written when they are full, so memory grows with CPUs and tasks only. The
 * viewer sorts. */

#include "export/export-perfetto.h"

#include <errno.h>
#include <stdlib.h>

#include "interfaces/cleanup.h"
#include "interfaces/pair-start.h"
#include "perfetto/perfetto-bundle.h"
#include "perfetto/perfetto-head.h"
#include "perfetto/perfetto-task.h"
#include "perfetto/perfetto-track.h"
#include "trace/field-value.h"

typedef enum PerfettoRole {
        ROLE_NONE,
        ROLE_TASK, /* it says to which process a thread belongs */
        ROLE_MARK,
        ROLE_PAIR, /* a probe of two events */
} PerfettoRole;

typedef struct PerfettoKind {
        PerfettoEvent *event; /* NULL: not met yet */
        PerfettoRole role;
        const EventLayoutField *field; /* the text of a mark, the duration of a pair */
        uint64_t unit_ns;              /* of the duration */
} PerfettoKind;

typedef struct Perfetto {
        const Trace *trace;
        FILE *out;
        bool is_compatible;
        PerfettoClock clock;
        PerfettoBundles bundles;
        PerfettoTasks tasks;
        PerfettoTracks tracks;
        PerfettoKind *kinds; /* by event id */
        bool has_begun;
        uint64_t last_ts;
        TextBlock block;
} Perfetto;

static void perfetto_choose_role(PerfettoKind *kind, const EventLayout *layout) {
        const char *system = layout->event->system, *name = layout->event->name;

        if (strcmp(name, "task_newtask") == 0 || strcmp(name, "sched_process_exec") == 0)
                kind->role = ROLE_TASK;
        else if (strcmp(system, "ftrace") == 0 && strcmp(name, "print") == 0) {
                kind->field = event_layout_find_kind(layout, "buf", EVENT_LAYOUT_STRING);
                kind->role = kind->field ? ROLE_MARK : ROLE_NONE;
        } else if (strncmp(system, "ktrace", 6) == 0) {
                const EventLayoutField *usec = event_layout_find_kind(
                                layout, PAIR_START_USEC, EVENT_LAYOUT_NUMBER);

                kind->field = event_layout_find_kind(layout, "latency", EVENT_LAYOUT_NUMBER);
                kind->unit_ns = usec ? 1000 : 1;
                kind->role = kind->field ? ROLE_PAIR : ROLE_NONE;
        }
}

static int perfetto_get_kind(Perfetto *perfetto, const EventLayout *layout, PerfettoKind **ret) {
        PerfettoKind *kind = &perfetto->kinds[layout->event->id];
        int r = 0;

        if (!kind->event) {
                r = perfetto_event_new(layout, perfetto->is_compatible, &kind->event);
                perfetto_choose_role(kind, layout);
        }
        *ret = kind;
        return r;
}

static int perfetto_check_cpus(const Trace *trace, Reason *reason) {
        for (size_t i = 0; i < trace->n_lanes; i++)
                if (trace->lanes[i]->cpu >= PERFETTO_CPUS_MAX)
                        return reason_set(reason,
                                        KT_E_FAILED,
                                        "it has records of CPU %u, and Perfetto reads CPUs up to %d: "
                                        "choose some with --cpu",
                                        trace->lanes[i]->cpu,
                                        PERFETTO_CPUS_MAX - 1);
        return 0;
}

static int perfetto_begin(const ExporterInput *input, void **ret, Reason *reason) {
        Perfetto *perfetto = calloc(1, sizeof(*perfetto));
        const Trace *trace = input->trace;

        if (!perfetto)
                return -ENOMEM;
        *ret = perfetto;
        *perfetto = (Perfetto){ .trace = trace,
                .out = input->out,
                .is_compatible = input->source->is_compatible,
                .kinds = calloc(trace->decode->n_layouts + 1, sizeof(*perfetto->kinds)) };
        int r = perfetto->kinds ? 0 : -ENOMEM;
        r = r ?: perfetto_check_cpus(trace, reason);
        r = r ?: perfetto_clock_init(&perfetto->clock, trace, reason);
        r = r ?: perfetto_bundles_init(&perfetto->bundles, input->out);
        r = r ?: perfetto_tracks_init(&perfetto->tracks, input->out);
        r = r ?: perfetto_head_add(trace, &perfetto->block);
        return r ?: text_block_write(&perfetto->block, input->out);
}

/* Perfetto needs a relation of clocks before the first time. */
static int perfetto_note_time(Perfetto *perfetto, uint64_t ts) {
        perfetto->last_ts = ts;
        if (perfetto->has_begun)
                return 0;
        perfetto->has_begun = true;
        perfetto_clock_add_snapshot(&perfetto->clock, &perfetto->block, ts);
        return text_block_write(&perfetto->block, perfetto->out);
}

static int perfetto_add_mark(Perfetto *perfetto,
                const PerfettoKind *kind,
                const Record *record,
                uint64_t ts) {
        const char *text;
        size_t size = field_value_get_text(kind->field, record, &text);

        return perfetto_tracks_add_mark(&perfetto->tracks, ts, text, size);
}

static int perfetto_play_role(Perfetto *perfetto,
                const PerfettoKind *kind,
                const ExporterItem *item,
                uint64_t ts) {
        const Record *record = &item->record;

        switch (kind->role) {
        case ROLE_TASK:
                return perfetto_tasks_learn(&perfetto->tasks, item->layout, record);
        case ROLE_MARK:
                return perfetto_add_mark(perfetto, kind, record, ts);
        case ROLE_PAIR:
                return perfetto_tracks_add_pair(&perfetto->tracks,
                                item->layout->event,
                                ts - field_value_get_number(kind->field, record) * kind->unit_ns,
                                ts,
                                item->pid);
        default:
                return 0;
        }
}

static int perfetto_record(void *state, const ExporterItem *item) {
        Perfetto *perfetto = state;
        PerfettoKind none = {}, *kind = &none;
        uint64_t ts = perfetto_clock_convert(&perfetto->clock, item->record.ts);

        int r = perfetto_note_time(perfetto, item->record.ts);
        if (r == 0 && item->layout)
                r = perfetto_get_kind(perfetto, item->layout, &kind);
        r = r ?: perfetto_bundles_add(&perfetto->bundles, kind->event, &item->record, ts);
        return r ?: perfetto_play_role(perfetto, kind, item, ts);
}

static int perfetto_loss(void *state, const ExporterItem *item) {
        Perfetto *perfetto = state;
        uint64_t from = 0, to = perfetto_clock_convert(&perfetto->clock, item->record.ts);

        int r = perfetto_note_time(perfetto, item->record.ts);
        r = r ?: perfetto_bundles_lose(&perfetto->bundles, item->record.cpu, &from);
        return r
                               ?: perfetto_tracks_add_loss(&perfetto->tracks,
                                                  item->record.cpu,
                                                  from > 0 ? from : to,
                                                  to,
                                                  item->lost);
}

static int perfetto_end(void *state, const char *missing _unused_) {
        Perfetto *perfetto = state;

        int r = perfetto_bundles_finish(&perfetto->bundles);
        r = r ?: perfetto_tracks_finish(&perfetto->tracks);
        r = r
                            ?: perfetto_tasks_write_tree(&perfetto->tasks,
                                               perfetto->trace->decode,
                                               perfetto->out);
        if (r == 0 && perfetto->has_begun)
                perfetto_clock_add_snapshot(&perfetto->clock, &perfetto->block, perfetto->last_ts);
        return r ?: text_block_write(&perfetto->block, perfetto->out);
}

static void perfetto_free(void *state) {
        Perfetto *perfetto = state;

        if (!perfetto)
                return;
        for (size_t i = 0; perfetto->kinds && i < perfetto->trace->decode->n_layouts; i++)
                perfetto_event_free(perfetto->kinds[i].event);
        free(perfetto->kinds);
        perfetto_bundles_clear(&perfetto->bundles);
        perfetto_tasks_clear(&perfetto->tasks);
        perfetto_tracks_clear(&perfetto->tracks);
        text_block_clear(&perfetto->block);
        free(perfetto);
}

const Exporter perfetto_exporter = {
        .begin = perfetto_begin,
        .record = perfetto_record,
        .loss = perfetto_loss,
        .end = perfetto_end,
        .free = perfetto_free,
};
