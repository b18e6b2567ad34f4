/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl last: what the machine did just before now, from the black box (blackbox.c). Takes a
 * snapshot into a file without a name, and gives it to report, convert or summary, with the time
 * and the threads as their selection. The black box continues, and loses no record. With -H all of
 * this happens on the host, and its output is printed here. */

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "interfaces/descriptor.h"
#include "recording/input.h"
#include "terminal/message.h"
#include "verbs/convert.h"
#include "verbs/last-tasks.h"
#include "verbs/report.h"
#include "verbs/summary.h"
#include "verbs/verb.h"

#define SINCE_DEFAULT "30s"
#define NSEC_PER_SEC  UINT64_C(1000000000)

enum {
        OPTION_SINCE = OPTION_VERB,
        OPTION_TO,
};

typedef struct LastOptions {
        const char *since, *pids, *unit, *to, *out_path;
        bool is_summary;
} LastOptions;

/* A file of sub-buffers has all of them: nothing can be left out. */
static bool last_is_whole(const LastOptions *o) {
        ExportFormat format;

        if (o->to ? export_format_from_string(o->to, &format) != 0
                  : !o->out_path || export_format_from_suffix(o->out_path, &format) != 0)
                return false; /* an unknown one is refused later */
        return !export_format_can(format, EXPORT_CAN_CUT);
}

/* An unknown format is refused later. */
static bool last_needs_file(const char *to) {
        ExportFormat format;

        return export_format_from_string(to, &format) == 0 &&
               (format == EXPORT_DAT || format == EXPORT_DAT_WALL ||
                               export_format_can(format, EXPORT_CAN_FILL));
}

/* Returns NULL, or what is wrong. */
static const char *last_check_hosts(const LastOptions *o, const Context *context) {
        if (o->out_path && (context->host || context->far))
                return "-H: -o would write on that machine: use --to FORMAT and '> FILE'";
        if (o->to && context_has_many_hosts(context))
                return "-H: --to writes one output: expected one machine";
        if (o->to && (context->host || context->far) && last_needs_file(o->to))
                return "-H: --to: this format cannot be sent from a host: use '--to kts > "
                       "FILE.kts', and 'ktracectl convert' here";
        return NULL;
}

static int last_check(LastOptions *o, const Context *context, int argc, char **argv, int *ret) {
        int n = argc - optind;
        const char *text = NULL;

        o->is_summary = n == 1 && strcmp(argv[optind], "summary") == 0;
        if (n > 1 || (n == 1 && !o->is_summary))
                text = "expected nothing more, or the word summary";
        else if (o->pids && o->unit)
                text = "--pid and --unit: expected one of them";
        else if (last_is_whole(o) && (o->since || o->pids || o->unit))
                text = "dat and kts have the whole black box: leave out --since, --pid and --unit, "
                       "or use another format";
        else if (o->is_summary && (o->to || o->out_path))
                text = "summary is only printed: leave out --to and -o";
        else
                text = last_check_hosts(o, context);
        if (!text)
                return OPTIONS_END;
        *ret = message_show_usage(context, "%s", text);
        return OPTIONS_EXIT;
}

static int last_parse(LastOptions *o, Context *context, int argc, char **argv, int *ret_status) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                { "since", required_argument, NULL, OPTION_SINCE },
                { "pid", required_argument, NULL, 'p' },
                { "unit", required_argument, NULL, 'u' },
                { "to", required_argument, NULL, OPTION_TO },
                { "output", required_argument, NULL, 'o' },
                {} };
        int option;

        while ((option = options_next(context, argc, argv, "ho:p:qu:", options, ret_status)) >= 0)
                if (option == OPTION_SINCE)
                        o->since = optarg;
                else if (option == OPTION_TO)
                        o->to = optarg;
                else
                        *(option == 'p'                 ? &o->pids
                                        : option == 'u' ? &o->unit
                                                        : &o->out_path) = optarg;
        return option == OPTIONS_END ? last_check(o, context, argc, argv, ret_status) : option;
}

/* The black box has the clock mono, which the presets do not change. */
static int last_select_time(Selection *selection, const LastOptions *o, Reason *reason) {
        struct timespec now;
        uint64_t ns = 0;

        if (last_is_whole(o))
                return 0;
        int r = selection_time_parse_duration("--since", o->since ?: SINCE_DEFAULT, &ns, reason);
        if (r != 0)
                return r;
        if (clock_gettime(CLOCK_MONOTONIC, &now) < 0)
                return -errno;
        uint64_t until = (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;

        selection->until = (SelectionTime){ SELECTION_TIME_TRACE, until };
        selection->from = (SelectionTime){ SELECTION_TIME_TRACE, until - MIN_OF(until, ns) };
        selection->may_be_empty = true;
        return 0;
}

static int last_copy(const Context *context, int to, Reason *reason) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_close_ int from = -1;

        int r = proxy_open(context->door, &proxy, reason);
        r = r ?: proxy_open_fd(proxy, NULL, "OpenBlackBox", NULL, &from, reason);
        r = r ?: descriptor_copy(from, to);
        if (r == 0 && lseek(to, 0, SEEK_SET) < 0)
                r = -errno;
        return r;
}

static int last_print(const Context *context,
                const LastOptions *o,
                const Selection *selection,
                int fd) {
        static const char name[] = "black box";

        if (o->is_summary)
                return summary_print_opened(context, selection, fd, name);
        if (o->to || o->out_path)
                return convert_opened(context, selection, fd, name, o->to, o->out_path ?: "-");
        return report_opened(context, selection, fd, name);
}

static int last_run(Context *context, int argc, char **argv) {
        LastOptions o = {};
        _cleanup_close_ int fd = -1;
        Selection selection = {};
        Reason reason = {};
        int status;

        if (last_parse(&o, context, argc, argv, &status) != OPTIONS_END)
                return status;
        if (context->host)
                return context->run_there(context);
        int r = last_select_time(&selection, &o, &reason);
        r = r ?: input_open_temporary(&fd);
        r = r ?: last_copy(context, fd, &reason);
        if (r == 0 && o.pids)
                r = last_tasks_add_processes(&selection, o.pids, &reason);
        if (r == 0 && o.unit)
                r = last_tasks_add_unit(&selection, o.unit, &reason);
        return r == 0 ? last_print(context, &o, &selection, fd) : message_fail(r, &reason);
}

const Verb verb_last = {
        .name = "last",
        .arguments = "[summary]",
        .summary = "Show what the machine did in the last seconds, from the black box",
        .help = "Nothing needs to be started before, if root has enabled the black box\n"
                "('ktracectl blackbox'). Root sees what all processes did, other users what their\n"
                "own processes did. Reading changes nothing: the black box continues, and the next\n"
                "'last' shows the same events again. They are printed as by 'report', converted, or\n"
                "with the word summary as by 'summary'.\n"
                "\n"
                "  --since DURATION     this long before now, such as 5s or 2min; default: " SINCE_DEFAULT
                "\n"
                "  -p, --pid LIST       only these processes, with the threads they have now, and\n"
                "                       with switches to them and wake-ups\n"
                "  -u, --unit UNIT      only the threads in this unit of the system now, and its\n"
                "                       last main process, also after its end\n"
                "  --to FORMAT          write it in a format of 'convert'; default: by OUT's suffix.\n"
                "                       dat and kts have the whole black box\n"
                "  -o, --output OUT     write it to this file; '-': standard output. Not with -H: use\n"
                "                       --to FORMAT and '> FILE'\n",
        .carries = true,
        .carries_many = true,
        .far_protocol = 3,
        .run = last_run,
};
