/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ktracectl report`: a recorded trace as text on standard output. Owns nothing; asks nobody: the
 * file says all there is. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "export.h"
#include "input.h"
#include "verb.h"

static int run(Context *context, int argc, char **argv) {
        static const struct option options[] = { OPTIONS_GLOBAL, {} };
        _cleanup_close_ int fd = -1;
        ExportSummary summary;
        Reason reason = { 0 };
        const char *name;
        int option, status, r;

        option = options_next(context, argc, argv, "hq", options, &status);
        if (option != OPTIONS_END)
                return status;
        if (argc - optind != 1)
                return tell_usage(context, "one FILE is wanted, '-' for standard input");

        r = input_open(argv[optind], &fd, &name, &reason);
        if (r == 0)
                r = export_file(fd,
                                name,
                                context->json == JSON_OFF ? EXPORT_TEXT : EXPORT_JSON,
                                stdout,
                                &summary,
                                &reason);
        if (r != 0)
                return input_tell_failure(name, stdout, r, &reason);
        return input_tell_summary(context, name, &summary);
}

const Verb verb_report = {
        .name = "report",
        .arguments = "FILE",
        .summary = "print a recorded trace, in time order over all CPUs",
        .help = "FILE is a .kts stream or a trace.dat of trace-cmd (version 6, or 7 plain or packed\n"
                "with zstd), told apart by what is in it; '-' is standard input. With --json each\n"
                "line is one object.\n"
                "\n"
                "A stream that was cut is printed up to its last whole frame; what is missing is\n"
                "told and the exit status is 4.\n",
        .run = run,
};
