/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Exports a recorded trace in another format. Called by report, convert and, at the end of a
 * recording, record. Owns the Trace during the export. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "export/export-dat-packed.h"
#include "export/export-dat.h"
#include "export/export.h"
#include "export/exporter.h"
#include "export/print-jobs.h"
#include "export/printer.h"
#include "export/wall-clock.h"
#include "interfaces/cleanup.h"
#include "trace/inner-search.h"
#include "trace/receipt.h"
#include "trace/selection.h"
#include "trace/trace.h"

#define COPY_SIZE ((size_t)256 * 1024)

/* Copies only whole frames: at worst the output is a cleanly cut stream. */
static int copy_stream(const Trace *trace, FILE *out) {
        _cleanup_free_ uint8_t *buffer = malloc(COPY_SIZE);
        uint64_t place = 0;

        if (!buffer)
                return -ENOMEM;
        while (place < trace->whole_size) {
                size_t n = (size_t)MIN_OF(trace->whole_size - place, (uint64_t)COPY_SIZE);
                int r = trace_read(trace, place, buffer, n);

                if (r <= 0)
                        return r < 0 ? r : -EIO;
                if (fwrite(buffer, 1, n, out) != n)
                        return errno > 0 ? -errno : -EIO;
                place += n;
        }
        return 0;
}

static int name_width(const Trace *trace) {
        size_t width = 0;

        for (size_t i = 0; trace->n_buffers > 1 && i < trace->n_buffers; i++)
                width = MAX_OF(width, strlen(trace->buffers[i].name));
        return (int)width;
}

/* Walks over the records in one thread. */
static int walk_items(Trace *trace, Printer *printer) {
        TraceItem item;
        int r;

        for (;;) {
                r = trace_next(trace, &item);
                if (r < 0 || item.kind == TRACE_END)
                        return r;
                if (item.kind == TRACE_LOSS)
                        r = printer_loss(printer, &item.record, item.lost, item.buffer->name);
                else
                        r = printer_record(printer, &item.record, item.buffer->name);
                if (r < 0)
                        return r;
        }
}

static int print_items(Trace *trace, Printer *printer, unsigned n_jobs) {
        _cleanup_(print_jobs_free_cleanup) PrintJobs *jobs = NULL;
        TraceItem item = { .kind = TRACE_LOSS };
        int r = print_jobs_new(printer, n_jobs, &jobs), failure = 0;

        while (r == 0 && failure == 0 && item.kind != TRACE_END) {
                failure = trace_next(trace, &item);
                if (failure < 0 || item.kind == TRACE_END)
                        break;
                r = item.kind == TRACE_LOSS
                                    ? print_jobs_loss(jobs,
                                                      &item.record,
                                                      item.lost,
                                                      item.buffer->name)
                                    : print_jobs_record(jobs, &item.record, item.buffer->name);
        }
        /* Also the lines before a failure of the file are written. */
        r = r ?: print_jobs_finish(jobs);
        return r ?: failure;
}

static int print_trace(Trace *trace,
                const ExportSource *source,
                ExportFormat format,
                FILE *out,
                ExportSummary *ret) {
        Printer printer;
        int r;

        printer_init(&printer, format, out, trace->decode);
        printer.is_escaped = printer.is_escaped && !source->is_raw;
        printer.has_names = source->has_names;
        printer.call_style = source->calls ?: &call_style_default;
        printer.name_width = name_width(trace);
        r = printer_begin(&printer);
        r = r ?: printer_flush(&printer);
        if (r == 0)
                r = export_format_can(format, EXPORT_CAN_THREAD)
                                    ? print_items(trace, &printer, source->n_jobs)
                                    : walk_items(trace, &printer);
        trace_report_damage(trace);
        if (r == 0)
                r = printer_end(&printer, &trace->stream, trace->missing);
        ret->n_events = printer.n_events;
        ret->n_slow = trace->decode->n_slow;
        decode_count_formats(trace->decode, &ret->n_compiled, &ret->n_others);
        ret->n_lost = MAX_OF(printer.n_lost, stream_count_lost(&trace->stream));
        printer_clear(&printer);
        return r;
}

static int export_dat(Trace *trace,
                const ExportSource *source,
                ExportFormat format,
                FILE *out,
                ExportSummary *ret,
                Reason *reason) {
        bool with_date = format == EXPORT_DAT_WALL;
        DatCounts counts = {};
        struct stat st;

        if (fstat(fileno(out), &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || fseeko(out, 0, SEEK_SET) < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "a trace.dat must be written to a regular file: use -o FILE");
        int r = source->is_plain ? dat_write_plain(trace, out, with_date, &counts)
                                 : dat_write_packed(trace, out, with_date, &counts);
        ret->n_events = counts.n_events;
        ret->n_lost = MAX_OF(counts.n_lost, stream_count_lost(&trace->stream));
        if (source->is_own) {
                trace->n_damaged = counts.n_damaged;
                trace_report_damage(trace);
        }
        return r;
}

/* Writes the trace in the format. A copy does not show damage in the records. So print_trace()
 * walks them afterwards, unless our own consumer has just written them. */
static int export_write(Trace *trace,
                const ExportSource *source,
                ExportFormat format,
                FILE *out,
                ExportSummary *ret,
                Reason *reason) {
        const Exporter *exporter = export_format_get_exporter(format);
        int r = 0;

        if (exporter)
                return exporter_run(exporter, &(ExporterInput){ trace, source, out }, ret, reason);
        if (format == EXPORT_KTS)
                r = copy_stream(trace, out);
        else if (export_format_is_dat(format)) {
                r = export_dat(trace, source, format, out, ret, reason);
                if (source->is_own)
                        return r;
                format = EXPORT_KTS;
        }
        /* For EXPORT_KTS it prints nothing. */
        return r ?: print_trace(trace, source, format, out, ret);
}

static int export_trace(Trace *trace,
                const ExportSource *source,
                ExportFormat format,
                FILE *out,
                ExportSummary *ret,
                Reason *reason) {
        int r;

        if (trace->is_dat && (export_format_is_dat(format) || format == EXPORT_KTS))
                return reason_set(reason,
                                KT_E_FAILED,
                                "a trace.dat can be made text or json, not %s",
                                export_format_to_string(format));
        r = format == EXPORT_TEXT_WALL || format == EXPORT_DAT_WALL
                            ? wall_clock_check(trace->decode, reason)
                            : 0;
        r = r ?: export_write(trace, source, format, out, ret, reason);
        if (r < 0 && ferror(out))
                return r; /* it is about the output, even if it is EFBIG */
        if (r == -EBADMSG)
                return reason_set(
                                reason, KT_E_FAILED, "packed data is damaged, or the file shrank");
        if (r == -E2BIG)
                return reason_set(reason,
                                KT_E_FAILED,
                                "its clock ran too unevenly: a trace.dat cannot say how");
        if (r == -EFBIG)
                return reason_set(reason,
                                KT_E_FAILED,
                                "damaged: its CPUs would need too much memory");
        if (r == 0 && fflush(out) != 0)
                r = -errno;
        return r;
}

/* Frames of a stream are copied as they are, also into a trace.dat. */
int export_check_selection(const Selection *selection, ExportFormat format, Reason *reason) {
        if (!selection)
                return 0;
        if (selection->cpus && !export_format_can(format, EXPORT_CAN_CHOOSE))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "a stream (kts) has all CPUs: choose some when it is shown or converted");
        if (selection_is_cut(selection) && !export_format_can(format, EXPORT_CAN_CUT))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s has all events of its CPUs: --from, --until, --last, --event and "
                                "--pid are for %s",
                                export_format_to_string(format),
                                export_format_list(EXPORT_CAN_CUT).text);
        return 0;
}

int export_source(const ExportSource *source,
                ExportFormat format,
                FILE *out,
                ExportSummary *ret,
                Reason *reason) {
        _cleanup_(trace_close_cleanup) Trace *trace = NULL;
        ExportSummary summary = { 0 };
        Reason why = { 0 };
        int r = export_check_selection(source->selection, format, reason);

        if (r != 0)
                return r;
        r = trace_open(source->fd, export_format_is_text(format), source->seal, &trace, &why);
        if (r == 0 && source->prepare)
                r = source->prepare(trace, source->userdata, &why);
        if (r == 0 && (format == EXPORT_TEXT || format == EXPORT_TEXT_WALL ||
                                      format == EXPORT_JSON))
                r = inner_search(trace);
        if (r == 0 && source->selection)
                r = selection_apply(source->selection, trace, &why);
        if (r == 0)
                r = export_trace(trace, source, format, out, &summary, &why);
        if (r > 0)
                return reason_set(reason, r, "%s: %s", source->name, why.text);
        if (r < 0)
                return r;

        summary.complete = trace->is_dat ? trace->missing[0] == '\0' : trace->stream.is_ended;
        memcpy(summary.missing, trace->missing, sizeof(summary.missing));
        memcpy(summary.end_code, trace->stream.end_code, sizeof(summary.end_code));
        memcpy(summary.end_reason, trace->stream.end_reason, sizeof(summary.end_reason));
        *ret = summary;
        return 0;
}

int export_file(int in_fd,
                const char *in_name,
                ExportFormat format,
                FILE *out,
                ExportSummary *ret,
                Reason *reason) {
        return export_source(
                        &(ExportSource){ .fd = in_fd, .name = in_name }, format, out, ret, reason);
}

int export_receipt(const ExportSource *source, json_object **ret, Reason *reason) {
        _cleanup_(trace_close_cleanup) Trace *trace = NULL;
        Reason why = { 0 };

        int r = trace_open(source->fd, false, source->seal, &trace, &why);
        if (r > 0)
                return reason_set(reason, r, "%s: %s", source->name, why.text);
        r = r ?: receipt_make(&trace->stream, true, ret);
        if (r == 0 && !*ret)
                return reason_set(reason, KT_E_FAILED, "%s: it has no receipt", source->name);
        return r;
}
