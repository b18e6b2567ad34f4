/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps the live line of `record` up to date. The counts come from the daemon's GetStatistics,
 * which is called asynchronously, one call at a time. Called by recording.c. Owns its timer, the
 * pending call and the line. Does not count events itself. */

#include "recording/live-counts.h"

#include <errno.h>
#include <string.h>

#include "terminal/progress.h"

#define LIVE_COUNTS_USEC ((uint64_t)1000 * 1000)

struct LiveCounts {
        Proxy *proxy;
        char *session;
        uint64_t start_usec;
        Progress *progress;
        sd_event_source *timer;
        ProxyPending *pending;
};

static uint64_t live_counts_number(json_object *statistics, const char *key) {
        return json_object_get_uint64(json_object_object_get(statistics, key));
}

static void live_counts_show(LiveCounts *counts, json_object *statistics) {
        uint64_t now;

        if (sd_event_now(counts->proxy->event, CLOCK_MONOTONIC, &now) < 0)
                return;
        progress_show(counts->progress,
                        &(ProgressCounts){
                                        .seconds = (now - counts->start_usec) / 1000000,
                                        .n_events = live_counts_number(statistics, "recorded"),
                                        .n_bytes = live_counts_number(statistics, "written-bytes"),
                                        .n_lost = live_counts_number(statistics, "lost"),
                        });
}

static void on_statistics(int result, const Reason *reason, json_object *answer, void *userdata) {
        LiveCounts *counts = userdata;
        json_object *statistics = json_object_object_get(answer, "statistics");

        counts->pending = proxy_pending_free(counts->pending);
        /* When the call fails, the session is about to end, so the error is ignored. */
        if (result == 0 && statistics)
                live_counts_show(counts, statistics);
}

static int on_second(sd_event_source *source, uint64_t usec, void *userdata) {
        LiveCounts *counts = userdata;

        (void)sd_event_source_set_time_relative(source, LIVE_COUNTS_USEC);
        if (!counts->pending && !counts->proxy->lost)
                (void)proxy_begin(counts->proxy,
                                &(ProxyCall){ .session = counts->session,
                                                .method = "GetStatistics" },
                                on_statistics,
                                counts,
                                &counts->pending);
        return 0;
}

int live_counts_new(Proxy *proxy, const char *session, LiveCounts **ret) {
        _cleanup_(live_counts_free_cleanup) LiveCounts *counts = calloc(1, sizeof(*counts));
        int r;

        if (!counts)
                return -ENOMEM;
        counts->proxy = proxy;
        counts->session = strdup(session);
        if (!counts->session)
                return -ENOMEM;
        r = sd_event_now(proxy->event, CLOCK_MONOTONIC, &counts->start_usec);
        if (r < 0)
                return r;
        r = sd_event_add_time_relative(proxy->event,
                        &counts->timer,
                        CLOCK_MONOTONIC,
                        LIVE_COUNTS_USEC,
                        0,
                        on_second,
                        counts);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(counts->timer, SD_EVENT_ON);
        if (r < 0)
                return r;
        r = progress_new(&counts->progress);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(counts);
        return 0;
}

LiveCounts *live_counts_free(LiveCounts *counts) {
        if (!counts)
                return NULL;
        progress_free(counts->progress);
        sd_event_source_disable_unref(counts->timer);
        proxy_pending_free(counts->pending);
        free(counts->session);
        free(counts);
        return NULL;
}
