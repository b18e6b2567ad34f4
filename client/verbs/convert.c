/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ktracectl convert`: converts a recorded trace to another format. It publishes the output only
 * when it is complete. After a failure an older file stays unchanged. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "export/export.h"
#include "recording/input.h"
#include "recording/isolation.h"
#include "recording/target.h"
#include "terminal/message.h"
#include "verbs/verb.h"

enum {
        OPTION_TO = OPTION_VERB,
        OPTION_CPU,
        OPTION_RAW,
        OPTION_COMPRESSION,
        OPTION_JOBS,
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

static int convert(ConvertWork *work, const char *in_path, const char *out_path) {
        _cleanup_close_ int fd = -1;
        Reason reason = {};

        int r = input_open(in_path, &fd, &work->source.name, &reason);
        if (r != 0)
                return input_report_failure(work->source.name, NULL, r, &reason);
        work->source.fd = fd;
        if (strcmp(out_path, "-") != 0)
                return convert_to_file(work, out_path);
        work->out = stdout;
        return isolation_run(work->source.name, convert_work, work);
}

static int convert_run(Context *context, int argc, char **argv) {
        static const struct option options[] = {
                OPTIONS_GLOBAL,
                { "to", required_argument, NULL, OPTION_TO },
                { "cpu", required_argument, NULL, OPTION_CPU },
                { "raw", no_argument, NULL, OPTION_RAW },
                { "compression", required_argument, NULL, OPTION_COMPRESSION },
                { "jobs", required_argument, NULL, OPTION_JOBS },
                { "output", required_argument, NULL, 'o' },
                {},
        };
        const char *to = NULL, *out_path = "-", *list = NULL, *compression = NULL;
        const char *n_jobs = NULL;
        ExportSource source = { .seal = isolation_seal };
        Reason reason = {};
        CpuList cpus;
        ExportFormat format;
        int option, status;

        while ((option = options_next(context, argc, argv, "ho:q", options, &status)) >= 0) {
                if (option == OPTION_TO)
                        to = optarg;
                else if (option == OPTION_CPU)
                        list = optarg;
                else if (option == OPTION_RAW)
                        source.is_raw = true;
                else if (option == OPTION_COMPRESSION)
                        compression = optarg;
                else if (option == OPTION_JOBS)
                        n_jobs = optarg;
                else
                        out_path = optarg;
        }
        if (option == OPTIONS_EXIT)
                return status;
        if (argc - optind != 1)
                return message_show_usage(context, "expected one FILE, or '-' for standard input");
        if (!to && strcmp(out_path, "-") != 0 && export_format_from_suffix(out_path, &format) == 0)
                to = export_format_to_string(format);
        if (!to && context->json != JSON_OFF)
                to = export_format_to_string(EXPORT_JSON);
        if (!to)
                return message_show_usage(
                                context, "--to is missing: expected one of " EXPORT_FORMAT_NAMES);
        if (export_format_from_string(to, &format) < 0)
                return message_show_usage(context,
                                "--to %s: no such format, there are " EXPORT_FORMAT_NAMES,
                                to);
        if (compression && !export_format_is_dat(format))
                return message_show_usage(context, "--compression is for dat, not for %s", to);
        if (compression && strcmp(compression, "zstd") != 0 && strcmp(compression, "none") != 0)
                return message_show_usage(
                                context, "--compression %s: expected zstd or none", compression);
        source.is_plain = compression && strcmp(compression, "none") == 0;
        if (source.is_raw && !export_format_is_text(format))
                return message_show_usage(context, "--raw is for text, not for %s", to);
        if (n_jobs && !export_format_is_text(format) && format != EXPORT_JSON)
                return message_show_usage(context, "--jobs is for text and json, not for %s", to);
        int r = list ? cpu_list_parse("--cpu", list, &cpus, &reason) : 0;
        r = r ?: input_parse_jobs(n_jobs, &source.n_jobs, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        source.cpus = list ? &cpus : NULL;
        return convert(&(ConvertWork){ .context = context, .source = source, .format = format },
                        argv[optind],
                        out_path);
}

const Verb verb_convert = {
        .name = "convert",
        .arguments = "FILE --to FORMAT [-o OUT]",
        .summary = "write a recorded trace in another format",
        .help = "  --to FORMAT          dat (for trace-cmd and KernelShark), text, json "
                "(one\n"
                "                       object a line), kts; default: by OUT's suffix. "
                "text-wall\n"
                "                       and dat-wall have times of day instead of the "
                "trace's\n"
                "                       clock\n"
                "  --cpu LIST           only these CPUs, such as 0-3,5; not for kts\n"
                "  --raw                as 'report --raw', for text\n"
                "  --jobs N             as 'report --jobs', for text and json\n"
                "  --compression HOW    of a dat: zstd (default; trace-cmd 3.0 and newer), or none\n"
                "  -o, --output OUT     '-' or nothing: standard output; dat needs a "
                "regular file\n"
                "\n"
                "FILE is as for 'report'. OUT is written completely or not at all.\n",
        .run = convert_run,
};
