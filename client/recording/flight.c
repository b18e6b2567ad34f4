/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The snapshots of `record --flight`: when to take one, and its output file. Used by recording.c,
 * whose loop continues during a snapshot. Requests that arrive during a snapshot are merged into
 * one, which follows immediately.
 *
 * The first snapshot goes to the given file, which is opened before anything else. The next ones go
 * to files with a number before the suffix: t.dat, t.1.dat, t.2.dat. On standard output they follow
 * each other. With -H they go to the near side, which opens the files and reports them (near.c).
 *
 * The kernel itself reacts to an event, through triggers of the session: one keeps the buffer at
 * the first such moment, one makes ktraced notify us of each moment. */

#include "recording/flight.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "recording/series.h"
#include "recording/transfer.h"
#include "terminal/message.h"
#include "terminal/table.h"

#define SIGNAL_NAME "SIGUSR1"
#define EXIT_NAME   "exit"

struct Flight {
        bool on_signal, on_exit;
        const char **events; /* as given by the user */
        size_t n_events;
        FlightOutput output;
        Watch *watch;
        sd_event_source *source;
        Series *series; /* NULL: each snapshot has an output of its own */
        bool is_wanted, limit_reported;
        uint64_t n_moments; /* moments kept before the last snapshot */
        unsigned n_taken;
};

int flight_new(Flight **ret) {
        *ret = calloc(1, sizeof(**ret));
        return *ret ? 0 : -ENOMEM;
}

Flight *flight_free(Flight *flight) {
        if (!flight)
                return NULL;
        sd_event_source_disable_unref(flight->source);
        series_free(flight->series);
        free(flight->events);
        free(flight);
        return NULL;
}

static size_t get_name_length(const char *event) {
        const char *filter = strstr(event, " if ");

        return filter ? (size_t)(filter - event) : strlen(event);
}

bool flight_is_signal(const char *text) {
        return strcmp(text, SIGNAL_NAME) == 0;
}

bool flight_is_exit(const char *text) {
        return strcmp(text, EXIT_NAME) == 0;
}

int flight_add(Flight *flight, const char *text, Reason *reason) {
        if (flight_is_signal(text) || flight_is_exit(text)) {
                *(flight_is_signal(text) ? &flight->on_signal : &flight->on_exit) = true;
                return 0;
        }
        size_t length = get_name_length(text);
        if (!memchr(text, ':', length) || memchr(text, ' ', length))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--snapshot-on: expected " SIGNAL_NAME ", " EXIT_NAME
                                " or SYSTEM:EVENT [if FILTER], got \"%s\"",
                                text);
        const char **events = reallocarray(flight->events, flight->n_events + 1, sizeof(*events));
        if (!events)
                return -ENOMEM;
        events[flight->n_events++] = text;
        flight->events = events;
        return 0;
}

int flight_block_signal(const Flight *flight) {
        sigset_t mask;

        if (!flight->on_signal)
                return 0;
        (void)sigemptyset(&mask);
        (void)sigaddset(&mask, SIGUSR1);
        return sigprocmask(SIG_BLOCK, &mask, NULL) < 0 ? -errno : 0;
}

static int flight_add_trigger(json_object *triggers,
                const char *when,
                const char *action,
                int count) {
        json_object *trigger = json_object_new_object();

        if (!trigger || json_object_array_add(triggers, trigger) < 0) {
                json_object_put(trigger);
                return -ENOMEM;
        }
        if (json_object_object_add(trigger, "when", json_object_new_string(when)) < 0 ||
                        json_object_object_add(trigger, "do", json_object_new_string(action)) < 0)
                return -ENOMEM;
        if (count > 0 && json_object_object_add(trigger, "count", json_object_new_int(count)) < 0)
                return -ENOMEM;
        return 0;
}

/* The snapshot trigger fires once, because the kernel can keep only one moment. A second one
 * before the snapshot is taken would swap the first moment back into the buffer that is
 * overwritten. */
static int add_moment(json_object *triggers, const char *event) {
        int r = flight_add_trigger(triggers, event, "snapshot", 1);

        return r ?: flight_add_trigger(triggers, event, "notify", 0);
}

int flight_complete(const Flight *flight, json_object *spec, Origins *origins) {
        json_object *triggers = json_object_object_get(spec, "triggers");

        if (flight->n_events == 0)
                return 0;
        int r = origins_add(origins, &(Origin){ .option = "--snapshot-on" }, "triggers");
        if (!triggers) {
                triggers = json_object_new_array();
                if (!triggers || json_object_object_add(spec, "triggers", triggers) < 0)
                        return -ENOMEM;
        }
        for (size_t i = 0; r == 0 && i < flight->n_events; i++) {
                size_t before = json_object_array_length(triggers);

                r = add_moment(triggers, flight->events[i]);
                for (size_t j = before; r == 0 && j < json_object_array_length(triggers); j++)
                        r = origins_add_when(origins, j, "--snapshot-on", flight->events[i]);
        }
        return r;
}

static int flight_on_signal(sd_event_source *source,
                const struct signalfd_siginfo *si,
                void *userdata) {
        Flight *flight = userdata;

        flight->is_wanted = true;
        return 0;
}

static bool flight_is_ours(const Flight *flight, const char *event) {
        for (size_t i = 0; i < flight->n_events; i++)
                if (strlen(event) == get_name_length(flight->events[i]) &&
                                strncmp(event, flight->events[i], strlen(event)) == 0)
                        return true;
        return false;
}

static void on_reported(json_object *signal, void *userdata) {
        json_object *notice = json_object_object_get(signal, "notice");
        Flight *flight = userdata;

        const char *kind = json_object_get_string(json_object_object_get(notice, "kind")),
                   *event = json_object_get_string(json_object_object_get(notice, "event"));
        if (kind && event && strcmp(kind, "notify") == 0 && flight_is_ours(flight, event))
                flight->is_wanted = true;
}

int flight_watch(Flight *flight, const FlightOutput *output, Watch *watch) {
        int r = 0;

        flight->output = *output;
        flight->watch = watch;
        if (flight->on_signal)
                r = sd_event_add_signal(
                                watch->event, &flight->source, SIGUSR1, flight_on_signal, flight);
        if (flight->n_events > 0)
                watch_set_listener(watch, on_reported, flight);
        if (r >= 0 && output_is_channel(output->output))
                r = series_new(output->series_fd, watch, &flight->is_wanted, &flight->series);
        return MIN_OF(r, 0);
}

bool flight_is_wanted(const Flight *flight) {
        return flight->is_wanted && !flight->limit_reported;
}

bool flight_is_at_exit(const Flight *flight) {
        return flight->on_exit || (!flight->on_signal && flight->n_events == 0);
}

/* Returns how often a trigger has fired. entry holds the trigger's index and its remaining
 * count. */
static uint64_t get_moments(json_object *triggers, json_object *entry) {
        size_t place = (size_t)json_object_get_uint64(json_object_object_get(entry, "trigger"));
        json_object *trigger = json_object_array_get_idx(triggers, place);
        const char *action = json_object_get_string(json_object_object_get(trigger, "do"));
        uint64_t count = json_object_get_uint64(json_object_object_get(trigger, "count")),
                 left = json_object_get_uint64(json_object_object_get(entry, "left"));

        return action && strcmp(action, "snapshot") == 0 && left < count ? count - left : 0;
}

static int count_moments(const Flight *flight, uint64_t *ret, Reason *reason) {
        _cleanup_json_ json_object *description = NULL;
        const Watch *watch = flight->watch;
        json_object *triggers, *left;

        int r = proxy_get(watch->proxy, watch->session, "Describe", NULL, &description, reason);
        if (r != 0)
                return r;
        left = json_object_object_get(description, "left");
        triggers = json_object_object_get(json_object_object_get(description, "spec"), "triggers");
        if (!json_object_is_type(left, json_type_array) ||
                        !json_object_is_type(triggers, json_type_array))
                return 0;
        for (size_t i = 0; i < json_object_array_length(left); i++)
                *ret += get_moments(triggers, json_object_array_get_idx(left, i));
        return 0;
}

int flight_look(Flight *flight, Reason *reason) {
        uint64_t n = 0;

        int r = flight->n_events > 0 ? count_moments(flight, &n, reason) : 0;
        if (n > flight->n_moments)
                flight->is_wanted = true;
        return r;
}

unsigned flight_get_n_taken(const Flight *flight) {
        return flight->n_taken;
}

int flight_make_path(const char *path, unsigned number, char **ret) {
        const char *slash = strrchr(path, '/'), *suffix = strrchr(path, '.'),
                   *name = slash ? slash + 1 : path;
        size_t length = suffix && suffix > name ? (size_t)(suffix - path) : strlen(path);

        if (number == 0 || strcmp(path, "-") == 0)
                *ret = strdup(path);
        else if (asprintf(ret, "%.*s.%u%s", (int)length, path, number, path + length) < 0)
                *ret = NULL;
        return *ret ? 0 : -ENOMEM;
}

static int follow(Flight *flight, Transfer *transfer, Reason *reason) {
        while (!transfer_is_done(transfer)) {
                if (flight->watch->given_up)
                        return reason_set(reason, KT_E_CANCELLED, "interrupted");
                int r = watch_run(flight->watch, UINT64_MAX);
                if (r < 0)
                        return r;
        }
        return transfer_get_result(transfer, reason);
}

static int flight_take_snapshot(Flight *flight, Output *output, Reason *reason) {
        _cleanup_(transfer_free_cleanup) Transfer *transfer = NULL;
        char events[TABLE_NUMBER_MAX], bytes[TABLE_NUMBER_MAX];
        ExportSummary converted;
        bool is_converted = false;

        int r = output_begin(output, reason);
        r = r
                            ?: transfer_open_snapshot(flight->watch->proxy,
                                               flight->watch->session,
                                               output,
                                               &transfer,
                                               reason);
        r = r ?: follow(flight, transfer, reason);
        r = r ?: output_finish(output, &converted, &is_converted, reason);
        if (r != 0)
                return r;
        transfer_count(transfer, !flight->output.quiet && !is_converted);
        const ExportSummary *summary = is_converted ? &converted : transfer_get_summary(transfer);
        const char *missing = transfer_find_missing(transfer, summary);
        if (missing && summary->complete) {
                message_print("%s: %s", output_get_name(output), missing);
                if (!is_converted)
                        transfer_count(transfer, true);
                /* The events in this file cannot be read again, so the file is kept. */
                flight->n_taken += summary->n_events > 0;
                return -ECONNRESET;
        }
        if (missing)
                return reason_set(reason, KT_E_FAILED, "%s: %s", output_get_name(output), missing);
        if (!flight->output.quiet && !flight->series)
                message_print("%s: %s event%s%s%s",
                                output_get_name(output),
                                table_format_number(events, summary->n_events),
                                summary->n_events == 1 ? "" : "s",
                                output_get_size(output) > 0 ? ", " : "",
                                output_get_size(output) > 0
                                                ? table_format_bytes(bytes, output_get_size(output))
                                                : "");
        return 0;
}

/* The near side has the file. Its name is in the messages. */
static int flight_begin_stream(const Flight *flight, Reason *reason) {
        char *path = NULL;
        int r = series_await(flight->series, reason);

        r = r ?: flight_make_path(flight->output.path, flight->n_taken, &path);
        if (r == 0)
                output_take_path(flight->output.output, path);
        return r;
}

static int flight_open_own(const Flight *flight, Output **ret, Reason *reason) {
        _cleanup_free_ char *path = NULL;
        int r = flight_make_path(flight->output.path, flight->n_taken, &path);

        r = r ?: output_open(path, flight->output.format, ret, reason);
        if (r == 0 && output_is_plain(flight->output.output))
                output_set_plain(*ret);
        return r;
}

/* taken: the result of the snapshot, which remains the result if it is a failure. */
static int flight_end_stream(Flight *flight, bool is_kept, int taken, Reason *reason) {
        Reason why = {};
        int r = series_end_stream(flight->series, is_kept, &why);

        if (taken == 0)
                *reason = why;
        return taken ?: r;
}

int flight_take(Flight *flight, Reason *reason) {
        _cleanup_(output_free_cleanup) Output *own = NULL;
        unsigned n_before = flight->n_taken;
        uint64_t n_moments = 0;
        Reason ignored;
        int r = 0;

        flight->is_wanted = false;
        if (flight->n_taken == FLIGHT_SNAPSHOTS_MAX) {
                flight->limit_reported = true;
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "%u snapshots were taken, the maximum for one recording",
                                FLIGHT_SNAPSHOTS_MAX);
        }
        if (flight->series) {
                r = flight_begin_stream(flight, reason);
                if (r != 0)
                        return r;
        } else if (flight->n_taken > 0)
                r = flight_open_own(flight, &own, reason);
        /* If this fails, flight_look() may request one more snapshot. */
        if (r == 0 && flight->n_events > 0)
                (void)count_moments(flight, &n_moments, &ignored);
        r = r ?: flight_take_snapshot(flight, own ?: flight->output.output, reason);
        if (r == 0) {
                flight->n_taken++;
                flight->n_moments = MAX_OF(flight->n_moments, n_moments);
        } else if (own && r != -ECONNRESET) /* the first output is still needed */
                output_discard(own);
        return flight->series ? flight_end_stream(flight, flight->n_taken > n_before, r, reason)
                              : r;
}
