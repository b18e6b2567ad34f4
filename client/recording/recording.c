/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs one recording for `record`, from CreateSession to the last byte in the file. Read
 * recording_run() first: it contains the steps in order. Between the steps the event loop of
 * watch.h runs. So the stream is read, signals are handled and the live line is updated during a
 * call.
 *
 * Without a command, the first SIGINT, SIGTERM or SIGHUP ends the recording. With a command, the
 * command gets the first signal, and the recording ends when the command ends. The second signal
 * ends the wait for the command. The third signal ends every wait.
 *
 * Owns the proxy, watch, transfer and live line. Borrows output and child. */

#include "recording/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "call/proxy-session.h"
#include "call/proxy.h"
#include "recording/gate.h"
#include "recording/live-counts.h"
#include "recording/transfer.h"
#include "recording/watch.h"
#include "spec/caret.h"
#include "terminal/message.h"
#include "terminal/table.h"

/* A consumer without its daemon finishes within its own limit. This timeout is longer than that
 * limit. */
#define RECORDING_ORPHAN_USEC ((uint64_t)10 * 1000 * 1000)

typedef struct Recording {
        const RecordingOptions *options;
        Proxy *proxy;
        Watch watch;
        Transfer *transfer;
        LiveCounts *counts;
        char *id;
        bool failed;
        bool is_published; /* the output file has its name */
        bool cut_reported, sink_reported;
        bool has_statistics;
        uint64_t n_recorded, n_lost, n_unpaired;
        uint64_t n_changes, changed_nsec; /* by other programs, and for how long */
        ProxyPending *destroying;
        bool destroyed;
        bool destroy_lost; /* the daemon that got the call is gone */
} Recording;

static void recording_done(Recording *recording) {
        live_counts_free(recording->counts);
        transfer_free(recording->transfer);
        proxy_pending_free(recording->destroying);
        watch_done(&recording->watch);
        proxy_free(recording->proxy);
        free(recording->id);
}

static void recording_fail(Recording *recording, int code, const Reason *reason) {
        recording->failed = true;
        (void)message_fail(code, reason);
}

/* Reports a glob of which policy grants only a part. The daemon refuses a plain name that is not
 * granted. */
static void recording_report_narrowing(json_object *description) {
        json_object *requests = json_object_object_get(description, "requests");
        size_t n = json_object_is_type(requests, json_type_array)
                                   ? json_object_array_length(requests)
                                   : 0;

        for (size_t i = 0; i < n; i++) {
                json_object *request = json_object_array_get_idx(requests, i);
                uint64_t matched = json_object_get_uint64(
                                         json_object_object_get(request, "matched")),
                         granted = json_object_get_uint64(
                                         json_object_object_get(request, "granted"));

                if (granted < matched)
                        message_print("%s: %" PRIu64 " of %" PRIu64
                                      " events granted; 'ktracectl events' lists what you may use",
                                        json_object_get_string(
                                                        json_object_object_get(request, "pattern")),
                                        granted,
                                        matched);
        }
}

static int recording_create(Recording *recording, Reason *reason) {
        _cleanup_json_ json_object *description = NULL;
        int r = proxy_create(recording->proxy, recording->options->spec, &recording->id, reason);

        if (r == 0)
                r = watch_set_session(&recording->watch, recording->id);
        if (r == 0)
                r = proxy_get(recording->proxy,
                                recording->id,
                                "Describe",
                                NULL,
                                &description,
                                reason);
        if (r == 0)
                recording_report_narrowing(description);
        return r;
}

/* Connects the stream with its file or, for a flight recorder, prepares the snapshots. */
static int recording_attach(Recording *recording, Reason *reason) {
        const RecordingOptions *options = recording->options;

        if (options->is_spooled)
                return 0;
        if (options->flight)
                return flight_watch(options->flight,
                                &(FlightOutput){ .output = options->output,
                                                .path = options->path,
                                                .format = options->format,
                                                .quiet = options->quiet,
                                                .series_fd = options->series_fd },
                                &recording->watch);
        int r = output_begin(options->output, reason);
        return r
                               ?: transfer_open(recording->proxy,
                                                  recording->id,
                                                  options->output,
                                                  &recording->transfer,
                                                  reason);
}

/* The new file replaces an older file only after the session has started and the command, if any,
 * runs. So a recording that fails at its start does not destroy the older file. */
static int recording_publish(Recording *recording, Reason *reason) {
        const RecordingOptions *options = recording->options;
        const Watch *watch = &recording->watch;
        bool runs = !options->child || (watch->child_tried && watch->exec_errno == 0);

        if (!recording->transfer || recording->is_published || !runs)
                return 0;
        recording->is_published = true;
        return output_publish(options->output, reason);
}

static int recording_open(Recording *recording, Reason *reason) {
        int r = proxy_open(recording->options->door, &recording->proxy, reason);

        if (r != 0)
                return r;
        recording->proxy->may_ask = recording->options->ask_password;
        r = watch_init(&recording->watch, recording->proxy);
        if (r < 0)
                return proxy_refuse(recording->proxy, r, reason);
        r = recording_create(recording, reason);
        if (r == 0)
                r = recording_attach(recording, reason);
        /* The output is held back: a recording that is refused at its start prints nothing. */
        if (r == 0 && recording->transfer)
                transfer_hold(recording->transfer);
        if (r == 0 && recording->options->gate_fd >= 0)
                r = gate_await(recording->options->gate_fd, &recording->watch, reason);
        if (r == 0)
                r = proxy_order(recording->proxy, recording->id, "Start", NULL, reason);
        if (r == 0 && recording->options->gate_fd >= 0)
                gate_report_start(recording->options->gate_fd);
        if (r == 0 && recording->transfer)
                transfer_continue(recording->transfer);
        if (r == 0)
                r = recording_publish(recording, reason);
        if (r == KT_E_CANCELLED && recording->watch.ended)
                r = reason_set(reason,
                                r,
                                "the session ended before its start: %s",
                                recording->watch.end_reason);
        return r;
}

/* Used when nothing was recorded. Removes the session, whatever lifetime it has, and a file that
 * this recording created. */
static int recording_abandon(Recording *recording, int code, const Reason *reason) {
        int status = caret_report_failure(
                        recording->options->spec, recording->options->origins, code, reason);

        if (recording->id && !watch_is_cut(&recording->watch)) {
                Reason ignored;

                /* Waits for the answer, so that no instance is left in the kernel at exit. */
                watch_set_patience(&recording->watch, recording->watch.n_signals + 1);
                (void)proxy_order(recording->proxy, recording->id, "Destroy", NULL, &ignored);
        }
        output_discard(recording->options->output);
        return status;
}

static int recording_release(Recording *recording) {
        Child *child = recording->options->child;
        int r;

        if (!child)
                return 0;
        r = watch_add_child(&recording->watch, child);
        return r < 0 ? r : child_release(child);
}

static void recording_report_cut(Recording *recording) {
        const Watch *watch = &recording->watch;

        /* After our session is destroyed, the daemon may leave because it is idle. That is not an
         * error. */
        if (recording->cut_reported || recording->destroyed || !watch_is_cut(watch))
                return;
        recording->cut_reported = true;
        recording->failed = true;
        if (watch->ended)
                message_print("the session ended early: %s (%s); earlier events are kept",
                                watch->end_reason,
                                watch->end_code);
        else if (watch->proxy->lost)
                message_print("the system bus is gone, and the session with it; earlier "
                              "events are kept");
        else
                message_print("ktraced is gone, and the session with it; earlier events are "
                              "kept; 'journalctl -u ktraced' shows why");
}

static void recording_report_sink(Recording *recording) {
        Reason reason;
        int r = transfer_get_result(recording->transfer, &reason);

        if (r == 0 || recording->sink_reported)
                return;
        recording->sink_reported = true;
        recording_fail(recording, r, &reason);
}

/* A flight recorder has no stream, so this is false. */
static bool is_stream_done(const Recording *recording) {
        return recording->transfer && transfer_is_done(recording->transfer);
}

static bool recording_may_end(const Recording *recording) {
        const Watch *watch = &recording->watch;

        if (recording->options->child)
                return watch->child_gone || watch->n_signals >= 2 ||
                       (watch->child_tried && watch->exec_errno != 0);
        return watch->n_signals >= 1 || watch_is_cut(watch) || is_stream_done(recording);
}

/* Waits for the next daemon while the daemon is replaced, unless the stream has ended without
 * it. */
static void recording_await_daemon(Recording *recording) {
        Watch *watch = &recording->watch;

        while (watch->daemon_away && !watch->given_up && !is_stream_done(recording))
                if (watch_run(watch, UINT64_MAX) < 0)
                        break;
        if (watch->daemon_away)
                watch->daemon_gone = true;
}

static int ask_stop(Recording *recording, Reason *reason) {
        return proxy_order(recording->proxy, recording->id, "Stop", NULL, reason);
}

/* Sends the request again when the daemon left during the request: the next daemon has the
 * session. */
static int recording_ask(Recording *recording, int (*ask)(Recording *recording, Reason *reason)) {
        unsigned n_asked = 0;
        Reason reason;
        int r;

        do {
                recording_await_daemon(recording);
                if (watch_is_cut(&recording->watch))
                        return KT_E_CANCELLED;
                reason = (Reason){};
                r = ask(recording, &reason);
                n_asked++;
        } while ((r == -ECONNRESET && n_asked < FLIGHT_TRIES) ||
                        (r != 0 && recording->watch.daemon_away));
        /* The previous daemon stopped the session but left before it answered. */
        if (ask == ask_stop && r == KT_E_WRONG_STATE && n_asked > 1)
                return 0;
        if (r == -ECONNRESET) /* already reported */
                recording->failed = true;
        else if (r != 0 && !watch_is_cut(&recording->watch))
                recording_fail(recording, r, &reason);
        return r;
}

static int ask_snapshot(Recording *recording, Reason *reason) {
        return flight_take(recording->options->flight, reason);
}

static void recording_take_snapshot(Recording *recording) {
        (void)recording_ask(recording, ask_snapshot);
}

static int recording_wait(Recording *recording) {
        Reason ignored;

        while (!recording_may_end(recording)) {
                int r = watch_run(&recording->watch, UINT64_MAX);

                if (r < 0)
                        return r;
                /* output_finish tries again when this fails, and reports the error. */
                (void)recording_publish(recording, &ignored);
                /* A command continues after the session has ended, so this is reported now and not
                 * at its end. */
                recording_report_cut(recording);
                if (is_stream_done(recording))
                        recording_report_sink(recording);
                if (recording->options->flight && flight_is_wanted(recording->options->flight) &&
                                !watch_is_cut(&recording->watch))
                        recording_take_snapshot(recording);
        }
        return 0;
}

static int ask_statistics(Recording *recording, Reason *reason) {
        _cleanup_json_ json_object *statistics = NULL;
        int r = proxy_get(recording->proxy,
                        recording->id,
                        "GetStatistics",
                        NULL,
                        &statistics,
                        reason);

        if (r != 0)
                return r;
        recording->has_statistics = true;
        recording->n_recorded =
                        json_object_get_uint64(json_object_object_get(statistics, "recorded"));
        recording->n_lost = json_object_get_uint64(json_object_object_get(statistics, "lost"));
        recording->n_changes =
                        json_object_get_uint64(json_object_object_get(statistics, "interference"));
        recording->changed_nsec = json_object_get_uint64(
                        json_object_object_get(statistics, "interference-nsec"));
        recording->n_unpaired =
                        json_object_get_uint64(json_object_object_get(statistics, "unpaired"));
        return 0;
}

static void on_destroyed(int result, const Reason *reason, json_object *object, void *userdata) {
        Recording *recording = userdata;

        recording->destroyed = true;
        /* The request is sent again to the next daemon. When this process has left the bus, the
         * next daemon ends the session by itself. */
        recording->destroy_lost = result != 0 && recording->watch.daemon_away;
        if (result != 0 && !watch_is_cut(&recording->watch) && !recording->destroy_lost)
                recording_fail(recording, result, reason);
}

/* The answer comes after the instance is removed. The file is finished during that time. */
static void recording_begin_destroy(Recording *recording) {
        recording->destroyed = recording->destroy_lost = false;
        recording->destroying = proxy_pending_free(recording->destroying);
        int r = proxy_begin(recording->proxy,
                        &(ProxyCall){ .session = recording->id, .method = "Destroy" },
                        on_destroyed,
                        recording,
                        &recording->destroying);

        if (r < 0) {
                recording->destroyed = true;
                recording_fail(recording, r, NULL);
        }
}

/* Runs the loop until `reached` returns true. Returns false when the user has ended the wait. */
static bool recording_await(Recording *recording, bool (*reached)(const Recording *)) {
        uint64_t limit = UINT64_MAX;

        while (!reached(recording)) {
                if (recording->watch.given_up) {
                        message_print("interrupted; the session ends with this process");
                        recording->failed = true;
                        return false;
                }
                if (watch_is_cut(&recording->watch) && !recording->destroyed)
                        limit = RECORDING_ORPHAN_USEC;
                else if (recording->destroy_lost && !recording->watch.daemon_away &&
                                !watch_is_cut(&recording->watch))
                        recording_begin_destroy(recording);
                int r = watch_run(&recording->watch, limit);
                if (r < 0 || (r == 0 && limit != UINT64_MAX))
                        return false;
        }
        return true;
}

static bool is_destroyed(const Recording *recording) {
        return (recording->destroyed && !recording->destroy_lost) ||
               watch_is_cut(&recording->watch);
}

/* Whether a flight recorder must take a snapshot at the end. It takes none when the command never
 * ran. */
static bool recording_wants_last(const Recording *recording) {
        const Flight *flight = recording->options->flight;

        return flight && recording->watch.exec_errno == 0 &&
               (flight_is_at_exit(flight) || flight_is_wanted(flight));
}

static int ask_moments(Recording *recording, Reason *reason) {
        return flight_look(recording->options->flight, reason);
}

static void recording_stop(Recording *recording) {
        /* Stop removes the kernel's triggers and their counts, so the counts are read before. */
        if (recording->options->flight && !recording_wants_last(recording))
                (void)recording_ask(recording, ask_moments);
        int r = recording_ask(recording, ask_stop);

        if (r == 0)
                (void)recording_ask(recording, ask_statistics);
        if (r == 0 && recording_wants_last(recording))
                recording_take_snapshot(recording);
        if (!watch_is_cut(&recording->watch))
                recording_begin_destroy(recording);
}

void recording_report_result(const Output *output,
                uint64_t n_events,
                uint64_t n_lost,
                bool is_quiet,
                const char *note) {
        char events[TABLE_NUMBER_MAX], bytes[TABLE_NUMBER_MAX], lost[TABLE_NUMBER_MAX] = "none";
        uint64_t size = output_get_size(output);

        if (is_quiet && n_lost == 0)
                return;
        if (n_lost > 0)
                table_format_number(lost, n_lost);
        message_print("%s: %s event%s%s%s, %s lost%s",
                        output_get_name(output),
                        table_format_number(events, n_events),
                        n_events == 1 ? "" : "s",
                        size > 0 ? ", " : "",
                        size > 0 ? table_format_bytes(bytes, size) : "",
                        lost,
                        note ?: "");
}

/* The near side of -H reports what it has written. */
static void recording_report_summary(const Recording *recording) {
        if (output_is_channel(recording->options->output))
                return;
        recording_report_result(recording->options->output,
                        recording->n_recorded,
                        recording->n_lost,
                        recording->options->quiet,
                        recording->n_lost > 0      ? "; use a larger --buffer to lose fewer"
                        : recording->n_changes > 0 ? " in the buffer"
                                                   : NULL);
}

/* Completes the file after the end of the stream and reports its contents. */
static void recording_finish(Recording *recording) {
        ExportSummary converted;
        const ExportSummary *summary = transfer_get_summary(recording->transfer);
        uint64_t discarded = transfer_get_discarded_bytes(recording->transfer);
        bool is_converted = false;
        Reason reason = {};
        int r = output_finish(recording->options->output, &converted, &is_converted, &reason);

        if (r != 0) {
                recording_fail(recording, r, &reason);
                return;
        }
        if (is_converted)
                summary = &converted;
        recording->n_lost += transfer_get_cut_records(recording->transfer);
        if (summary)
                recording->n_lost = MAX_OF(recording->n_lost, summary->n_lost);
        if (summary)
                recording->n_recorded = summary->n_events;
        if (summary && !summary->complete && !recording->failed &&
                        !transfer_is_deserted(recording->transfer)) {
                recording->failed = true;
                message_print("%s: %s",
                                output_get_name(recording->options->output),
                                summary->missing);
        }
        /* The daemon's counts do not describe the file of a failed recording. */
        if (!recording->failed && !transfer_is_deserted(recording->transfer) &&
                        (summary || recording->has_statistics))
                recording_report_summary(recording);
        if (recording->n_unpaired > 0) {
                char events[TABLE_NUMBER_MAX];

                message_print("%s: %s events found no room to be remembered for a probe made of two: record "
                              "for less time, or by a key with fewer values",
                                output_get_name(recording->options->output),
                                table_format_number(events, recording->n_unpaired));
                recording->n_lost = MAX_OF(recording->n_lost, (uint64_t)1);
        }
        if (discarded > 0) {
                char bytes[TABLE_NUMBER_MAX];

                message_print("%s: %s of events could not be written and are lost",
                                output_get_name(recording->options->output),
                                table_format_bytes(bytes, discarded));
                recording->n_lost = MAX_OF(recording->n_lost, (uint64_t)1);
        }
}

/* With --spool the daemon owns the recording, so the local output is removed. */
static void recording_finish_spool(Recording *recording) {
        char events[TABLE_NUMBER_MAX], lost[TABLE_NUMBER_MAX];

        output_discard(recording->options->output);
        if (!recording->failed && (!recording->options->quiet || recording->n_lost > 0))
                message_print("%s events recorded, %s lost; 'ktracectl spool fetch %s' gets them",
                                table_format_number(events, recording->n_recorded),
                                table_format_number(lost, recording->n_lost),
                                recording->id);
}

/* Each snapshot was already reported when it was taken. */
static void recording_finish_flight(Recording *recording) {
        if (flight_get_n_taken(recording->options->flight) > 0)
                return;
        output_discard(recording->options->output);
        if (!recording->failed && !recording->options->quiet)
                message_print("no snapshot was asked for: nothing is kept");
}

/* Another program can keep the kernel from recording events. The kernel does not count those
 * events as lost. */
static void recording_report_changes(Recording *recording) {
        const RecordingOptions *options = recording->options;

        if (recording->n_changes == 0)
                return;
        message_print("%s: another program changed the trace for %.1f ms (%" PRIu64
                      " change%s): events of this time may be missing",
                        options->is_spooled ? recording->id : output_get_name(options->output),
                        (double)recording->changed_nsec / 1e6,
                        recording->n_changes,
                        recording->n_changes == 1 ? "" : "s");
        recording->n_lost = MAX_OF(recording->n_lost, (uint64_t)1);
}

/* The next daemon could not take over the worker, so the worker ended the stream. The session
 * continues. */
static void recording_report_early_end(Recording *recording) {
        if (recording->failed || watch_is_cut(&recording->watch))
                return;
        recording->failed = true;
        message_print("the stream ended before the session, as when ktraced ends; earlier "
                      "events are kept");
}

static void recording_close(Recording *recording) {
        Reason reason;
        bool is_early = is_stream_done(recording) && !transfer_is_deserted(recording->transfer) &&
                        transfer_get_result(recording->transfer, &reason) == 0;

        watch_set_patience(&recording->watch, recording->watch.n_signals + 1);
        recording_report_cut(recording);
        recording_stop(recording);
        recording_report_cut(recording);
        if (is_early)
                recording_report_early_end(recording);
        recording->counts = live_counts_free(recording->counts);
        if (!recording->transfer)
                return;
        transfer_drain(recording->transfer);
        if (recording_await(recording, is_stream_done)) {
                recording_report_sink(recording);
        } else if (!recording->watch.given_up) {
                recording->failed = true;
                message_print("%s: the stream worker does not end; earlier events are kept",
                                output_get_name(recording->options->output));
        }
}

static int recording_refuse_exec(Recording *recording) {
        int exec_errno = recording->watch.exec_errno;

        /* Text that is already printed cannot be removed from standard output. */
        message_print("cannot run '%s': %s%s",
                        recording->options->command,
                        strerror(exec_errno),
                        output_get_sink_fd(recording->options->output) >= 0
                                        ? "; no recording is kept"
                                        : "");
        output_discard(recording->options->output);
        return child_exec_status(exec_errno);
}

static int recording_get_status(const Recording *recording) {
        const Watch *watch = &recording->watch;

        if (recording->options->child) {
                if (recording->failed)
                        return KT_EXIT_RECORDING;
                /* The user ended the wait for the command. */
                return watch->child_gone ? watch->child_status : 128 + SIGINT;
        }
        if (recording->failed)
                return KT_EXIT_FAILED;
        return recording->n_lost > 0 ? KT_EXIT_LOST : KT_EXIT_OK;
}

static int recording_conduct(Recording *recording) {
        const RecordingOptions *options = recording->options;
        Reason reason = {};
        int r = recording_open(recording, &reason);

        if (r != 0)
                return recording_abandon(recording, r, &reason);
        if (!options->quiet && isatty(STDERR_FILENO) && !output_is_terminal(options->output))
                (void)live_counts_new(recording->proxy, recording->id, &recording->counts);
        r = recording_release(recording);
        if (r < 0)
                return recording_abandon(recording, r, NULL);
        watch_set_patience(&recording->watch, options->child ? 3 : 2);
        r = recording_wait(recording);
        if (r < 0)
                recording_fail(recording, r, NULL);
        recording_close(recording);
        if (recording->watch.exec_errno != 0)
                r = recording_refuse_exec(recording);
        else if (options->is_spooled)
                recording_finish_spool(recording);
        else if (options->flight)
                recording_finish_flight(recording);
        else
                recording_finish(recording);
        recording_report_changes(recording);
        if (recording->destroying)
                (void)recording_await(recording, is_destroyed);
        recording_report_cut(recording);
        return recording->watch.exec_errno != 0 ? r : recording_get_status(recording);
}

int recording_run(const RecordingOptions *options) {
        Recording recording = { .options = options };
        int status = recording_conduct(&recording);

        recording_done(&recording);
        return status;
}
