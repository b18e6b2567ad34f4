/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Walks over a recording and gives each record to the exporter of a format. Called by export.c.
 * Checks each record against its event's layout once, so that exporters need not: a recording may
 * be hostile. Owns the exporter's state during the walk. */

#include "export/exporter.h"

static int exporter_take(const Exporter *exporter,
                void *state,
                const Decode *decode,
                const TraceItem *item,
                ExportSummary *summary) {
        ExporterItem given = { .record = item->record, .lost = item->lost, .buffer = item->buffer };

        if (item->kind == TRACE_LOSS) {
                summary->n_lost += item->lost > 0 ? (uint64_t)item->lost : 1;
                return exporter->loss(state, &given);
        }
        summary->n_events++;
        given.lost = 0;
        given.pid = decode_record_pid(&item->record);
        given.layout = decode_find(decode, &item->record);
        if (given.layout && !event_layout_fits(given.layout, item->record.data, item->record.size))
                given.layout = NULL;
        return exporter->record(state, &given);
}

int exporter_run(const Exporter *exporter,
                const ExporterInput *input,
                ExportSummary *ret,
                Reason *reason) {
        Trace *trace = input->trace;
        TraceItem item = {};
        void *state = NULL;

        int r = exporter->begin(input, &state, reason), failure = 0;
        while (r == 0) {
                failure = trace_next(trace, &item);
                if (failure < 0 || item.kind == TRACE_END)
                        break;
                r = exporter_take(exporter, state, trace->decode, &item, ret);
        }
        trace_report_damage(trace);
        /* Also the records before a failure of the file are written. */
        r = r ?: exporter->end(state, trace->missing);
        exporter->free(state);
        ret->n_lost = MAX_OF(ret->n_lost, stream_count_lost(&trace->stream));
        return r ?: failure;
}
