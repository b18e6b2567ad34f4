/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ktracectl top`: shows who makes which system calls, waits and moves data, again and again. It
 * only reads the command line; top-run.c does all else, or top-near.c with -H on a terminal.
 * Without one, or on several machines, what the verb there prints is printed here. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "terminal/message.h"
#include "top/top-keys.h"
#include "top/top-near.h"
#include "top/top-run.h"
#include "top/top-terminal.h"
#include "verbs/activity.h"
#include "verbs/container-scope.h"
#include "verbs/verb.h"

#define INTERVAL_USEC UINT64_C(3000000)

enum {
        OPTION_COLOR = OPTION_SPEC_END,
        OPTION_SORT,
        OPTION_BY,
};

typedef struct TopWords {
        const char *color, *sort, *by, *delay, *number;
} TopWords;

static int top_set_view(TopOptions *top, const TopWords *words, Reason *reason) {
        const TopView *view;

        for (TopViewId id = 0; words->by && id <= _TOP_VIEW_N; id++) {
                if (id == _TOP_VIEW_N)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "--by: expected threads, calls or devices, got \"%.64s\"",
                                        words->by);
                top->view = id;
                if (strcmp(words->by, top_view_get(id)->key) == 0)
                        break;
        }
        view = top_view_get(top->view);
        top->sort = view->sort;
        for (size_t i = 0; words->sort && i <= view->n_columns; i++) {
                if (i == view->n_columns)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "--sort: no column of %s has the key \"%.64s\": ktracectl(1) lists them",
                                        view->key,
                                        words->sort);
                top->sort = i;
                if (strcmp(words->sort, view->columns[i].key) == 0)
                        break;
        }
        return 0;
}

static int top_set_color(TopOptions *top, const char *when, Reason *reason) {
        const char *no_color = getenv("NO_COLOR");

        if (!when || strcmp(when, "auto") == 0)
                top->has_colour = top_terminal_is_usable() && (!no_color || !*no_color);
        else if (strcmp(when, "always") == 0)
                top->has_colour = true;
        else if (strcmp(when, "never") != 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--color: expected auto, always or never, got \"%.64s\"",
                                when);
        return 0;
}

static int top_set_times(TopOptions *top, const TopWords *words, Reason *reason) {
        char *end;

        if (words->delay && !top_keys_parse_interval(words->delay, &top->interval_usec))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "-d: expected 0.1 to 3600 seconds, got \"%.64s\"",
                                words->delay);
        if (!words->number)
                return 0;
        top->n_frames = strtoull(words->number, &end, 10);
        return words->number[0] >= '1' && words->number[0] <= '9' && *end == '\0'
                               ? 0
                               : reason_set(reason,
                                                 KT_E_INVALID_SPEC,
                                                 "-n: expected a number of refreshes from 1, got \"%.64s\"",
                                                 words->number);
}

/* Without a target: root sees the whole system, other users their own processes. */
static int top_set_target(TopOptions *top, const Context *context, Reason *reason) {
        SpecOptions *spec = &top->spec;
        int r = container_scope_take(spec, context, reason);

        if (r == 0 && !spec->scope && !spec->pids)
                r = geteuid() == 0 ? spec_options_take(spec, 'a', NULL, reason)
                                   : spec_options_take(spec, OPTION_SCOPE, "own", reason);
        bool is_all = spec->scope && strcmp(spec->scope, "system") == 0;

        top->scope = is_all            ? "the whole system"
                     : spec->container ? context->container
                     : spec->pids      ? "chosen processes"
                     : spec->unit      ? spec->unit
                                       : "own processes";
        r = r ?: activity_add_events(spec, context, false, is_all, reason);
        /* Exec events have the names of short programs. */
        r = r
                            ?: activity_add_optional(spec,
                                               context,
                                               false,
                                               'e',
                                               "sched:sched_process_exec",
                                               reason);
        return r;
}

static int top_parse(TopOptions *top,
                TopWords *words,
                Context *context,
                int argc,
                char **argv,
                int *ret_status) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                { "all", no_argument, NULL, 'a' },
                { "pid", required_argument, NULL, 'p' },
                { "unit", required_argument, NULL, 'u' },
                { "buffer", required_argument, NULL, 'B' },
                { "batch", no_argument, NULL, 'b' },
                { "delay", required_argument, NULL, 'd' },
                { "iterations", required_argument, NULL, 'n' },
                { "by", required_argument, NULL, OPTION_BY },
                { "sort", required_argument, NULL, OPTION_SORT },
                { "color", required_argument, NULL, OPTION_COLOR },
                {} };
        int option, r = 0;

        while ((option = options_next(
                                context, argc, argv, "hqabd:n:p:u:B:", options, ret_status)) >= 0) {
                Reason reason = {};

                switch (option) {
                case 'b':
                        top->is_batch = true;
                        break;
                case 'd':
                        words->delay = optarg;
                        break;
                case 'n':
                        words->number = optarg;
                        break;
                case OPTION_BY:
                        words->by = optarg;
                        break;
                case OPTION_SORT:
                        words->sort = optarg;
                        break;
                case OPTION_COLOR:
                        words->color = optarg;
                        break;
                default: /* a p u B */
                        r = spec_options_take(
                                        &top->spec, option == 'B' ? 'b' : option, optarg, &reason);
                }
                if (r != 0) {
                        *ret_status = message_fail(r, &reason);
                        return OPTIONS_EXIT;
                }
        }
        return option == OPTIONS_END ? options_count(context, argc, argv, 0, 0, ret_status)
                                     : option;
}

/* The whole command line goes to the host, which judges the target. */
static int top_run_there(const TopOptions *top, const Context *context) {
        if (top->is_batch)
                return context->run_there(context);
        if (context_has_many_hosts(context))
                return message_show_usage(context,
                                "-H %s: the screen shows one machine: expected one, or -b to print "
                                "the tables of all",
                                context->host);
        return top_near_run(top, context);
}

static int top_verb_run(Context *context, int argc, char **argv) {
        Origins origins = {};
        TopOptions top = { .spec.origins = &origins, .interval_usec = INTERVAL_USEC };
        TopWords words = {};
        Reason reason = {};
        int status, r;

        if (top_parse(&top, &words, context, argc, argv, &status) == OPTIONS_END) {
                if (context->far && context->far->draws)
                        context->json = JSON_SHORT;
                top.is_batch = top.is_batch || context->json != JSON_OFF ||
                               !top_terminal_is_usable();
                r = top_set_view(&top, &words, &reason);
                r = r ?: top_set_color(&top, words.color, &reason);
                r = r ?: top_set_times(&top, &words, &reason);
                if (!context->host)
                        r = r ?: top_set_target(&top, context, &reason);
                status = r != 0          ? message_fail(r, &reason)
                         : context->host ? top_run_there(&top, context)
                                         : top_run(&top, context);
        }
        spec_options_done(&top.spec);
        origins_done(&origins);
        return status;
}

const Verb verb_top = {
        .name = "top",
        .arguments = "[OPTION...]",
        .summary = "Show who makes which system calls, waits and moves data, live",
        .help = "Without -a, -p or -u: the whole system for root, all own processes for other users.\n"
                "The whole system also has the times of the scheduler, and block and network devices.\n"
                "On a terminal it fills the screen: h shows the keys, q ends it. Calls count when they\n"
                "return, with their whole time.\n"
                "\n"
                "  -a, --all              the whole system\n"
                "  -p, --pid PID          these processes (PID,PID or repeated) and their new\n"
                "                         threads and children\n"
                "  -u, --unit UNIT        a systemd unit\n"
                "  -d, --delay SECONDS    between refreshes: 0.1 to 3600, default 3\n"
                "  -n, --iterations N     end after N refreshes\n"
                "  -b, --batch            print the tables one after the other, all rows; also without\n"
                "                         a terminal\n"
                "      --json             with -b: an object for each refresh, with all tables\n"
                "      --by TABLE         begin with threads (default), calls or devices\n"
                "      --sort KEY         a column of the table, by its key in JSON\n"
                "      --color WHEN       auto (default), always or never; NO_COLOR counts with auto\n"
                "  -B, --buffer SIZE      of the ring buffer of each CPU\n"
                "\n"
                "Lost events are shown: then the numbers are too small.\n",
        .carries = true,
        .carries_many = true,
        .traces = true,
        .is_endless = true,
        .far_protocol = 3,
        .run = top_verb_run,
};
