/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ktracectl convert`: converts a recorded trace to another format. It publishes the output only
 * when it is complete. After a failure an older file stays unchanged. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "export/export.h"
#include "hosts/hosts-archive.h"
#include "hosts/hosts-convert.h"
#include "hosts/hosts-directory.h"
#include "recording/directory-target.h"
#include "recording/input.h"
#include "recording/isolation.h"
#include "recording/selection-options.h"
#include "recording/target.h"
#include "terminal/message.h"
#include "verbs/convert.h"
#include "verbs/verb.h"

enum {
        OPTION_TO = OPTION_VERB,
        OPTION_RAW,
        OPTION_COMPRESSION,
        OPTION_JOBS,
        OPTION_PERFETTO_COMPAT,
};

typedef struct ConvertWork {
        const Context *context;
        ExportSource source;
        ExportFormat format;
        Target *target; /* NULL: standard output */
        FILE *out;
} ConvertWork;

/* In the isolated process. A write error names the output, any other error the input. */
static int convert_work(void *argument) {
        const ConvertWork *work = argument;
        ExportSummary summary;
        Reason reason = {};

        int r = export_source(&work->source, work->format, work->out, &summary, &reason);
        if (r < 0 && work->target && ferror(work->out))
                r = target_refuse(work->target, -r, &reason);
        if (r != 0)
                return input_report_failure(
                                work->source.name, work->target ? NULL : stdout, r, &reason);
        return input_report_summary(work->context, work->source.name, &summary);
}

static int convert_to_file(ConvertWork *work, const char *path) {
        _cleanup_(target_free_cleanup) Target *target = NULL;
        _cleanup_fclose_ FILE *out = NULL;
        Reason reason = {};
        int status;

        /* Opening a FIFO waits for its reader; else the first data could be lost. */
        int r = target_open(path, O_WRONLY, &target, &reason);
        r = r ?: target_open_stdio(target, &out);
        if (r != 0)
                return input_report_failure(work->source.name, NULL, r, &reason);
        work->target = target;
        work->out = out;
        status = isolation_run(work->source.name, convert_work, work);
        if (status != KT_EXIT_OK && status != KT_EXIT_LOST)
                return status;
        if (fclose(TAKE_PTR(out)) != 0)
                r = target_refuse(target, errno, &reason);
        r = r ?: target_publish(target, &reason);
        return r == 0 ? status : input_report_failure(work->source.name, NULL, r, &reason);
}

/* The isolated process writes parts to the pipe, and this one appends them to the files. */
static int convert_move_parts(ConvertWork *work, DirectoryTarget *target, Reason *reason) {
        int pipe_fds[2], status;
        pid_t child;

        if (pipe2(pipe_fds, O_CLOEXEC) < 0)
                return reason_set(reason, KT_E_FAILED, "cannot make a pipe: %s", strerror(errno));
        _cleanup_close_ int from = pipe_fds[0];
        work->out = fdopen(pipe_fds[1], "w");
        status = isolation_start(work->source.name, convert_work, work, &child);
        (void)fclose(work->out); /* only the child writes */
        if (status != KT_EXIT_OK)
                return status;
        int r = directory_target_fill(target, from, reason);
        if (r == 0)
                return isolation_wait(work->source.name, child);
        isolation_stop(child);
        return input_report_failure(work->source.name, NULL, r, reason);
}

static int convert_to_directory(ConvertWork *work, const char *path) {
        _cleanup_(directory_target_free_cleanup) DirectoryTarget *target = NULL;
        Reason reason = {};
        int status;

        int r = directory_target_open(path, &target, &reason);
        if (r != 0)
                return input_report_failure(work->source.name, NULL, r, &reason);
        status = convert_move_parts(work, target, &reason);
        if (status != KT_EXIT_OK && status != KT_EXIT_LOST)
                return status;
        r = directory_target_publish(target, &reason);
        return r == 0 ? status : input_report_failure(work->source.name, NULL, r, &reason);
}

static int convert_source(ConvertWork *work, const char *out_path) {
        if (export_format_can(work->format, EXPORT_CAN_FILL))
                return convert_to_directory(work, out_path);
        if (strcmp(out_path, "-") != 0)
                return convert_to_file(work, out_path);
        work->out = stdout;
        return isolation_run(work->source.name, convert_work, work);
}

static int convert(ConvertWork *work, const char *in_path, const char *out_path) {
        _cleanup_close_ int fd = -1;
        Reason reason = {};

        int r = input_open(in_path, &fd, &work->source.name, &reason);
        if (r != 0)
                return input_report_failure(work->source.name, NULL, r, &reason);
        work->source.fd = fd;
        return convert_source(work, out_path);
}

static int convert_to_archive(const ConvertWork *work, const char *in_path, const char *out_path) {
        return hosts_archive(&(HostsArchiveOptions){ .context = work->context,
                        .path = in_path,
                        .out_path = out_path,
                        .selection = work->source.selection,
                        .is_compatible = work->source.is_compatible });
}

/* The recordings of several machines. */
static int convert_machines(const ConvertWork *work, const char *in_path, const char *out_path) {
        if (!export_format_can(work->format, EXPORT_CAN_MACHINES))
                return message_show_usage(work->context,
                                "%s: a directory of several machines can become %s: use one of "
                                "them, or name the file of one machine",
                                in_path,
                                export_format_list(EXPORT_CAN_MACHINES).text);
        if (work->format == EXPORT_PERFETTO)
                return convert_to_archive(work, in_path, out_path);
        if (strcmp(out_path, "-") == 0)
                return message_show_usage(work->context,
                                "%s of several machines is a directory of files: use -o DIRECTORY",
                                export_format_to_string(work->format));
        return hosts_convert(&(HostsConvertOptions){ .context = work->context,
                        .path = in_path,
                        .out_path = out_path,
                        .source = &work->source,
                        .format = work->format });
}

typedef struct ConvertOptions {
        const char *to, *out_path, *compression, *jobs;
        bool is_raw, is_compatible;
        SelectionOptions selection;
} ConvertOptions;

/* Returns OPTIONS_END, or OPTIONS_EXIT. */
static int convert_parse(Context *context,
                int argc,
                char **argv,
                ConvertOptions *o,
                int *ret_status) {
        static const struct option options[] = {
                OPTIONS_GLOBAL,
                { "to", required_argument, NULL, OPTION_TO },
                SELECTION_OPTIONS,
                { "raw", no_argument, NULL, OPTION_RAW },
                { "compression", required_argument, NULL, OPTION_COMPRESSION },
                { "jobs", required_argument, NULL, OPTION_JOBS },
                { "perfetto-compat", no_argument, NULL, OPTION_PERFETTO_COMPAT },
                { "output", required_argument, NULL, 'o' },
                {},
        };
        int option;

        while ((option = options_next(context, argc, argv, "ho:q", options, ret_status)) >= 0) {
                if (selection_options_take(&o->selection, option, optarg))
                        continue;
                if (option == OPTION_TO)
                        o->to = optarg;
                else if (option == OPTION_RAW)
                        o->is_raw = true;
                else if (option == OPTION_COMPRESSION)
                        o->compression = optarg;
                else if (option == OPTION_JOBS)
                        o->jobs = optarg;
                else if (option == OPTION_PERFETTO_COMPAT)
                        o->is_compatible = true;
                else
                        o->out_path = optarg;
        }
        return option;
}

static int convert_choose_format(const Context *context,
                const ConvertOptions *o,
                ExportFormat *ret,
                Reason *reason) {
        if (o->to && export_format_from_string(o->to, ret) == 0)
                return 0;
        if (o->to)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--to %s: no such format, there are %s",
                                o->to,
                                export_format_list(0).text);
        if (export_format_from_suffix(o->out_path, ret) == 0)
                return 0;
        if (context->json == JSON_OFF)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--to is missing: expected one of %s",
                                export_format_list(0).text);
        *ret = EXPORT_JSON;
        return 0;
}

/* Refuses an option that has no effect on the format. */
static int convert_check_options(const ConvertOptions *o, ExportFormat format, Reason *reason) {
        const struct {
                const char *name;
                bool is_used;
                ExportAbility ability;
        } options[] = {
                { "--compression", o->compression != NULL, EXPORT_CAN_COMPRESS },
                { "--raw", o->is_raw, EXPORT_CAN_RAW },
                { "--jobs", o->jobs != NULL, EXPORT_CAN_THREAD },
                { "--perfetto-compat", o->is_compatible, EXPORT_CAN_COMPATIBLE },
        };

        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                if (options[i].is_used && !export_format_can(format, options[i].ability))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s is for %s, not for %s",
                                        options[i].name,
                                        export_format_list(options[i].ability).text,
                                        export_format_to_string(format));
        if (export_format_can(format, EXPORT_CAN_FILL) && strcmp(o->out_path, "-") == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s is a directory of files: use -o DIRECTORY",
                                export_format_to_string(format));
        if (!o->compression || strcmp(o->compression, "zstd") == 0 ||
                        strcmp(o->compression, "none") == 0)
                return 0;
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "--compression %s: expected zstd or none",
                        o->compression);
}

int convert_opened(const Context *context,
                const Selection *selection,
                int fd,
                const char *name,
                const char *to,
                const char *out_path) {
        const ConvertOptions o = { .to = to, .out_path = out_path };
        ConvertWork work = {
                .context = context,
                .source = { .seal = isolation_seal, .fd = fd, .name = name, .selection = selection }
        };
        Reason reason = {};

        int r = convert_choose_format(context, &o, &work.format, &reason);
        r = r ?: convert_check_options(&o, work.format, &reason);
        r = r ?: input_parse_jobs(NULL, &work.source.n_jobs, &reason);
        return r == 0 ? convert_source(&work, out_path) : message_fail(r, &reason);
}

static int convert_run(Context *context, int argc, char **argv) {
        ConvertOptions o = { .out_path = "-" };
        ConvertWork work = { .context = context, .source.seal = isolation_seal };
        Reason reason = {};
        int status;

        if (convert_parse(context, argc, argv, &o, &status) != OPTIONS_END)
                return status;
        if (argc - optind != 1)
                return message_show_usage(context,
                                "expected one FILE or DIRECTORY, or '-' for standard input");
        int r = convert_choose_format(context, &o, &work.format, &reason);
        r = r ?: convert_check_options(&o, work.format, &reason);
        if (r != 0)
                return message_show_usage(context, "%s", reason.text);
        r = selection_options_finish(&o.selection, &reason);
        r = r ?: input_parse_jobs(o.jobs, &work.source.n_jobs, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        work.source.is_raw = o.is_raw;
        work.source.is_compatible = o.is_compatible;
        work.source.is_plain = o.compression && strcmp(o.compression, "none") == 0;
        work.source.selection = &o.selection.selection;
        if (hosts_is_directory(argv[optind]))
                return convert_machines(&work, argv[optind], o.out_path);
        return convert(&work, argv[optind], o.out_path);
}

static void convert_print_formats(FILE *out) {
        fprintf(out, "\nFormats:\n\n");
        for (ExportFormat f = 0; f < _EXPORT_FORMAT_N; f++)
                fprintf(out,
                                "  %-20s %s\n",
                                export_format_to_string(f),
                                export_format_get_summary(f));
}

const Verb verb_convert = {
        .name = "convert",
        .arguments = "FILE --to FORMAT [-o OUT]",
        .summary = "write a recorded trace in another format",
        .help = "  --to FORMAT          one of the formats below; default: by OUT's suffix\n" SELECTION_HELP
                "  --raw                as 'report --raw', for text\n"
                "  --jobs N             as 'report --jobs', for text and json\n"
                "  --perfetto-compat    perfetto for viewers older than v50\n"
                "  --compression HOW    of a dat: zstd (default; trace-cmd 3.0 and newer), or none\n"
                "  -o, --output OUT     '-' or nothing: standard output; dat needs a "
                "regular file,\n"
                "                       ctf a new or empty directory\n"
                "\n"
                "FILE is as for 'report'. OUT is written completely or not at all.\n"
                "With the DIRECTORY of a recording of several machines, perfetto is one archive of\n"
                "all machines; dat and html are a new or empty directory with a file of each.\n",
        .print_more = convert_print_formats,
        .at_home = "it reads recordings that are here: copy the file, or record with -H",
        .run = convert_run,
};
