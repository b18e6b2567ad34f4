/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ktracectl report`: prints a recorded trace as text on standard output, or prints its receipt.
 * Reads only the file and never calls the daemon. Owns nothing. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "export/export.h"
#include "hosts/hosts-directory.h"
#include "hosts/hosts-report.h"
#include "recording/input.h"
#include "recording/isolation.h"
#include "recording/selection-options.h"
#include "terminal/message.h"
#include "terminal/table.h"
#include "verbs/report.h"
#include "verbs/verb.h"

enum {
        OPTION_RECEIPT = OPTION_VERB,
        OPTION_WALL,
        OPTION_RAW,
        OPTION_STATS,
        OPTION_JOBS,
        OPTION_NAMES,
};

static const char *report_text_of(json_object *object, const char *key) {
        return json_object_get_string(json_object_object_get(object, key)) ?: "?";
}

/* Prints text such as "prev_comm (member of prev_pid), next_comm (zero)". */
static void print_cuts(FILE *out, json_object *cuts) {
        size_t n = json_object_is_type(cuts, json_type_array) ? json_object_array_length(cuts) : 0;

        for (size_t i = 0; i < n; i++) {
                json_object *cut = json_object_array_get_idx(cuts, i);
                json_object *pid = json_object_object_get(cut, "pid");

                fprintf(out,
                                "%s%s (%s%s%s)",
                                i == 0 ? "" : ", ",
                                report_text_of(cut, "field"),
                                report_text_of(cut, "how"),
                                pid ? " of " : "",
                                pid ? json_object_get_string(pid) : "");
        }
}

/* Replaces an object by an array with one line of text for each member. */
static int report_make_lines(json_object *receipt,
                const char *key,
                void (*print)(FILE *out, json_object *value)) {
        json_object *from = json_object_object_get(receipt, key), *lines;

        if (!json_object_is_type(from, json_type_object))
                return 0;
        lines = json_object_new_array();
        json_object_object_foreach(from, name, value) {
                _cleanup_free_ char *line = NULL;
                size_t size = 0;
                FILE *out = open_memstream(&line, &size);

                if (!lines || !out)
                        break;
                fprintf(out, "%s: ", name);
                print(out, value);
                if (fclose(out) == 0 && line)
                        (void)json_object_array_add(lines, json_object_new_string(line));
        }
        if (lines && json_object_object_add(receipt, key, lines) == 0)
                return 0;
        json_object_put(lines);
        return -ENOMEM;
}

static void print_plain(FILE *out, json_object *value) {
        fputs(json_object_get_string(value) ?: "", out);
}

static void print_also_of(FILE *out, json_object *value) {
        fprintf(out,
                        "if %s is a traced task, without what describes the others",
                        json_object_get_string(value) ?: "?");
}

static int report_print_receipt(const Context *context, json_object *receipt) {
        static const TableColumn columns[] = {
                { "uid", "Requester", false },
                { "container", "From container", false },
                { "rule", "Policy rule", false },
                { "policy-sha256", "Rules' SHA-256", false },
                { "session", "Session", false },
                { "kernel-command-line", "Begun by", false },
                { "spec", "Asked for", false },
                { "filters", "Filters", false },
                { "fenced", "Own processes only", false },
                { "sinks", "Data could go to", false },
                { "addresses", "Kernel addresses", false },
                { "redactions", "Hidden fields", false },
                { "also-of", "Records by others", false },
                { "machine", "Machine", false },
                { "kernel", "Kernel", false },
                { "kernel-build-id", "Kernel build id", false },
                { "clock", "Clock there", false },
                { "statistics", "Counts", false },
                { "end", "End", false },
        };

        if (context->json != JSON_OFF) {
                table_print_json(context, receipt);
                return 0;
        }
        int r = report_make_lines(receipt, "redactions", print_cuts);
        r = r ?: report_make_lines(receipt, "also-of", print_also_of);
        r = r ?: report_make_lines(receipt, "filters", print_plain);
        r = r ?: report_make_lines(receipt, "spec", print_plain);
        r = r ?: report_make_lines(receipt, "statistics", print_plain);
        r = r ?: report_make_lines(receipt, "clock", print_plain);
        r = r ?: report_make_lines(receipt, "session", print_plain);
        r = r ?: report_make_lines(receipt, "end", print_plain);
        if (r == 0)
                table_print_object(receipt, columns, ELEMENTSOF(columns));
        return r;
}

static int report_receipt(const Context *context, const ExportSource *source) {
        _cleanup_json_ json_object *receipt = NULL;
        Reason reason = { 0 };

        int r = export_receipt(source, &receipt, &reason);
        r = r ?: report_print_receipt(context, receipt);
        return r == 0 ? KT_EXIT_OK : input_report_failure(source->name, stdout, r, &reason);
}

/* libtraceevent runs the rare print formats, ten times slower. */
static void report_stats(const char *name, const ExportSummary *summary) {
        message_print("%s: %" PRIu64
                      " events; compiled print formats: %u; run by libtraceevent: %u, "
                      "for %" PRIu64 " events",
                        name,
                        summary->n_events,
                        summary->n_compiled,
                        summary->n_others,
                        summary->n_slow);
}

typedef struct ReportWork {
        const Context *context;
        ExportSource source;
        ExportFormat format;
        bool wants_receipt, wants_stats;
} ReportWork;

/* In the isolated process. */
static int report_work(void *argument) {
        const ReportWork *work = argument;
        ExportSummary summary;
        Reason reason = { 0 };

        if (work->wants_receipt)
                return report_receipt(work->context, &work->source);
        int r = export_source(&work->source, work->format, stdout, &summary, &reason);
        if (r != 0)
                return input_report_failure(work->source.name, stdout, r, &reason);
        if (summary.n_events == 0 && work->source.selection->may_be_empty && !work->context->quiet)
                message_print("%s: no such event in this time", work->source.name);
        if (work->wants_stats)
                report_stats(work->source.name, &summary);
        return input_report_summary(work->context, work->source.name, &summary);
}

/* Scripts get the kernel's own text, people at a terminal get names. */
static int report_choose_names(const char *when, bool is_raw, bool *ret, Reason *reason) {
        bool is_always = strcmp(when, "always") == 0, is_auto = strcmp(when, "auto") == 0;

        if (!is_always && !is_auto && strcmp(when, "never") != 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--names: expected auto, always or never, got \"%s\"",
                                when);
        if (is_always && is_raw)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--names always, --raw: expected one of them, --raw has no names");
        *ret = is_always || (is_auto && !is_raw && isatty(STDOUT_FILENO));
        return 0;
}

typedef struct ReportOptions {
        const char *jobs, *names;
        bool is_raw, is_wall, wants_receipt, wants_stats;
        SelectionOptions selection;
} ReportOptions;

/* Returns OPTIONS_END, or OPTIONS_EXIT. */
static int report_parse(Context *context,
                int argc,
                char **argv,
                ReportOptions *o,
                int *ret_status) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                SELECTION_OPTIONS,
                { "receipt", no_argument, NULL, OPTION_RECEIPT },
                { "wall", no_argument, NULL, OPTION_WALL },
                { "raw", no_argument, NULL, OPTION_RAW },
                { "stats", no_argument, NULL, OPTION_STATS },
                { "jobs", required_argument, NULL, OPTION_JOBS },
                { "names", required_argument, NULL, OPTION_NAMES },
                {} };
        int option;

        while ((option = options_next(context, argc, argv, "hq", options, ret_status)) >= 0) {
                if (selection_options_take(&o->selection, option, optarg))
                        continue;
                if (option == OPTION_WALL)
                        o->is_wall = true;
                else if (option == OPTION_RAW)
                        o->is_raw = true;
                else if (option == OPTION_JOBS)
                        o->jobs = optarg;
                else if (option == OPTION_NAMES)
                        o->names = optarg;
                else if (option == OPTION_STATS)
                        o->wants_stats = true;
                else
                        o->wants_receipt = true;
        }
        return option;
}

/* The recordings of several machines. */
static int report_directory(const ReportOptions *o,
                const ReportWork *work,
                const char *path,
                int n_paths) {
        const char *option = o->wants_receipt ? "--receipt"
                             : o->wants_stats ? "--stats"
                             : o->jobs        ? "--jobs"
                                              : NULL;

        if (n_paths != 1)
                return message_show_usage(work->context,
                                "%s: it is a directory: expected it alone, without other files",
                                path);
        if (option)
                return message_show_usage(work->context,
                                "%s: %s is for one machine: name its file in the directory",
                                path,
                                option);
        return hosts_report(&(HostsReportOptions){ .context = work->context,
                        .path = path,
                        .format = work->format,
                        .selection = &o->selection.selection,
                        .has_names = work->source.has_names,
                        .is_raw = o->is_raw });
}

int report_opened(const Context *context, const Selection *selection, int fd, const char *name) {
        ReportWork work = { .context = context,
                .source = { .seal = isolation_seal,
                                .fd = fd,
                                .name = name,
                                .selection = selection },
                .format = context->json != JSON_OFF ? EXPORT_JSON : EXPORT_TEXT };
        Reason reason = {};

        int r = report_choose_names("auto", false, &work.source.has_names, &reason);
        r = r ?: input_parse_jobs(NULL, &work.source.n_jobs, &reason);
        return r == 0 ? isolation_run(name, report_work, &work) : message_fail(r, &reason);
}

static int report_run(Context *context, int argc, char **argv) {
        ReportOptions o = { .names = "auto" };
        ReportWork work = { .context = context, .source.seal = isolation_seal };
        _cleanup_close_ int fd = -1;
        Reason reason = { 0 };
        int status, r;

        if (report_parse(context, argc, argv, &o, &status) != OPTIONS_END)
                return status;
        if (argc - optind < 1)
                return message_show_usage(context, "expected a FILE, or '-' for standard input");

        r = report_choose_names(o.names, o.is_raw, &work.source.has_names, &reason);
        r = r ?: selection_options_finish(&o.selection, &reason);
        r = r ?: input_parse_jobs(o.jobs, &work.source.n_jobs, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        work.format = context->json != JSON_OFF ? EXPORT_JSON
                      : o.is_wall               ? EXPORT_TEXT_WALL
                                                : EXPORT_TEXT;
        if (hosts_is_directory(argv[optind]))
                return report_directory(&o, &work, argv[optind], argc - optind);
        r = input_open_all(argv + optind, argc - optind, &fd, &work.source.name, &reason);
        if (r != 0)
                return input_report_failure(work.source.name, NULL, r, &reason);
        work.source.fd = fd;
        work.source.is_raw = o.is_raw;
        work.source.selection = &o.selection.selection;
        work.wants_receipt = o.wants_receipt;
        work.wants_stats = o.wants_stats;
        return isolation_run(work.source.name, report_work, &work);
}

const Verb verb_report = {
        .name = "report",
        .arguments = "FILE...|DIRECTORY",
        .summary = "print a recorded trace, in time order over all CPUs",
        .help = "FILE is a .kts stream or a trace.dat of trace-cmd (version 6, or "
                "version 7 plain\n"
                "or packed with zstd); '-' is standard input. With --json each line is "
                "one\n"
                "object. DIRECTORY is a recording of several machines: their events are\n"
                "printed on one time line, each line with its machine, and with '~' when "
                "it may have\n"
                "been before an earlier line of another machine.\n"
                "\n"
                "  --wall               times of day (UTC) instead of the trace's "
                "clock; with\n"
                "                       --json in addition to it, if the clock allows "
                "it\n" SELECTION_HELP
                "  --raw                print texts of traced programs unchanged, as "
                "trace-cmd\n"
                "                       does; default: control characters and bytes "
                "that are not\n"
                "                       UTF-8 are printed as \\xNN\n"
                "  --jobs N             print with N threads, 1 to 64; default: one for each CPU\n"
                "  --names WHEN         print names of system calls, flags, errors and "
                "signals:\n"
                "                       always, never, or auto (on a terminal only; "
                "default)\n"
                "  --stats              also print, on standard error, how many print formats "
                "were\n"
                "                       compiled and how many libtraceevent ran, which is "
                "slower\n"
                "  --receipt            print who recorded it, which rule allowed it, "
                "what was\n"
                "                       left out and lost, and which kernel wrote it, "
                "instead of\n"
                "                       events\n"
                "\n"
                "A stream that was cut is printed up to its last whole frame. The "
                "missing part is\n"
                "reported, and the exit status is 4.\n",
        .at_home = "it reads recordings that are here: copy the file, or record with -H",
        .run = report_run,
};
