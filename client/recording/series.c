/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The recording's side of a series of snapshots: see series.h. The bytes of two snapshots must not
 * be in the pipe at the same time, because nothing in the pipe shows where the second one begins.
 * So the recording waits for an answer after each snapshot.
 *
 * A request for a snapshot comes as a message and not as a signal: it waits in the socket when it
 * comes before the recording is ready. Owns the event source. */

#include "recording/series.h"

#include <errno.h>
#include <sys/socket.h>

struct Series {
        int fd;
        Watch *watch;
        sd_event_source *source;
        bool *is_wanted;
        unsigned n_unanswered;
        bool is_over;
};

static int series_on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Series *series = userdata;
        char message;
        ssize_t n = recv(fd, &message, sizeof(message), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n == sizeof(message)) {
                *series->is_wanted = *series->is_wanted || message == SERIES_WANTED;
                series->n_unanswered -= message == SERIES_GO && series->n_unanswered > 0;
                return 0;
        }
        series->is_over = true;
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

int series_new(int fd, Watch *watch, bool *is_wanted, Series **ret) {
        Series *series = malloc(sizeof(*series));

        if (!series)
                return -ENOMEM;
        *series = (Series){ .fd = fd, .watch = watch, .is_wanted = is_wanted };
        int r = sd_event_add_io(
                        watch->event, &series->source, fd, EPOLLIN, series_on_readable, series);
        if (r < 0) {
                free(series);
                return r;
        }
        *ret = series;
        return 0;
}

Series *series_free(Series *series) {
        if (!series)
                return NULL;
        sd_event_source_disable_unref(series->source);
        free(series);
        return NULL;
}

int series_await(Series *series, Reason *reason) {
        while (series->n_unanswered > 0 && !series->is_over) {
                if (series->watch->given_up)
                        return reason_set(reason, KT_E_CANCELLED, "interrupted");
                int r = watch_run(series->watch, UINT64_MAX);
                if (r < 0)
                        return r;
        }
        return series->n_unanswered == 0 ? 0 : -EPIPE;
}

int series_end_stream(Series *series, bool is_kept, Reason *reason) {
        char message = is_kept ? SERIES_KEEP : SERIES_DROP;

        if (send(series->fd, &message, sizeof(message), MSG_NOSIGNAL) < 0)
                return -errno;
        series->n_unanswered++;
        return series_await(series, reason);
}
