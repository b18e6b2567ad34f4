/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl hist: prints the histogram of a session as a table or JSON; also clears, pauses and
 * continues it. With an event instead of a session, it creates a session for the run
 * (hist-run.c). */

#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "call/proxy-session.h"
#include "recording/hist-run.h"
#include "terminal/hist-table.h"
#include "terminal/message.h"
#include "terminal/table.h"
#include "verbs/container-scope.h"
#include "verbs/verb.h"

#define WIDTH_DEFAULT 80

enum {
        OPTION_KEY = OPTION_SPEC_END,
        OPTION_VALUE,
        OPTION_SORT,
        OPTION_SIZE,
        OPTION_LATENCY,
        OPTION_BY,
        OPTION_BARS,
        OPTION_CLEAR,
        OPTION_PAUSE,
        OPTION_CONTINUE,
};

typedef struct HistJob {
        const Context *context;
        HistSpec hist;
        bool wants_bars;
        const char *verb; /* such as "hist-clear"; NULL: print it */
        bool is_of_new;
} HistJob;

static unsigned hist_get_width(void) {
        const char *columns = getenv("COLUMNS");
        struct winsize size;

        if (columns && atoi(columns) > 0)
                return (unsigned)atoi(columns);
        return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                               : WIDTH_DEFAULT;
}

static int hist_print_rows(json_object *rows, void *userdata) {
        const HistJob *job = userdata;
        _cleanup_json_ json_object *object = NULL;
        HistTableOptions options = {
                .has_bars = job->wants_bars || context_is_terminal(job->context),
                .is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
                .legend = job->context->legend,
                .width = hist_get_width(),
                .unit = job->hist.latency ? "us" : NULL,
                .weight = job->hist.latency ? HIST_SPEC_LATENCY : NULL,
                .hides_weight = job->hist.adds_total,
        };
        int r;

        /* The user did not choose the name of the probe's event, so the table shows the option
         * instead. */
        json_object *head = json_object_is_type(rows, json_type_array)
                                            ? json_object_array_get_idx(rows, 0)
                                            : NULL;
        if (job->hist.latency && json_object_is_type(head, json_type_object))
                (void)json_object_object_add(
                                head, "name", json_object_new_string(job->hist.latency));
        if (job->context->json == JSON_OFF)
                r = hist_table_print(stdout, rows, &options);
        else {
                r = hist_table_to_json(rows, &object);
                if (r == 0)
                        table_print_json(job->context, object);
        }
        if (r < 0)
                message_print("ktraced's answer cannot be read: %s", strerror(-r));
        return r;
}

static int hist_take(HistJob *job, int option, Reason *reason) {
        HistSpec *hist = &job->hist;

        job->is_of_new = job->is_of_new ||
                         (option != OPTION_BARS && option != OPTION_CLEAR &&
                                         option != OPTION_PAUSE && option != OPTION_CONTINUE);
        switch (option) {
        case 'e':
                if (hist->event)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "-e %.100s: one event is counted: for more make a session with triggers",
                                        optarg);
                hist->event = optarg;
                return 0;
        case 'f':
                hist->filter = optarg;
                return 0;
        case OPTION_KEY:
                return hist_words_add(&hist->keys, "--key", optarg, reason);
        case OPTION_VALUE:
                return hist_words_add(&hist->values, "--value", optarg, reason);
        case OPTION_SORT:
                return hist_words_add(&hist->sort, "--sort", optarg, reason);
        case OPTION_BY:
                return hist_words_add(&hist->by, "--by", optarg, reason);
        case OPTION_SIZE:
                hist->size = optarg;
                return 0;
        case OPTION_LATENCY:
                hist->latency = optarg;
                return 0;
        case OPTION_BARS:
                job->wants_bars = true;
                return 0;
        case OPTION_CLEAR:
        case OPTION_PAUSE:
        case OPTION_CONTINUE:
                if (job->verb)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "--clear, --pause and --continue exclude each other");
                job->verb = option == OPTION_CLEAR   ? "hist-clear"
                            : option == OPTION_PAUSE ? "hist-pause"
                                                     : "hist-continue";
                return 0;
        default:
                return spec_options_take(&hist->spec, option, optarg, reason);
        }
}

static int hist_parse_options(HistJob *job,
                Context *context,
                int argc,
                char **argv,
                int *ret_status) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                { "event", required_argument, NULL, 'e' },
                { "filter", required_argument, NULL, 'f' },
                { "all", no_argument, NULL, 'a' },
                { "pid", required_argument, NULL, 'p' },
                { "unit", required_argument, NULL, 'u' },
                { "buffer", required_argument, NULL, 'b' },
                { "scope", required_argument, NULL, OPTION_SCOPE },
                { "unredacted", no_argument, NULL, OPTION_UNREDACTED },
                { "key", required_argument, NULL, OPTION_KEY },
                { "value", required_argument, NULL, OPTION_VALUE },
                { "sort", required_argument, NULL, OPTION_SORT },
                { "size", required_argument, NULL, OPTION_SIZE },
                { "latency", required_argument, NULL, OPTION_LATENCY },
                { "by", required_argument, NULL, OPTION_BY },
                { "bars", no_argument, NULL, OPTION_BARS },
                { "clear", no_argument, NULL, OPTION_CLEAR },
                { "pause", no_argument, NULL, OPTION_PAUSE },
                { "continue", no_argument, NULL, OPTION_CONTINUE },
                {} };
        int option;

        while ((option = options_next(context, argc, argv, "hqe:f:ap:u:b:", options, ret_status)) >=
                        0) {
                Reason reason = {};
                int r = hist_take(job, option, &reason);

                if (r != 0) {
                        *ret_status = message_fail(r, &reason);
                        return OPTIONS_EXIT;
                }
        }
        return option;
}

/* Prints the histogram of an existing session. */
static int hist_show(HistJob *job, const Context *context, const char *session, const char *name) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_json_ json_object *rows = NULL;
        _cleanup_free_ char *id = NULL;
        Reason reason = {};

        int r = proxy_open(context->door, &proxy, &reason);
        r = r ?: proxy_resolve(proxy, session, &id, &reason);
        if (r == 0 && job->verb)
                r = proxy_configure(proxy, id, job->verb, json_object_new_string(name), &reason);
        else if (r == 0)
                r = proxy_get(proxy, id, "GetHistogram", name, &rows, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        return rows && hist_print_rows(rows, job) < 0 ? KT_EXIT_FAILED : KT_EXIT_OK;
}

static int hist_execute(HistJob *job, Context *context, int argc, char **argv) {
        bool is_new = job->hist.event || job->hist.latency;
        Reason reason = {};
        int status;

        if (!is_new && (job->is_of_new || context->container))
                return message_show_usage(
                                context, "no event to count: use -e EVENT, or --latency FROM..TO");
        if (!is_new)
                return options_count(context, argc, argv, 1, 2, &status) == OPTIONS_END
                                       ? hist_show(job,
                                                         context,
                                                         argv[optind],
                                                         optind + 1 < argc ? argv[optind + 1] : "")
                                       : status;
        if (job->verb)
                return message_show_usage(
                                context, "--clear, --pause and --continue are for a session's");
        int r = container_scope_take(&job->hist.spec, context, &reason);

        r = r ?: hist_spec_check(&job->hist, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        return hist_run(context,
                        &job->hist,
                        optind < argc ? argv + optind : NULL,
                        hist_print_rows,
                        job);
}

static int verb_run_hist(Context *context, int argc, char **argv) {
        HistJob job = { .context = context };
        int status;

        if (hist_parse_options(&job, context, argc, argv, &status) == OPTIONS_END)
                status = hist_execute(&job, context, argc, argv);
        hist_spec_done(&job.hist);
        return status;
}

const Verb verb_hist = {
        .name = "hist",
        .arguments = "SESSION [NAME] | -e EVENT --key FIELD... [-- CMD...]",
        .summary = "Show a histogram of a session, or count events until CMD ends or ^C",
        .help = "For a session that has triggers with 'do hist', NAME is the trigger's "
                "name or\n"
                "event. It can be left out if there is only one.\n"
                "      --clear | --pause | --continue   clear it, pause it, continue "
                "it\n"
                "\n"
                "Without SESSION, a temporary session counts:\n"
                "  -e, --event EVENT      the event to count\n"
                "      --key FIELD        count by up to three: FIELD, or FIELD with "
                ".log2,\n"
                "                         .buckets=N, .hex, .syscall, .execname (of "
                "common_pid),\n"
                "                         .sym, .sym-offset; or stacktrace\n"
                "      --value FIELD      a field to add up in each row; up to two\n"
                "      --sort FIELD       [.ascending|.descending]; up to two; default: "
                "most hits\n"
                "                         first; ranges in their order\n"
                "      --size N           rows, a power of two; default: 2048\n"
                "  -f, --filter EXPR      a filter for the event\n"
                "      --latency FROM..TO\n"
                "                         count the time between two events, in us, as "
                "ranges;\n"
                "                         with --key FIELD=FIELD, which is the same in "
                "both\n"
                "                         events\n"
                "      --by FIELD         a histogram for each value of FIELD of TO "
                "(or\n"
                "                         from.FIELD), the largest total time first; "
                "with the\n"
                "                         suffixes of a --key\n"
                "  -a, -p PID, -u UNIT, --scope SCOPE, -b KB, --unredacted\n"
                "                         as for 'record'; default: all processes for "
                "root, else\n"
                "                         your own\n"
                "      --bars             print bars even if the output is not a "
                "terminal\n"
                "\n"
                "Exit status: as for 'record'.\n",
        .traces = true,
        .run = verb_run_hist,
};
