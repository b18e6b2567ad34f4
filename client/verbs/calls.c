/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ktracectl calls`: system calls of a command, of processes or of a recording, one line for each
 * or counted, as strace shows them. It only reads the command line. Live calls are a recording in
 * the format calls: record.c does all else. A file is read in the isolated process, as `report`
 * reads it.
 *
 * Options have the letters that strace gives them, so some differ from those of record. */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "export/export.h"
#include "recording/input.h"
#include "recording/isolation.h"
#include "recording/selection-options.h"
#include "terminal/message.h"
#include "verbs/activity.h"
#include "verbs/container-scope.h"
#include "verbs/record.h"
#include "verbs/verb.h"

typedef struct Calls {
        RecordOptions record;
        CallStyle style;
        CallFilter *filter;
        char **events; /* of the spec, which borrows them */
        size_t n_events;
        SelectionOptions selection; /* of a file */
        bool has_target;            /* -a or -u */
        bool has_pids, has_part;
        const char *file;
} Calls;

static int calls_parse_sort(const char *text, CallSort *ret, Reason *reason) {
        static const char *const names[_CALL_SORT_N] = {
                [CALL_SORT_TIME] = "time",
                [CALL_SORT_CALLS] = "calls",
                [CALL_SORT_ERRORS] = "errors",
                [CALL_SORT_NAME] = "name",
                [CALL_SORT_NOTHING] = "nothing",
        };

        for (CallSort sort = 0; sort < _CALL_SORT_N; sort++)
                if (strcmp(text, names[sort]) == 0) {
                        *ret = sort;
                        return 0;
                }
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "-S: expected time, calls, errors, name or nothing, got \"%.64s\"",
                        text);
}

static int calls_set_filter(Calls *calls, const char *text, Reason *reason) {
        if (calls->filter)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "-e %.64s: expected one -e with all names, such as -e openat,read",
                                text);
        int r = call_filter_new(text, &calls->filter, reason);
        calls->style.filter = calls->filter;
        return r;
}

static int calls_take(Calls *calls, int option, Reason *reason) {
        CallStyle *style = &calls->style;

        switch (option) {
        case 'c':
                style->has_table = true;
                style->has_list = false;
                return 0;
        case 'C':
                style->has_table = true;
                return 0;
        case 'e':
                return calls_set_filter(calls, optarg, reason);
        case 'f': /* children are always followed */
        case 'w': /* times are always those from entry to exit */
                return 0;
        case 'o':
                calls->record.path = optarg;
                return 0;
        case 'S':
                return calls_parse_sort(optarg, &style->sort, reason);
        case 't':
                style->time += style->time < CALL_TIME_EPOCH;
                return 0;
        case 'T':
                style->has_durations = true;
                return 0;
        case 'Y':
                style->has_commands = true;
                return 0;
        case OPTION_SELECT_FROM:
        case OPTION_SELECT_UNTIL:
        case OPTION_SELECT_LAST:
                calls->has_part = true;
                (void)selection_options_take(&calls->selection, option, optarg);
                return 0;
        case 'p':
                calls->has_pids = true;
                (void)selection_options_take(&calls->selection, OPTION_SELECT_PID, optarg);
                return spec_options_take(&calls->record.spec, option, optarg, reason);
        default: /* a u b */
                calls->has_target = calls->has_target || option != 'b';
                return spec_options_take(&calls->record.spec, option, optarg, reason);
        }
}

/* Decides whether calls are recorded or read. */
static int calls_choose(Calls *calls,
                const Context *context,
                int argc,
                char **argv,
                int *ret_status) {
        bool is_command = optind < argc && strcmp(argv[optind - 1], "--") == 0;
        bool is_file = !is_command && optind == argc - 1;
        /* The container may be a part of the host's name, and the far side looks again. */
        bool has_target = calls->has_target || context->container || context->host;

        if (context->json != JSON_OFF) {
                *ret_status = message_show_usage(context,
                                "--json: calls have no JSON: expected none, 'ktracectl convert --to json' has the events");
                return OPTIONS_EXIT;
        }
        if (is_command)
                calls->record.command = argv + optind;
        if (is_file && context->host) {
                *ret_status = message_show_usage(context,
                                "-H: %s: a recording is read here: expected none, or copy it first",
                                argv[optind]);
                return OPTIONS_EXIT;
        }
        if (is_file)
                calls->file = argv[optind];
        if (is_file ? !has_target
                    : !calls->has_part && (is_command || (optind == argc &&
                                                                         (has_target || calls->has_pids))))
                return OPTIONS_END;
        *ret_status = message_show_usage(context,
                        calls->has_part ? "--from, --until and --last are for a FILE"
                                        : "expected '-- CMD', '-p PID', -a, -u UNIT, -M CONTAINER or one FILE");
        return OPTIONS_EXIT;
}

static int calls_parse(Calls *calls, Context *context, int argc, char **argv, int *ret_status) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                { "all", no_argument, NULL, 'a' },
                { "pid", required_argument, NULL, 'p' },
                { "unit", required_argument, NULL, 'u' },
                { "buffer", required_argument, NULL, 'b' },
                { "output", required_argument, NULL, 'o' },
                { "summary-only", no_argument, NULL, 'c' },
                { "summary", no_argument, NULL, 'C' },
                { "summary-sort-by", required_argument, NULL, 'S' },
                { "summary-wall-clock", no_argument, NULL, 'w' },
                { "follow-forks", no_argument, NULL, 'f' },
                { "syscall-times", no_argument, NULL, 'T' },
                { "trace", required_argument, NULL, 'e' },
                { "from", required_argument, NULL, OPTION_SELECT_FROM },
                { "until", required_argument, NULL, OPTION_SELECT_UNTIL },
                { "last", required_argument, NULL, OPTION_SELECT_LAST },
                {} };
        int option;

        while ((option = options_next(context,
                                argc,
                                argv,
                                "+hqab:cCe:fo:p:S:tTu:wY",
                                options,
                                ret_status)) >= 0) {
                Reason reason = {};
                int r = calls_take(calls, option, &reason);

                if (r != 0) {
                        *ret_status = message_fail(r, &reason);
                        return OPTIONS_EXIT;
                }
        }
        return option == OPTIONS_END ? calls_choose(calls, context, argc, argv, ret_status)
                                     : option;
}

static int calls_add_event(Calls *calls, const char *prefix, const char *name, Reason *reason) {
        char **events = reallocarray(calls->events, calls->n_events + 1, sizeof(*events));

        if (!events)
                return -ENOMEM;
        calls->events = events;
        if (asprintf(&events[calls->n_events], "syscalls:%s%s", prefix, name) < 0)
                return -ENOMEM;
        return spec_options_take(
                        &calls->record.spec, 'e', calls->events[calls->n_events++], reason);
}

/* Calls that were named one by one need only their events. For groups and exceptions all calls are
 * recorded, because it depends on the kernel which calls exist. */
static int calls_add_events(Calls *calls, Reason *reason) {
        size_t n = 0;
        char *const *names = calls->filter ? call_filter_get_names(calls->filter, &n) : NULL;
        int r = names ? 0 : calls_add_event(calls, "", "*", reason);

        for (size_t i = 0; i < n && names && r == 0; i++) {
                const char *name = call_filter_event_name(names[i]);

                r = calls_add_event(calls, "sys_enter_", name, reason);
                r = r ?: calls_add_event(calls, "sys_exit_", name, reason);
        }
        return r;
}

/* Chooses what shows the texts in place of their addresses, where the policy and the kernel allow
 * it: a probe of the catalogue for open, an event for execve. */
static int calls_add_paths(Calls *calls, const Context *context, Reason *reason) {
        const CallFilter *filter = calls->filter;
        SpecOptions *spec = &calls->record.spec;
        bool is_command = calls->record.command;
        int r = 0;

        if (!calls->style.has_list)
                return 0;
        if (!filter || call_filter_admits(filter, "openat"))
                r = activity_add_optional(
                                spec, context, is_command, OPTION_PROBE, "file_open", reason);
        if (r == 0 && (!filter || call_filter_admits(filter, "execve")))
                r = activity_add_optional(
                                spec, context, is_command, 'e', "sched:sched_process_exec", reason);
        return r;
}

static int calls_record(Calls *calls, Context *context) {
        Reason reason = {};
        int r = 0;

        if (!context->host) {
                r = container_scope_take(&calls->record.spec, context, &reason);
                r = r ?: calls_add_events(calls, &reason);
                r = r ?: calls_add_paths(calls, context, &reason);
        }
        if (r != 0)
                return message_fail(r, &reason);
        /* The list is the result: no line with the number of events follows. */
        context->quiet = true;
        calls->record.format = "calls";
        calls->record.path = calls->record.path ?: "-";
        calls->record.calls = &calls->style;
        return context->host ? record_conduct_near(&calls->record, context)
                             : record_conduct(&calls->record, context);
}

typedef struct CallsWork {
        const Context *context;
        ExportSource source;
} CallsWork;

/* In the isolated process. */
static int calls_work(void *argument) {
        const CallsWork *work = argument;
        ExportSummary summary;
        Reason reason = {};

        int r = export_source(&work->source, EXPORT_CALLS, stdout, &summary, &reason);
        return r != 0 ? input_report_failure(work->source.name, stdout, r, &reason)
                      : input_report_summary(work->context, work->source.name, &summary);
}

static int calls_read(Calls *calls, const Context *context) {
        CallsWork work = { .context = context,
                .source = { .seal = isolation_seal,
                                .calls = &calls->style,
                                .selection = &calls->selection.selection } };
        _cleanup_close_ int fd = -1;
        Reason reason = {};

        if (calls->record.path)
                return message_show_usage(context,
                                "-o is for calls that happen now: use > FILE, or 'ktracectl convert --to calls'");
        int r = selection_options_finish(&calls->selection, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        r = input_open(calls->file, &fd, &work.source.name, &reason);
        if (r != 0)
                return input_report_failure(work.source.name, NULL, r, &reason);
        work.source.fd = fd;
        return isolation_run(work.source.name, calls_work, &work);
}

static int calls_run(Context *context, int argc, char **argv) {
        Calls calls = { .style = { .has_list = true } };
        int status, r = record_init(&calls.record);

        if (r < 0)
                return message_fail(r, NULL);
        if (calls_parse(&calls, context, argc, argv, &status) == OPTIONS_END)
                status = calls.file ? calls_read(&calls, context) : calls_record(&calls, context);
        record_done(&calls.record);
        for (size_t i = 0; i < calls.n_events; i++)
                free(calls.events[i]);
        free(calls.events);
        call_filter_free(calls.filter);
        return status;
}

const Verb verb_calls = {
        .name = "calls",
        .arguments = "[OPTION...] [FILE | -- CMD...]",
        .summary = "System calls of a command, of processes or of a recording, as strace shows them",
        .help = "One line for each call of all threads and children: arguments, result, error. A\n"
                "line is printed when its call returns, so the lines are in the order of the\n"
                "returns. Calls that are open at the end, or at ^C, have <unfinished ...>. CMD\n"
                "runs as with record. FILE is a recording of syscalls:* or raw_syscalls:*.\n"
                "Names of opened files and started programs are shown if policy and kernel\n"
                "allow it.\n"
                "\n"
                "  -p, --pid PID          these processes (PID,PID or repeated) and their new\n"
                "                         threads and children; of a FILE only these threads\n"
                "  -a, --all              the whole system; -u, --unit UNIT: a systemd unit\n"
                "  -e, --trace CALLS      only these, such as openat,read, or all except these:\n"
                "                         '!futex'; also trace=CALLS; groups: %file, %ipc,\n"
                "                         %memory, %network, %process, %signal\n"
                "  -c, --summary-only     count calls, errors and time by name, without a list\n"
                "  -C, --summary          the list and the counts\n"
                "  -S, --summary-sort-by BY\n"
                "                         time (default), calls, errors, name or nothing\n"
                "  -T, --syscall-times    the time in each call\n"
                "  -t, -tt, -ttt          when it began: time of day (UTC), with microseconds,\n"
                "                         or seconds since 1970\n"
                "  -Y                     names of threads beside their numbers\n"
                "      --from, --until TIME, --last DURATION\n"
                "                         only this part of a FILE, see report\n"
                "  -o, --output FILE      write FILE at the end; default: standard output\n"
                "  -b, --buffer SIZE      of the ring buffer of each CPU\n"
                "  -f, -w                 accepted: children are always followed, and times are\n"
                "                         those from entry to exit\n"
                "\n"
                "Exit status: as record; for a FILE 4 if its end is missing.\n",
        .carries = true,
        .traces = true,
        .run = calls_run,
};
