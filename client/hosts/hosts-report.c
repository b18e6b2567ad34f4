/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ktracectl report DIRECTORY`: prints the events of all machines of a recording on one time line.
 * Each line begins with its machine, and with '~' when it may have been before an earlier line of
 * another machine. What a machine lacks is reported after the events. A machine whose file cannot
 * be read is left out.
 *
 * The manifest is read here, and the recordings in an isolated process. Texts of both may be
 * hostile. Owns the manifest, the traces and a printer for each. */

#include "hosts/hosts-report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "export/printer.h"
#include "hosts/file-limit.h"
#include "hosts/hosts-directory.h"
#include "hosts/hosts-trace.h"
#include "recording/input.h"
#include "recording/isolation.h"
#include "terminal/message.h"
#include "trace/json-string.h"

/* Machines that start together do so within milliseconds. */
#define HOSTS_REPORT_LATE_NSEC INT64_C(100000000)

typedef struct HostsReport {
        const HostsReportOptions *options;
        Manifest *manifest;
        HostsTrace *trace;
        Printer *printers; /* of each lane */
        TextBlock lead;
        int name_width;
} HostsReport;

static void hosts_report_done(HostsReport *report) {
        for (size_t i = 0; report->printers && i < hosts_trace_get_n_lanes(report->trace); i++)
                printer_clear(&report->printers[i]);
        free(report->printers);
        text_block_clear(&report->lead);
        hosts_trace_free(report->trace);
        manifest_free(report->manifest);
}

static const ManifestMachine *hosts_report_get_machine(const HostsReport *report,
                const HostsLane *lane) {
        return &report->manifest->machines[lane->machine];
}

static int64_t hosts_report_to_usec(int64_t nsec) {
        return nsec / 1000 + (nsec % 1000 > 0);
}

static void hosts_report_print_clock(const HostsLane *lane) {
        const ClockTrack *track = lane->clock.track;
        int64_t largest = clock_track_get_largest_bound(track, lane->clock.kind);

        printf(", clock +-%" PRId64 " us at the start, +-%" PRId64 " us at the end, +-%" PRId64
               " us at most",
                        hosts_report_to_usec(track->points[0].bound),
                        hosts_report_to_usec(track->points[track->n - 1].bound),
                        hosts_report_to_usec(largest));
}

/* A line before the events. lane: NULL if the machine has no events here. */
static void hosts_report_print_machine(const Manifest *manifest,
                const ManifestMachine *machine,
                const HostsLane *lane) {
        int64_t late = machine->started - manifest->start;

        printf("# %s: %s", machine->host, machine->state);
        if (lane)
                printf(", %" PRIu64 " events", machine->n_events);
        if (manifest->start > 0 && late >= HOSTS_REPORT_LATE_NSEC)
                printf(", started %" PRId64 ".%" PRId64 " s late",
                                late / 1000000000,
                                late / 100000000 % 10);
        if (lane && lane->clock.track)
                hosts_report_print_clock(lane);
        printf("\n");
}

static void hosts_report_print_machines(const HostsReport *report) {
        size_t n_lanes = hosts_trace_get_n_lanes(report->trace);

        if (report->options->format == EXPORT_JSON || report->options->context->quiet)
                return;
        for (size_t i = 0, j = 0; i < report->manifest->n_machines; i++) {
                const HostsLane *lane = j < n_lanes ? hosts_trace_get_lane(report->trace, j) : NULL;
                bool is_its_own = lane && lane->machine == i;

                hosts_report_print_machine(report->manifest,
                                &report->manifest->machines[i],
                                is_its_own ? lane : NULL);
                j += is_its_own;
        }
}

static void hosts_report_make_lead(HostsReport *report, const HostsItem *item) {
        const ManifestMachine *machine = hosts_report_get_machine(report, item->lane);
        TextBlock *lead = &report->lead;

        lead->used = 0;
        if (report->options->format != EXPORT_JSON) {
                text_block_add_format(lead,
                                "%-*s%s ",
                                report->name_width,
                                machine->host,
                                item->is_uncertain ? " ~" : "  ");
        } else {
                text_block_add_format(lead, "\"machine\":");
                json_string_add(lead, machine->host, strlen(machine->host));
                text_block_add_format(lead, ",\"bound\":%" PRId64 ",", item->bound);
                if (item->is_uncertain)
                        text_block_add_format(lead, "\"uncertain\":true,");
        }
        text_block_add_char(lead, '\0');
}

/* Each line is written at once, because another printer has the next one. */
static int hosts_report_print(HostsReport *report, const HostsItem *item) {
        HostsLane *lane = item->lane;
        Printer *printer = &report->printers[lane - hosts_trace_get_lane(report->trace, 0)];
        const Record *record = &lane->item.record;
        int r;

        hosts_report_make_lead(report, item);
        printer->lead = report->lead.data;
        if (!printer->lead)
                return -ENOMEM;
        r = lane->item.kind == TRACE_LOSS
                            ? printer_loss(printer,
                                              record,
                                              lane->item.lost,
                                              lane->item.buffer->name)
                            : printer_record(printer, record, lane->item.buffer->name);
        return r ?: printer_flush(printer);
}

static int hosts_report_prepare(HostsReport *report, Reason *reason) {
        const HostsReportOptions *options = report->options;
        size_t n = hosts_trace_get_n_lanes(report->trace);
        int r;

        report->printers = calloc(MAX_OF(n, (size_t)1), sizeof(*report->printers));
        if (!report->printers)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                HostsLane *lane = hosts_trace_get_lane(report->trace, i);
                Printer *printer = &report->printers[i];

                if (lane->is_done)
                        continue;
                printer_init(printer, options->format, stdout, lane->trace->decode);
                printer->is_escaped = printer->is_escaped && !options->is_raw;
                printer->has_names = options->has_names;
        }
        r = hosts_trace_select(report->trace, options->selection, reason);
        if (r == 0)
                hosts_report_print_machines(report);
        return r;
}

static bool hosts_report_is_lane_whole(const HostsReport *report, const HostsLane *lane) {
        if (lane->failure.text[0]) {
                message_print("%s", lane->failure.text);
                return false;
        }
        trace_report_damage(lane->trace);
        if (!lane->trace->missing[0])
                return true;
        message_print("%s: %s", hosts_report_get_machine(report, lane)->file, lane->trace->missing);
        return false;
}

/* Says what the files lack. Returns an exit status. */
static int hosts_report_check_files(const HostsReport *report) {
        int status = KT_EXIT_OK;

        for (size_t i = 0; i < hosts_trace_get_n_lanes(report->trace); i++)
                if (!hosts_report_is_lane_whole(report, hosts_trace_get_lane(report->trace, i)))
                        status = KT_EXIT_LOST;
        return hosts_trace_has_failed(report->trace) ? KT_EXIT_FAILED : status;
}

static int hosts_report_print_all(HostsReport *report, Reason *reason) {
        HostsItem item;
        int r = hosts_report_prepare(report, reason);

        while (r == 0 && hosts_trace_next(report->trace, &item))
                r = hosts_report_print(report, &item);
        return r == 0 && fflush(stdout) != 0 ? -errno : r;
}

/* In the isolated process. */
static int hosts_report_work(void *argument) {
        HostsReport *report = argument;
        Reason reason = {};
        int r = isolation_seal(&reason), status, files;

        if (r != 0)
                return input_report_failure(report->options->path, NULL, r, &reason);
        hosts_trace_load(report->trace);
        r = hosts_report_print_all(report, &reason);
        files = hosts_report_check_files(report);
        if (r != 0)
                return input_report_failure(report->options->path, stdout, r, &reason);
        status = hosts_directory_report(report->manifest, report->options->context);
        return files != KT_EXIT_OK ? files : status;
}

/* Two files of each machine: its recording, and the symbols of the kernel, see trace_prepare(). */
static int hosts_report_open(HostsReport *report, Reason *reason) {
        _cleanup_close_ int fd = -1;
        int r = hosts_directory_open(report->options->path, &fd, &report->manifest, reason);

        for (size_t i = 0; r == 0 && i < report->manifest->n_machines; i++)
                report->name_width = MAX_OF(report->name_width,
                                (int)strlen(report->manifest->machines[i].host));
        if (r == 0)
                r = file_limit_raise(report->manifest->n_machines * 2,
                                report->manifest->n_machines,
                                reason);
        return r
                               ?: hosts_trace_open(fd,
                                                  report->manifest,
                                                  report->options->format != EXPORT_JSON,
                                                  &report->trace);
}

int hosts_report(const HostsReportOptions *options) {
        HostsReport report = { .options = options };
        Reason reason = {};
        int r = hosts_report_open(&report, &reason), status;

        if (r == 0)
                status = isolation_run(options->path, hosts_report_work, &report);
        else
                status = input_report_failure(options->path, NULL, r, &reason);
        hosts_report_done(&report);
        return status;
}
