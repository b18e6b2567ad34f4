/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints a stream while it arrives, or copies it. Called by record and stream with the data of a
 * pipe. live-trace.c reads the records. */

#include "export/export-live.h"

#include <errno.h>
#include <string.h>

#include "export/export.h"
#include "export/printer.h"
#include "export/wall-clock.h"
#include "interfaces/cleanup.h"
#include "trace/live-trace.h"
#include "trace/selection.h"

struct LiveExport {
        ExportFormat format;
        FILE *out;
        const CpuList *cpus;         /* NULL: all */
        const CallStyle *call_style; /* NULL: the default */
        bool has_names;
        FILE *spool; /* EXPORT_DAT: holds the whole stream for the end */
        LiveTrace *trace;
        Printer printer;
        bool prints; /* the formats are known */
};

static int on_begin(Decode *decode, void *userdata, Reason *reason) {
        LiveExport *live = userdata;

        int r = live->format == EXPORT_TEXT_WALL ? wall_clock_check(decode, reason) : 0;
        if (r != 0)
                return r;
        printer_init(&live->printer, live->format, live->out, decode);
        live->printer.has_names = live->has_names;
        live->printer.call_style = live->call_style ?: &call_style_default;
        live->prints = true;
        return printer_begin(&live->printer);
}

static int on_record(const Record *record, void *userdata) {
        LiveExport *live = userdata;

        return printer_record(&live->printer, record, "");
}

static int on_loss(const Record *at, int64_t lost, void *userdata) {
        LiveExport *live = userdata;

        return printer_loss(&live->printer, at, lost, "");
}

static int on_late(uint32_t cpu, void *userdata) {
        LiveExport *live = userdata;

        return printer_late(&live->printer, cpu);
}

static int on_pause(void *userdata) {
        LiveExport *live = userdata;

        return printer_flush(&live->printer);
}

static const LiveReader live_printer = { on_begin, on_record, on_loss, on_late, on_pause };

static bool is_printed(ExportFormat format) {
        return export_format_is_text(format) || format == EXPORT_JSON || format == EXPORT_CALLS;
}

int live_export_new(ExportFormat format, FILE *out, LiveExport **ret) {
        _cleanup_(live_export_free_cleanup) LiveExport *live = calloc(1, sizeof(*live));

        if (!live)
                return -ENOMEM;
        live->format = format;
        live->out = out;
        if (export_format_is_dat(format) && !(live->spool = tmpfile()))
                return -errno;
        int r = live_trace_new(is_printed(format) ? &live_printer : NULL,
                        live,
                        export_format_is_text(format),
                        &live->trace);
        if (r == 0)
                *ret = TAKE_PTR(live);
        return r;
}

LiveExport *live_export_free(LiveExport *live) {
        if (!live)
                return NULL;
        printer_clear(&live->printer);
        live_trace_free(live->trace);
        if (live->spool)
                fclose(live->spool);
        free(live);
        return NULL;
}

int live_export_feed(LiveExport *live, const uint8_t *data, size_t size, Reason *reason) {
        FILE *copy = live->spool ? live->spool : live->format == EXPORT_KTS ? live->out : NULL;

        /* A copy ends before the bytes that cannot be read. */
        if (copy && live_trace_get_missing(live->trace)[0] == '\0' &&
                        fwrite(data, 1, size, copy) != size)
                return errno > 0 ? -errno : -EIO;
        return live_trace_feed(live->trace, data, size, reason);
}

int live_export_flush(LiveExport *live) {
        int r = live_trace_flush(live->trace);

        if (r < 0)
                return r;
        return fflush(live->out) != 0 ? -errno : 0;
}

void live_export_set_cpus(LiveExport *live, const CpuList *cpus) {
        live->cpus = cpus;
        live_trace_set_cpus(live->trace, cpus);
}

void live_export_set_names(LiveExport *live, bool has_names) {
        live->has_names = has_names;
}

void live_export_set_calls(LiveExport *live, const CallStyle *style) {
        live->call_style = style;
}

static int finish_dat(LiveExport *live, ExportSummary *ret, Reason *reason) {
        if (fflush(live->spool) != 0)
                return -errno;
        return export_source(&(ExportSource){ .fd = fileno(live->spool),
                                             .name = "the stream",
                                             .selection = &(Selection){ .cpus = live->cpus } },
                        live->format,
                        live->out,
                        ret,
                        reason);
}

int live_export_finish(LiveExport *live, ExportSummary *ret, Reason *reason) {
        const Stream *stream = live_trace_get_stream(live->trace);
        const char *missing;
        ExportSummary summary = { .complete = stream->is_ended };

        if (live->spool)
                return finish_dat(live, ret, reason);
        int r = live_trace_finish(live->trace);
        if (r < 0)
                return r;
        missing = live_trace_get_missing(live->trace);
        r = live->prints ? printer_end(&live->printer, stream, missing) : 0;
        if (r < 0)
                return r;
        if (fflush(live->out) != 0)
                return -errno;

        live_trace_count(live->trace, &summary.n_events, &summary.n_lost);
        summary.n_lost = MAX_OF(summary.n_lost, stream_count_lost(stream));
        memcpy(summary.missing, missing, sizeof(summary.missing));
        memcpy(summary.end_code, stream->end_code, sizeof(summary.end_code));
        memcpy(summary.end_reason, stream->end_reason, sizeof(summary.end_reason));
        *ret = summary;
        return 0;
}

void live_export_count(const LiveExport *live, uint64_t *ret_events, uint64_t *ret_lost) {
        live_trace_count(live->trace, ret_events, ret_lost);
}
