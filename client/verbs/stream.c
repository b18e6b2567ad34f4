/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl stream, snapshot: reads the stream of an existing session into a file or prints it,
 * until the session ends or the user stops. Or reads the snapshot of a flight recorder, of several
 * machines at the same time. Does not start or stop the session. (trace/stream.c contains the
 * format.) */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "call/proxy-session.h"
#include "call/proxy.h"
#include "hosts/hosts-record.h"
#include "recording/gate.h"
#include "recording/transfer.h"
#include "recording/watch.h"
#include "remote/near.h"
#include "terminal/message.h"
#include "terminal/table.h"
#include "verbs/notify.h"
#include "verbs/verb.h"

enum {
        OPTION_TO = OPTION_VERB,
        OPTION_NOTIFY,
        OPTION_CPU,
};

typedef struct StreamJob {
        const char *session, *path, *format, *cpus;
        bool is_notify; /* prints notifications, not events */
        bool is_snapshot;
        bool has_left; /* by ^C; the stream continues without us */
        Proxy *proxy;
        Watch watch;
        Output *output;
        Transfer *transfer;
} StreamJob;

static int stream_check(StreamJob *job, const Context *context, int *ret_status) {
        bool is_file = job->path || job->format || job->cpus;

        if (!job->path)
                job->path = "-";
        if (context->json != JSON_OFF && !job->is_notify && !job->format &&
                        strcmp(job->path, "-") == 0)
                job->format = "json";
        if (job->is_notify && (is_file || job->is_snapshot)) {
                *ret_status = message_show_usage(context,
                                !job->is_snapshot
                                                ? "--notify prints on stdout: without -o, --to and --cpu"
                                                : "--notify is an option of stream");
                return OPTIONS_EXIT;
        }
        return OPTIONS_END;
}

static int stream_parse(StreamJob *job, Context *context, int argc, char **argv, int *ret_status) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                { "output", required_argument, NULL, 'o' },
                { "to", required_argument, NULL, OPTION_TO },
                { "notify", no_argument, NULL, OPTION_NOTIFY },
                { "cpu", required_argument, NULL, OPTION_CPU },
                {} };
        int option;

        while ((option = options_next(context, argc, argv, "hqo:", options, ret_status)) >= 0) {
                if (option == OPTION_NOTIFY)
                        job->is_notify = true;
                else if (option == OPTION_CPU)
                        job->cpus = optarg;
                else
                        *(option == 'o' ? &job->path : &job->format) = optarg;
        }
        if (option == OPTIONS_END)
                option = options_count(context, argc, argv, 1, 1, ret_status);
        if (option == OPTIONS_END)
                job->session = argv[optind];
        return option == OPTIONS_END ? stream_check(job, context, ret_status) : option;
}

/* All machines of -H take their snapshots at one time. */
static int stream_await_others(StreamJob *job, int gate_fd, Reason *reason) {
        int r = gate_await(gate_fd, &job->watch, reason);

        if (r == 0)
                gate_report_start(gate_fd);
        return r;
}

static int stream_open(StreamJob *job, const Context *context, Reason *reason) {
        int gate_fd = job->is_snapshot && context->far ? context->far->gate_fd : -1;
        _cleanup_free_ char *session = NULL;
        sigset_t mask;
        int r = output_open_for(context, job->path, job->format, &job->output, reason);

        if (r == 0 && job->cpus && !output_is_channel(job->output))
                r = output_set_cpus(job->output, job->cpus, reason);
        if (r == 0)
                r = proxy_open(context->door, &job->proxy, reason);
        if (r == 0)
                r = proxy_resolve(job->proxy, job->session, &session, reason);
        if (r != 0)
                return r;
        r = watch_block_signals(&mask);
        if (r >= 0)
                r = watch_init(&job->watch, job->proxy);
        if (r >= 0)
                r = watch_set_session(&job->watch, session);
        if (r < 0)
                return r;
        /* Our writers get EPIPE and EFBIG. */
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN);
        r = output_begin(job->output, reason);
        if (r == 0 && gate_fd >= 0)
                r = stream_await_others(job, gate_fd, reason);
        if (r == 0)
                r = (job->is_snapshot ? transfer_open_snapshot : transfer_open_by_pipe)(
                                job->proxy, session, job->output, &job->transfer, reason);
        return r != 0 || job->is_snapshot ? r : output_publish(job->output, reason);
}

/* Runs until the stream ends or ^C. After ^C the recording contains what was received until
 * then. */
static int stream_follow(StreamJob *job) {
        watch_set_patience(&job->watch, 2);
        while (!transfer_is_done(job->transfer) && !job->watch.given_up) {
                int r = watch_run(&job->watch, UINT64_MAX);

                if (r < 0)
                        return r;
                if (job->watch.n_signals > 0 && !job->has_left) {
                        job->has_left = true;
                        transfer_hang_up(job->transfer);
                }
        }
        return 0;
}

/* Reports a stream without an end. When the user did not stop it, its worker was killed. When the
 * stream failed, the failure is already reported. */
static bool stream_report_cut(const StreamJob *job, const ExportSummary *summary) {
        const char *missing = transfer_find_missing(job->transfer, summary);

        if (!missing || job->has_left)
                return false;
        message_print("%s: %s%s; 'journalctl -u ktraced' shows why",
                        output_get_name(job->output),
                        summary->complete ? "" : "the stream has no end: ",
                        missing);
        return true;
}

/* Reports what is in the file. ret_lost: whether events are missing. */
static int stream_finish(StreamJob *job, const Context *context, bool *ret_lost, Reason *reason) {
        const ExportSummary *summary;
        char events[TABLE_NUMBER_MAX];
        ExportSummary converted;
        bool is_converted = false;
        int r = output_finish(job->output, &converted, &is_converted, reason);

        if (r != 0)
                return r;
        transfer_count(job->transfer, !context->quiet && !is_converted);
        summary = transfer_get_summary(job->transfer);
        if (is_converted)
                summary = &converted;
        if (output_is_channel(job->output)) { /* the near side of -H reports the rest */
                *ret_lost = summary->n_lost > 0 || stream_report_cut(job, summary);
                return 0;
        }
        if (!context->quiet)
                message_print("%s: %s event%s",
                                output_get_name(job->output),
                                table_format_number(events, summary->n_events),
                                summary->n_events == 1 ? "" : "s");
        *ret_lost = summary->n_lost > 0;
        if (stream_report_cut(job, summary))
                *ret_lost = true;
        if (summary->n_lost > 0)
                message_print("%s: %s events were lost",
                                output_get_name(job->output),
                                table_format_number(events, summary->n_lost));
        return 0;
}

static int stream_conduct(StreamJob *job, const Context *context) {
        Reason reason = {};
        bool lost = false;
        int finished, r = stream_open(job, context, &reason);

        if (r != 0) {
                if (job->output)
                        output_discard(job->output);
                return message_fail(r, &reason);
        }
        r = stream_follow(job);
        if (r >= 0)
                r = transfer_get_result(job->transfer, &reason);
        if (r != 0)
                (void)message_fail(r, &reason);
        reason = (Reason){};
        finished = stream_finish(job, context, &lost, &reason);
        if (finished != 0)
                return message_fail(finished, &reason);
        if (r != 0)
                return KT_EXIT_FAILED;
        return lost ? KT_EXIT_LOST : KT_EXIT_OK;
}

static int stream_conduct_near(StreamJob *job, const Context *context) {
        NearOptions near = { .context = context, .compares_clocks = true };
        Reason reason = {};
        int r = output_open(job->path, job->format, &job->output, &reason);

        if (r == 0 && job->cpus)
                r = output_set_cpus(job->output, job->cpus, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        output_set_foreign(job->output);
        near.output = job->output;
        return near_run(&near);
}

static int stream_conduct_many(const StreamJob *job, const Context *context) {
        return hosts_record(&(HostsRecordOptions){ .context = context,
                        .directory = job->path,
                        .refused = job->cpus     ? "--cpu"
                                   : job->format ? "--to"
                                                 : NULL });
}

static int stream_execute(Context *context, bool is_snapshot, int argc, char **argv) {
        StreamJob job = { .is_snapshot = is_snapshot };
        int status;

        if (stream_parse(&job, context, argc, argv, &status) != OPTIONS_END)
                return status;
        if (job.is_notify)
                return context->host ? context->run_there(context)
                                     : notify_run(context, job.session);
        if (context_has_many_hosts(context))
                status = stream_conduct_many(&job, context);
        else if (context->host)
                status = stream_conduct_near(&job, context);
        else
                status = stream_conduct(&job, context);
        transfer_free(job.transfer);
        watch_done(&job.watch);
        proxy_free(job.proxy);
        output_free(job.output);
        return status;
}

static int stream_run(Context *context, int argc, char **argv) {
        return stream_execute(context, false, argc, argv);
}

static int snapshot_run(Context *context, int argc, char **argv) {
        return stream_execute(context, true, argc, argv);
}

const Verb verb_stream = {
        .name = "stream",
        .arguments = "SESSION",
        .summary = "Read a session's stream until it ends or ^C",
        .help = "A session has one reader at a time. Without a reader, events wait in "
                "the\n"
                "kernel's buffer. When it is full, the newest events are dropped and "
                "counted.\n"
                "\n"
                "  -o, --output FILE      default: -, printed as it happens\n"
                "      --cpu LIST         only these CPUs, such as 0-3,5; not for kts\n"
                "      --to FORMAT        " EXPORT_FORMAT_NAMES
                "; default: by FILE's suffix, text for -\n"
                "      --notify           print notifications instead of events (lost events,\n"
                "                         hits of notify triggers, snapshots, the end), with\n"
                "                         --json as JSON, until the session ends or ^C; other\n"
                "                         readers can continue\n"
                "\n"
                "Exit status with --notify: 0 ended by its owner, its lifetime or ^C; 1 ended\n"
                "otherwise; 4 events were lost.\n",
        .carries = true,
        .run = stream_run,
};

const Verb verb_snapshot = {
        .name = "snapshot",
        .arguments = "SESSION",
        .summary = "Read what a flight recorder contains, while it continues",
        .help = "For a session with --mode flight. Events of an earlier snapshot are "
                "included if\n"
                "they are still in the buffer.\n"
                "\n"
                "  -o, --output FILE      default: -, printed\n"
                "      --cpu LIST         only these CPUs, such as 0-3,5; not for kts\n"
                "      --to FORMAT        " EXPORT_FORMAT_NAMES
                "; default: by FILE's suffix, text for -\n"
                "\n"
                "With several machines, -H A,B, all snapshots are taken at the same time, of the\n"
                "session with this name on each. -o is a DIRECTORY, as with 'record'.\n",
        .carries = true,
        .carries_many = true,
        .run = snapshot_run,
};
