/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sends STATUS= to the service manager (sd_notify(3)) from the event loop. It contains the numbers
 * of sessions and streams but no names, because all users can read it. Sends at most once per
 * second, and only when a number changes. */

#include "manager/status-line.h"

#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>

#include "interfaces/cleanup.h"
#include "session/registry-status.h"

#define PACE_USEC 1000000

struct StatusLine {
        const Registry *registry;
        sd_event_source *timer; /* enabled: send nothing until then */
        bool is_due;
        size_t n_sessions, n_streams; /* as last sent */
};

static void status_line_report(StatusLine *line) {
        size_t n_sessions, n_streams;

        line->is_due = false;
        registry_count(line->registry, &n_sessions, &n_streams);
        if (n_sessions == line->n_sessions && n_streams == line->n_streams)
                return;
        line->n_sessions = n_sessions;
        line->n_streams = n_streams;
        (void)sd_notifyf(0,
                        "STATUS=%zu session%s, %zu stream%s",
                        n_sessions,
                        n_sessions == 1 ? "" : "s",
                        n_streams,
                        n_streams == 1 ? "" : "s");
}

static void status_line_start_pause(StatusLine *line) {
        (void)sd_event_source_set_time_relative(line->timer, PACE_USEC);
        (void)sd_event_source_set_enabled(line->timer, SD_EVENT_ONESHOT);
}

static int status_line_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        StatusLine *line = userdata;

        if (line->is_due)
                status_line_report(line);
        return 0;
}

int status_line_new(sd_event *event, const Registry *registry, StatusLine **ret) {
        StatusLine *line = calloc(1, sizeof(*line));

        if (!line)
                return -ENOMEM;
        line->registry = registry;
        int r = sd_event_add_time_relative(event,
                        &line->timer,
                        CLOCK_MONOTONIC,
                        PACE_USEC,
                        PACE_USEC / 10,
                        status_line_on_timer,
                        line);
        if (r < 0) {
                status_line_free(line);
                return r;
        }
        (void)sd_event_source_set_description(line->timer, "status-line");
        *ret = line;
        return 0;
}

StatusLine *status_line_free(StatusLine *line) {
        if (!line)
                return NULL;
        sd_event_source_disable_unref(line->timer);
        free(line);
        return NULL;
}

void status_line_update(StatusLine *line) {
        if (!line || line->is_due)
                return;
        line->is_due = true;
        status_line_start_pause(line);
}
