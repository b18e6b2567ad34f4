/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The live line of `record` on a terminal. The data comes from the daemon's GetStatistics, which is
 * called asynchronously, one call at a time. The line is cleared for a message (message.h) and at
 * the end. Owns its timer and the pending call. Does not count events itself. */

#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "message.h"
#include "table.h"

#define PROGRESS_USEC ((uint64_t)1000 * 1000)

struct Progress {
        Proxy *proxy;
        char *session;
        uint64_t start_usec;
        bool drawn;
        sd_event_source *timer;
        ProxyPending *pending;
};

static void progress_clear(void *userdata) {
        Progress *progress = userdata;

        if (progress->drawn)
                (void)fputs("\r\033[K", stderr);
        progress->drawn = false;
}

static uint64_t progress_number(json_object *statistics, const char *key) {
        return json_object_get_uint64(json_object_object_get(statistics, key));
}

static void progress_draw(Progress *progress, json_object *statistics) {
        char events[TABLE_NUMBER_MAX], bytes[TABLE_NUMBER_MAX], lost[TABLE_NUMBER_MAX] = "none";
        uint64_t now, seconds, n_lost = progress_number(statistics, "lost");

        if (sd_event_now(progress->proxy->event, CLOCK_MONOTONIC, &now) < 0)
                return;
        seconds = (now - progress->start_usec) / 1000000;
        if (n_lost > 0)
                table_format_number(lost, n_lost);
        (void)fprintf(stderr,
                        "\r\033[K%02" PRIu64 ":%02" PRIu64 "  %s events  %s  %s lost",
                        seconds / 60,
                        seconds % 60,
                        table_format_number(events, progress_number(statistics, "recorded")),
                        table_format_bytes(bytes, progress_number(statistics, "written-bytes")),
                        lost);
        (void)fflush(stderr);
        progress->drawn = true;
}

static void on_statistics(int result, const Reason *reason, json_object *answer, void *userdata) {
        Progress *progress = userdata;
        json_object *statistics = json_object_object_get(answer, "statistics");

        progress->pending = proxy_pending_free(progress->pending);
        /* When the call fails, the session is about to end, so the error is ignored. */
        if (result == 0 && statistics)
                progress_draw(progress, statistics);
}

static int on_second(sd_event_source *source, uint64_t usec, void *userdata) {
        Progress *progress = userdata;

        (void)sd_event_source_set_time_relative(source, PROGRESS_USEC);
        if (!progress->pending && !progress->proxy->lost)
                (void)proxy_begin(progress->proxy,
                                &(ProxyCall){ .session = progress->session,
                                                .method = "GetStatistics" },
                                on_statistics,
                                progress,
                                &progress->pending);
        return 0;
}

int progress_new(Proxy *proxy, const char *session, Progress **ret) {
        _cleanup_(progress_free_cleanup) Progress *progress = calloc(1, sizeof(*progress));
        int r;

        if (!progress)
                return -ENOMEM;
        progress->proxy = proxy;
        progress->session = strdup(session);
        if (!progress->session)
                return -ENOMEM;
        r = sd_event_now(proxy->event, CLOCK_MONOTONIC, &progress->start_usec);
        if (r < 0)
                return r;
        r = sd_event_add_time_relative(proxy->event,
                        &progress->timer,
                        CLOCK_MONOTONIC,
                        PROGRESS_USEC,
                        0,
                        on_second,
                        progress);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(progress->timer, SD_EVENT_ON);
        if (r < 0)
                return r;
        message_set_before(progress_clear, progress);
        *ret = TAKE_PTR(progress);
        return 0;
}

Progress *progress_free(Progress *progress) {
        if (!progress)
                return NULL;
        progress_clear(progress);
        message_set_before(NULL, NULL);
        sd_event_source_disable_unref(progress->timer);
        proxy_pending_free(progress->pending);
        free(progress->session);
        free(progress);
        return NULL;
}
