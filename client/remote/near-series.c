/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The streams that near.c receives, one after the other, each with an output of its own. The first
 * output is opened before the host is called; a stream without bytes leaves it as it is.
 *
 * A flight recorder sends a stream for each snapshot. Each is completed in its own output before
 * more is read from the connection. A process of its own does that, because a conversion takes
 * long, and the host ends a recording whose near side is silent. A snapshot that cannot be written
 * is reported, and the recording goes on, as without -H. The host gets no more files than its user
 * has asked for snapshots.
 *
 * Owns the streams and all outputs but the first, which it borrows. */

#include "remote/near-series.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "recording/flight.h"
#include "terminal/message.h"

struct NearSeries {
        sd_event *event;
        const NearOptions *options;
        const ClockQuestion *clocks;
        void (*on_change)(void *userdata);
        void *userdata;
        NearStream *stream;          /* NULL: no byte of the next snapshot has come */
        Output *own_output;          /* of the stream, if it is not the first one */
        unsigned n_asked;            /* snapshots, by signals */
        unsigned n_begun;            /* streams */
        unsigned n_kept;             /* streams that are complete */
        bool is_dividing;            /* the stream has ended, and another one may follow */
        bool is_discarded;           /* the stream is no recording */
        bool is_skipping;            /* the stream has no output */
        sd_event_source *completing; /* the process that completes the output */
        int written;                 /* the worst exit status of the streams that are complete */
};

static int near_series_open(NearSeries *series, Output *output, Reason *reason) {
        int r = near_stream_new(series->event,
                        output,
                        series->on_change,
                        series->userdata,
                        &series->stream,
                        reason);

        if (r == 0 && series->clocks)
                near_stream_set_clocks(series->stream, series->clocks);
        return r;
}

int near_series_new(sd_event *event,
                const NearOptions *options,
                const ClockQuestion *clocks,
                void (*on_change)(void *userdata),
                void *userdata,
                NearSeries **ret,
                Reason *reason) {
        _cleanup_(near_series_free_cleanup) NearSeries *series = malloc(sizeof(*series));

        if (!series)
                return -ENOMEM;
        *series = (NearSeries){
                .event = sd_event_ref(event),
                .options = options,
                .clocks = clocks,
                .on_change = on_change,
                .userdata = userdata,
        };
        int r = near_series_open(series, options->output, reason);
        if (r == 0)
                *ret = TAKE_PTR(series);
        return r;
}

NearSeries *near_series_free(NearSeries *series) {
        if (!series)
                return NULL;
        sd_event_source_disable_unref(series->completing);
        near_stream_free(series->stream);
        output_free(series->own_output);
        sd_event_unref(series->event);
        free(series);
        return NULL;
}

void near_series_ask(NearSeries *series) {
        if (series)
                series->n_asked++;
}

/* A host could otherwise replace any number of older files. It may take a snapshot again that has
 * failed. */
static bool near_series_may_begin(const NearSeries *series) {
        unsigned most = series->options->has_events
                                        ? FLIGHT_SNAPSHOTS_MAX
                                        : MIN_OF(series->n_asked + 1, FLIGHT_SNAPSHOTS_MAX);

        return series->n_kept < most && series->n_begun < most * FLIGHT_TRIES;
}

static void near_series_open_next(NearSeries *series, NearLink *link) {
        const NearOptions *options = series->options;
        Reason reason = {};

        if (!near_series_may_begin(series)) {
                near_link_refuse(link, "it sends more snapshots than were asked for");
                series->is_skipping = true;
                return;
        }
        series->n_begun++;
        int r = options->open_output(
                        options->userdata, series->n_kept, &series->own_output, &reason);
        r = r ?: near_series_open(series, series->own_output, &reason);
        if (r == 0)
                return;
        series->own_output = output_free(series->own_output);
        (void)message_fail(r, &reason);
        series->written = KT_EXIT_FAILED;
        series->is_skipping = true;
}

void near_series_put(NearSeries *series, NearLink *link, const Packet *packet) {
        if (!series) {
                near_link_refuse(link, "it sends a stream that was not asked for");
                return;
        }
        if (!series->stream && !series->is_skipping)
                near_series_open_next(series, link);
        if (series->is_skipping)
                return;
        if (near_stream_put(series->stream, packet->data, packet->size) < 0)
                near_link_refuse(link, strerror(ENOMEM));
}

void near_series_divide(NearSeries *series, NearLink *link, bool is_discarded) {
        if (!series || !series->options->is_flight) {
                near_link_refuse(link, "it sends more streams than were asked for");
                return;
        }
        series->is_skipping = false;
        if (!series->stream || !near_stream_has_bytes(series->stream))
                return;
        series->is_dividing = true;
        series->is_discarded = is_discarded;
        near_stream_end(series->stream);
        series->on_change(series->userdata);
}

void near_series_close(NearSeries *series) {
        if (series && series->stream)
                near_stream_end(series->stream);
}

void near_series_end(NearSeries *series, bool is_discarded) {
        if (series)
                series->is_discarded = is_discarded;
        near_series_close(series);
}

/* The worst of two streams. */
static int near_series_join(int one, int other) {
        return one == KT_EXIT_FAILED || other == KT_EXIT_FAILED ? KT_EXIT_FAILED : one ?: other;
}

/* All bytes of the stream have come. */
static void near_series_complete(NearSeries *series, bool may_lack_end) {
        int written = KT_EXIT_OK;

        if (series->is_discarded)
                near_stream_discard(series->stream);
        else
                written = near_stream_finish(
                                series->stream, series->options->context->quiet, may_lack_end);
        series->written = near_series_join(series->written, written);
}

/* Another stream may come now. */
static void near_series_leave(NearSeries *series) {
        series->n_kept += !series->is_discarded;
        series->is_dividing = series->is_discarded = false;
        series->completing = sd_event_source_disable_unref(series->completing);
        series->stream = near_stream_free(series->stream);
        series->own_output = output_free(series->own_output);
}

static int near_series_on_completed(sd_event_source *source, const siginfo_t *si, void *userdata) {
        NearSeries *series = userdata;
        int status = si->si_code == CLD_EXITED ? si->si_status : KT_EXIT_FAILED;

        series->written = near_series_join(series->written, status);
        near_series_leave(series);
        series->on_change(series->userdata);
        return 0;
}

/* ^C is for the recording, so the process has a group of its own. It has no business with the
 * connection. */
static _Noreturn void near_series_run_completion(NearSeries *series, NearLink *link) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setpgid(0, 0);
        near_link_close(link);
        series->written = KT_EXIT_OK;
        near_series_complete(series, false);
        (void)fflush(NULL);
        _exit(series->written);
}

void near_series_advance(NearSeries *series, NearLink *link) {
        if (!near_series_is_done(series) || !series->is_dividing || series->completing)
                return;
        pid_t pid = series->is_discarded ? -1 : fork();

        if (pid == 0)
                near_series_run_completion(series, link);
        if (pid > 0 && sd_event_add_child(series->event,
                                       &series->completing,
                                       pid,
                                       WEXITED,
                                       near_series_on_completed,
                                       series) >= 0)
                return;
        /* It is dropped, or no process can be started: then a long conversion may cost the
         * connection. */
        if (pid < 0)
                near_series_complete(series, false);
        else
                near_link_refuse(link, strerror(ENOMEM));
        near_series_leave(series);
}

bool near_series_is_full(const NearSeries *series) {
        return series &&
               (series->is_dividing || (series->stream && near_stream_is_full(series->stream)));
}

bool near_series_is_done(const NearSeries *series) {
        return series && series->stream && near_stream_is_done(series->stream);
}

bool near_series_is_flushed(const NearSeries *series) {
        return !series || !series->stream ||
               (near_stream_is_done(series->stream) && !series->is_dividing);
}

bool near_series_has_kept(const NearSeries *series) {
        return series && series->n_kept > 0;
}

int near_series_finish(NearSeries *series, bool may_lack_end) {
        if (!series)
                return KT_EXIT_OK;
        if (series->completing) /* the user does not wait for it */
                return KT_EXIT_FAILED;
        if (!series->stream)
                return series->written;
        if (!near_stream_is_done(series->stream))
                near_stream_stop(series->stream);
        near_series_complete(series, may_lack_end);
        return series->written;
}

bool near_series_lacks_last(const NearSeries *series) {
        return series && series->stream &&
               (series->is_discarded || !near_stream_has_bytes(series->stream));
}
