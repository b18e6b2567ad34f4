/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl record: reads the command line, refuses wrong input before it changes anything, opens
 * the output, forks the command and calls recording_run(). The verb calls records in the same
 * way. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "hosts/hosts-record.h"
#include "interfaces/spec-json.h"
#include "recording/child.h"
#include "recording/output.h"
#include "recording/recording.h"
#include "recording/watch.h"
#include "remote/near.h"
#include "spec/caret.h"
#include "spec/spec-options.h"
#include "terminal/message.h"
#include "verbs/container-scope.h"
#include "verbs/record.h"
#include "verbs/verb.h"

#define RECORD_FILE_DEFAULT "trace.dat"

enum {
        OPTION_TO = OPTION_SPEC_END,
        OPTION_ALLOW_SETUID,
        OPTION_FLIGHT,
        OPTION_SNAPSHOT_ON,
};

static int record_take(RecordOptions *record, int option, Reason *reason) {
        switch (option) {
        case 'o':
                record->path = optarg;
                return 0;
        case OPTION_TO:
                record->format = optarg;
                return 0;
        case OPTION_ALLOW_SETUID:
                record->allow_setuid = true;
                return 0;
        case OPTION_SPEC: /* read twice: before and after the fork */
                if (strcmp(optarg, "-") == 0)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "--spec -: standard input is the command's here: name a file, or use 'ktracectl create'");
                return spec_options_take(&record->spec, option, optarg, reason);
        case OPTION_FLIGHT:
                record->spec.mode_option = "--flight";
                return spec_options_take(&record->spec, OPTION_MODE, "flight", reason);
        case OPTION_SNAPSHOT_ON:
                record->has_moments = true;
                return flight_add(record->flight, optarg, reason);
        default:
                return spec_options_take(&record->spec, option, optarg, reason);
        }
}

static void record_take_cause(RecordOptions *record, const char *cause) {
        if (flight_is_signal(cause))
                record->has_signal = true;
        else if (flight_is_exit(cause))
                record->has_exit = true;
        else
                record->has_events = true;
}

/* With -H the host reads the rest, and refuses it. */
static void record_take_near(RecordOptions *record, int option) {
        if (option == 'o')
                record->path = optarg;
        else if (option == OPTION_TO)
                record->format = optarg;
        else if (option == OPTION_SPOOL)
                record->is_spooled = true;
        else if (option == OPTION_SPEC)
                record->spec.file = optarg;
        else if (option == OPTION_COMPRESSION)
                record->is_plain = strcmp(optarg, "none") == 0;
        else if (option == OPTION_FLIGHT)
                record->is_flight = true;
        else if (option == OPTION_MODE)
                record->is_flight = strcmp(optarg, "flight") == 0;
        else if (option == OPTION_SNAPSHOT_ON)
                record_take_cause(record, optarg);
}

static int record_parse(RecordOptions *record,
                Context *context,
                int argc,
                char **argv,
                int *ret_status) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                SPEC_OPTIONS_LONG,
                { "output", required_argument, NULL, 'o' },
                { "to", required_argument, NULL, OPTION_TO },
                { "allow-setuid", no_argument, NULL, OPTION_ALLOW_SETUID },
                { "flight", no_argument, NULL, OPTION_FLIGHT },
                { "snapshot-on", required_argument, NULL, OPTION_SNAPSHOT_ON },
                {} };
        int option;

        while ((option = options_next(context,
                                argc,
                                argv,
                                "+hqo:" SPEC_OPTIONS_SHORT,
                                options,
                                ret_status)) >= 0) {
                Reason reason = {};
                int r = 0;

                if (context->host)
                        record_take_near(record, option);
                else
                        r = record_take(record, option, &reason);
                if (r != 0) {
                        *ret_status = message_fail(r, &reason);
                        return OPTIONS_EXIT;
                }
        }
        if (option != OPTIONS_END || optind == argc)
                return option;
        if (strcmp(argv[optind - 1], "--spool") == 0 && spec_options_is_size(argv[optind])) {
                *ret_status = message_show_usage(context,
                                "--spool %s: write the size after a =: --spool=%s",
                                argv[optind],
                                argv[optind]);
                return OPTIONS_EXIT;
        }
        record->command = argv + optind;
        return option;
}

static void record_set_defaults(RecordOptions *record, const Context *context) {
        if (!record->path)
                record->path = RECORD_FILE_DEFAULT;
        if (context->json != JSON_OFF && !record->format && strcmp(record->path, "-") == 0)
                record->format = "json";
}

/* With --spool the daemon writes to the machine's disk, and this process writes no file. */
static int record_set_output(RecordOptions *record, const Spec *spec, const Context *context) {
        if (spec->spool.is_on && (record->path || record->format)) {
                (void)message_show_usage(context,
                                "--spool records onto the machine's disk: leave out -o and --to; 'ktracectl spool fetch' gets it");
                return -EINVAL;
        }
        if (spec->spool.is_on) {
                record->format = "kts";
                record->path = "/dev/null";
        }
        record_set_defaults(record, context);
        return 0;
}

/* A first-time user is likely to see this error. */
static int record_refuse_no_events(void) {
        message_print("no event is named, there is nothing to record; 'ktracectl events' lists them. Try:");
        (void)fputs("  ktracectl record -e 'sched:sched_process_*' -- ls\n"
                    "  ktracectl record -e raw_syscalls:sys_enter -o - -- ls\n",
                        stderr);
        return KT_EXIT_USAGE;
}

/* Checks everything that needs neither file, process nor bus. child: a placeholder before the
 * fork. */
static int record_build_spec(RecordOptions *record, pid_t child, Spec **ret, int *ret_status) {
        _cleanup_spec_ Spec *spec = NULL;
        Reason reason = {};
        int r = spec_options_build(
                        &record->spec, record->command ? child : 0, NULL, NULL, &spec, &reason);

        if (r == 0 && record->allow_setuid)
                r = origins_add(&record->origins,
                                &(Origin){ .option = "--allow-setuid" },
                                "allow-setuid");
        if (r == 0 && record->allow_setuid && !spec->allow_setuid)
                r = spec_set_boolean(spec, "allow-setuid", true, &reason);
        if (r == 0 && spec->n_events == 0 && spec->n_probes == 0 && !spec->tracer &&
                        !spec->instance) {
                *ret_status = record_refuse_no_events();
                return -EINVAL;
        }
        if (r == 0 && !spec->has_scope)
                r = reason_set(&reason,
                                KT_E_INVALID_SPEC,
                                "no processes to trace: give a command after '--', -p PID, "
                                "--scope own, or -a for the whole system");
        if (r == 0 && record->waits && strcmp(spec->clock, "mono") != 0 &&
                        strcmp(spec->clock, "boot") != 0)
                r = reason_set(&reason,
                                KT_E_INVALID_SPEC,
                                "clock: the clocks of several machines are compared: expected mono or boot, got \"%s\"",
                                spec->clock);
        if (r == 0 && record->has_moments && spec->mode != MODE_FLIGHT)
                r = reason_set(&reason, KT_E_INVALID_SPEC, "--snapshot-on requires --flight");
        if (r == 0)
                r = spec_complete(spec, &reason);
        if (r == 0 && spec->mode == MODE_FLIGHT && record->has_one_stream)
                r = reason_set(&reason,
                                KT_E_INVALID_SPEC,
                                "--flight: %s, or use 'ktracectl -H HOST create --mode flight' and 'snapshot'",
                                record->waits ? "several machines send one recording each: name one machine"
                                              : "your side of -H does not take several snapshots: write --flight in the command line, not only in --spec, and update ktracectl there if it is older than here");
        if (r != 0) {
                *ret_status = caret_report_failure(NULL, &record->origins, r, &reason);
                return -EINVAL;
        }
        *ret = TAKE_PTR(spec);
        return 0;
}

/* A .dat is compressed by default, as that of trace-cmd is, and so is what goes over a network. The
 * consumer does this while it records. */
static int record_set_compression(const Output *output, Spec *spec, Reason *reason) {
        bool is_wanted = output_is_channel(output) ||
                         export_format_is_dat(output_get_format(output));

        if (spec->compression != COMPRESSION_UNSET || spec->mode != MODE_STREAM || !is_wanted)
                return 0;
        return spec_set_string(spec, "compression", "zstd", reason);
}

static int record_execute(RecordOptions *record,
                const Context *context,
                Output *output,
                bool allow_setuid) {
        ChildOptions child_options = { .allow_setuid = allow_setuid, .has_group = context->far };
        _cleanup_(child_free_cleanup) Child *child = NULL;
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = NULL;
        RecordingOptions options = { .output = output,
                .quiet = context->quiet,
                .door = context->door,
                .ask_password = context->ask_password,
                .gate_fd = context->far ? context->far->gate_fd : -1,
                .series_fd = context->far ? context->far->series_fd : -1 };
        Reason reason = {};
        int status, r = watch_block_signals(&child_options.mask);

        r = r ?: flight_block_signal(record->flight);
        if (r == 0 && record->command)
                r = child_new(record->command, &child_options, &child, &reason);
        if (r != 0) {
                output_discard(output);
                return message_fail(r, &reason);
        }
        /* This runs after the fork, so the command keeps its own handlers. Our writers get EPIPE
         * and EFBIG. */
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN);
        if (child && record->calls)
                record->calls->starter = child_get_pid(child);
        r = record_build_spec(record, child ? child_get_pid(child) : 0, &spec, &status);
        r = r ?: record_set_compression(output, spec, &reason);
        if (r == 0)
                r = spec_to_json(spec, &object);
        if (r == 0)
                r = flight_complete(record->flight, object, &record->origins);
        if (r < 0) {
                output_discard(output);
                return object || !spec ? status : message_fail(r, NULL);
        }
        options.spec = object;
        options.origins = &record->origins;
        options.child = child;
        options.flight = spec->mode == MODE_FLIGHT ? record->flight : NULL;
        options.is_spooled = spec->spool.is_on;
        options.path = record->path;
        options.format = record->format;
        options.command = record->command ? record->command[0] : NULL;
        return recording_run(&options);
}

static int record_open(RecordOptions *record,
                const Context *context,
                bool allow_setuid,
                bool is_plain) {
        _cleanup_(output_free_cleanup) Output *output = NULL;
        Reason reason = {};

        int r = output_open_for(context, record->path, record->format, &output, &reason);
        if (r == 0 && is_plain)
                output_set_plain(output);
        if (r == 0)
                output_set_calls(output, record->calls);
        return r == 0 ? record_execute(record, context, output, allow_setuid)
                      : message_fail(r, &reason);
}

static int record_open_near(void *userdata, unsigned number, Output **ret, Reason *reason) {
        _cleanup_(output_free_cleanup) Output *output = NULL;
        const RecordOptions *record = userdata;
        _cleanup_free_ char *path = NULL;
        int r = flight_make_path(record->path, number, &path);

        r = r ?: output_open(path, record->format, &output, reason);
        if (r != 0)
                return r;
        if (record->is_plain)
                output_set_plain(output);
        output_set_foreign(output);
        output_set_calls(output, record->calls);
        *ret = TAKE_PTR(output);
        return 0;
}

int record_conduct_near(RecordOptions *record, const Context *context) {
        const char *file = record->spec.file;
        bool is_asked = record->is_flight && (record->has_signal || record->has_events);
        NearOptions near = { .context = context,
                .has_command = record->command,
                .reads_input = file && strcmp(file, "-") == 0,
                .compares_clocks = true,
                .may_lack_stream = file || (is_asked && !record->has_exit),
                .is_flight = record->is_flight,
                .has_signal = record->has_signal,
                .has_events = record->has_events,
                .open_output = record_open_near,
                .userdata = record };
        _cleanup_(output_free_cleanup) Output *output = NULL;
        Reason reason = {};

        record_set_defaults(record, context);
        if (record->calls && record->command) /* its pid is not known here */
                record->calls->starter = CALL_STARTER_FIRST;
        if (!record->is_spooled) {
                int r = record_open_near(record, 0, &output, &reason);

                if (r != 0)
                        return message_fail(r, &reason);
                near.output = output;
        }
        return near_run(&near);
}

static int record_conduct_many(const RecordOptions *record, const Context *context) {
        if (record->is_flight)
                return message_show_usage(context,
                                "-H %s: expected no --flight: make the flight recorders with 'create --mode flight', and read them with 'snapshot'",
                                context->host);
        return hosts_record(&(HostsRecordOptions){ .context = context,
                        .directory = record->path,
                        .refused = record->is_spooled ? "--spool"
                                   : record->format   ? "--to"
                                                      : NULL,
                        .has_command = record->command });
}

int record_init(RecordOptions *record) {
        *record = (RecordOptions){};
        record->spec.origins = &record->origins;
        return flight_new(&record->flight);
}

void record_done(RecordOptions *record) {
        flight_free(record->flight);
        spec_options_done(&record->spec);
        origins_done(&record->origins);
}

int record_conduct(RecordOptions *record, const Context *context) {
        _cleanup_spec_ Spec *trial = NULL;
        int status;

        record->waits = context->far && context->far->gate_fd >= 0;
        record->has_one_stream = context->far && context->far->series_fd < 0;
        if (record_build_spec(record, getpid(), &trial, &status) != 0)
                return status;
        if (record_set_output(record, trial, context) != 0)
                return KT_EXIT_USAGE;
        return record_open(record,
                        context,
                        trial->allow_setuid,
                        trial->compression == COMPRESSION_NONE);
}

/* What is printed during the recording has no pids of the container: they come at the end. */
static bool record_is_kept(const RecordOptions *record) {
        return !record->path || strcmp(record->path, "-") != 0 ||
               (record->format && strcmp(record->format, "kts") == 0);
}

static int record_run_here(RecordOptions *record, const Context *context) {
        Reason reason = {};
        int r = container_scope_take(&record->spec, context, &reason);

        record->spec.has_inner_pids = context->container && record_is_kept(record);
        return r == 0 ? record_conduct(record, context) : message_fail(r, &reason);
}

static int record_run(Context *context, int argc, char **argv) {
        RecordOptions record;
        int status, r = record_init(&record);

        if (r < 0)
                return message_fail(r, NULL);
        if (record_parse(&record, context, argc, argv, &status) == OPTIONS_END)
                status = context_has_many_hosts(context) ? record_conduct_many(&record, context)
                         : context->host                 ? record_conduct_near(&record, context)
                                                         : record_run_here(&record, context);
        record_done(&record);
        return status;
}

const Verb verb_record = {
        .name = "record",
        .arguments = "[OPTION...] [-- CMD...]",
        .summary = "Record events of a command, of processes or of the whole system into a file",
        .help = "With CMD and no scope, CMD and its children are recorded, from CMD's first "
                "system call\n"
                "on, until CMD ends. Without CMD, until ^C. Unless root runs it, CMD cannot gain\n"
                "privileges (no_new_privs): set-uid programs run without them.\n"
                "\n"
                "      --allow-setuid     CMD may gain privileges, where policy allows; the trace "
                "ends\n"
                "                         just before it does\n"
                "  -o, --output FILE      default: " RECORD_FILE_DEFAULT
                "; - prints as it happens\n"
                "      --to FORMAT        " EXPORT_FORMAT_NAMES
                "; default: by FILE's suffix (.dat .kts\n"
                "                         .json .txt), text for -\n"
                "      --flight           --mode flight: keep the newest events in memory, and\n"
                "                         write them only when --snapshot-on says\n"
                "      --snapshot-on WHEN\n"
                "                         SIGUSR1 (kill -USR1 of this process), exit (of CMD, "
                "or\n"
                "                         ^C), or 'SYSTEM:EVENT if FILTER'; repeatable; "
                "default:\n"
                "                         exit. The first snapshot goes to FILE (t.dat), the "
                "next\n"
                "                         ones to t.1.dat, t.2.dat and so on\n"
                "  -q, --quiet            no progress line and no summary\n"
                "\n"
                "-H A,B or -H @FILE records on several machines, into a file of each and\n"
                "manifest.json in the directory of -o. 'ktracectl report DIRECTORY' shows all\n"
                "on one time line.\n"
                "\n"
                "Exit status: 0 done; 1 failed; 2 wrong usage; 3 denied; 4 done, but events "
                "were\n"
                "lost. With CMD: 1, 2, 3 before it runs; then CMD's own, or 128+N when signal "
                "N\n"
                "ended it; 126 or 127 when it could not be run; 125 when the recording failed\n"
                "later. Lost events are reported on stderr and in the file.\n",
        .print_more = spec_options_print_help,
        .carries = true,
        .traces = true,
        .carries_many = true,
        .run = record_run,
};
