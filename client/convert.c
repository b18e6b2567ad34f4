/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ktracectl convert`: a recorded trace in another format. Owns the file that it writes: a new one
 * beside the wanted name, renamed when it is whole, so that a failure leaves what was there. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "export.h"
#include "input.h"
#include "verb.h"

enum {
        OPTION_TO = OPTION_VERB,
        OPTION_CPU,
};

/* Where the result goes; temporary is empty for what is written in place (a device, a pipe). */
typedef struct Target {
        const char *path;
        FILE *out;
        char temporary[4096];
} Target;

static int target_refuse(const Target *target, Reason *reason) {
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: cannot be written: %s",
                        target->path,
                        strerror(errno));
}

static int target_open(Target *target, Reason *reason) {
        mode_t mask;
        struct stat st;
        int fd, n;

        if (stat(target->path, &st) == 0 && !S_ISREG(st.st_mode)) {
                fd = open(target->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
                if (fd < 0)
                        return target_refuse(target, reason);
        } else {
                n = snprintf(target->temporary,
                                sizeof(target->temporary),
                                "%s.XXXXXX",
                                target->path);
                if (n >= (int)sizeof(target->temporary)) {
                        errno = ENAMETOOLONG;
                        target->temporary[0] = '\0';
                        return target_refuse(target, reason);
                }
                fd = mkostemp(target->temporary, O_CLOEXEC);
                if (fd < 0) {
                        target->temporary[0] = '\0';
                        return target_refuse(target, reason);
                }
                mask = umask(0);
                umask(mask);
                (void)fchmod(fd, 0666 & ~mask);
        }
        target->out = fdopen(fd, "w");
        if (!target->out) {
                close(fd);
                return -ENOMEM;
        }
        return 0;
}

static int target_close(Target *target, Reason *reason) {
        FILE *out = TAKE_PTR(target->out);

        if (fclose(out) != 0)
                return target_refuse(target, reason);
        if (target->temporary[0] != '\0' && rename(target->temporary, target->path) < 0)
                return target_refuse(target, reason);
        target->temporary[0] = '\0';
        return 0;
}

static void target_discard(Target *target) {
        if (target->out)
                fclose(target->out);
        if (target->temporary[0] != '\0')
                (void)unlink(target->temporary);
}

static int convert(Context *context,
                const char *in_path,
                ExportSource source,
                ExportFormat format,
                const char *out_path) {
        _cleanup_(target_discard) Target target = { .path = out_path };
        _cleanup_close_ int fd = -1;
        ExportSummary summary;
        Reason reason = { 0 };
        const char *name;
        bool is_stdout = strcmp(out_path, "-") == 0;
        int r;

        r = input_open(in_path, &fd, &name, &reason);
        source.fd = fd;
        source.name = name;
        if (r == 0 && !is_stdout)
                r = target_open(&target, &reason);
        if (r == 0)
                r = export_source(&source,
                                format,
                                is_stdout ? stdout : target.out,
                                &summary,
                                &reason);
        if (r == 0 && !is_stdout)
                r = target_close(&target, &reason);
        if (r != 0)
                return input_tell_failure(name, is_stdout ? stdout : target.out, r, &reason);
        return input_tell_summary(context, name, &summary);
}

static int run(Context *context, int argc, char **argv) {
        static const struct option options[] = {
                OPTIONS_GLOBAL,
                { "to", required_argument, NULL, OPTION_TO },
                { "cpu", required_argument, NULL, OPTION_CPU },
                { "output", required_argument, NULL, 'o' },
                {},
        };
        const char *to = NULL, *out_path = "-", *list = NULL;
        ExportSource source = {};
        Reason reason = {};
        CpuList cpus;
        ExportFormat format;
        int option, status;

        while ((option = options_next(context, argc, argv, "ho:q", options, &status)) >= 0) {
                if (option == OPTION_TO)
                        to = optarg;
                else if (option == OPTION_CPU)
                        list = optarg;
                else
                        out_path = optarg;
        }
        if (option == OPTIONS_EXIT)
                return status;
        if (argc - optind != 1)
                return tell_usage(context, "one FILE is wanted, '-' for standard input");
        if (!to && strcmp(out_path, "-") != 0 && export_format_from_suffix(out_path, &format) == 0)
                to = export_format_to_string(format);
        if (!to)
                return tell_usage(context, "--to is wanted, one of " EXPORT_FORMAT_NAMES);
        if (export_format_from_string(to, &format) < 0)
                return tell_usage(context,
                                "--to %s: no such format, there are " EXPORT_FORMAT_NAMES,
                                to);
        int r = list ? cpu_list_parse("--cpu", list, &cpus, &reason) : 0;
        if (r != 0)
                return tell_failure(r, &reason);
        source.cpus = list ? &cpus : NULL;
        return convert(context, argv[optind], source, format, out_path);
}

const Verb verb_convert = {
        .name = "convert",
        .arguments = "FILE --to FORMAT [-o OUT]",
        .summary = "write a recorded trace in another format",
        .help = "  --to FORMAT          dat (for trace-cmd and KernelShark), text, json (one object\n"
                "                       a line), kts; without it OUT's suffix decides. text-wall and\n"
                "                       dat-wall have times of day in place of the trace's clock\n"
                "  --cpu LIST           these CPUs alone, as 0-3,5: a file for each is made by as many\n"
                "                       calls; not for kts\n"
                "  -o, --output OUT     '-' or nothing: standard output; dat needs a regular file\n"
                "\n"
                "FILE is as for 'report'. OUT appears whole or not at all.\n",
        .run = run,
};
