/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A feed's connection to its consumer: the messages to it, and the time limit for its answers.
 * feed.c and share-reader.c use it in the event loop. The queue of a working stream worker is never
 * full, so a message that cannot be sent ends the wait at once. The reader of a shared instance may
 * work for long before it takes the next message. */

#include "feed/feed-link.h"

#include <errno.h>

#include "base/fd.h"
#include "base/log.h"

#define USEC_PER_SEC       1000000ULL
#define READY_TIMEOUT_USEC (10 * USEC_PER_SEC)
/* A FUSE server that does not answer blocks the process that examines its file. */
#define EXAMINE_TIMEOUT_USEC (2 * USEC_PER_SEC)

static void feed_link_look_later(FeedLink *link) {
        uint64_t limit_usec = link->patience.limit_nsec / 1000;

        (void)sd_event_source_set_time_relative(
                        link->timer, MIN_OF(limit_usec, PATIENCE_LOOK_USEC));
        (void)sd_event_source_set_enabled(link->timer, SD_EVENT_ONESHOT);
}

static int feed_link_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        FeedLink *link = userdata;

        if (patience_is_over(&link->patience))
                link->on_late(link->userdata);
        else
                feed_link_look_later(link);
        return 0;
}

int feed_link_init(FeedLink *link,
                sd_event *event,
                void (*on_late)(void *userdata),
                void *userdata) {
        *link = (FeedLink){ .on_late = on_late, .userdata = userdata };
        int r = sd_event_add_time_relative(event,
                        &link->timer,
                        CLOCK_MONOTONIC,
                        READY_TIMEOUT_USEC,
                        0,
                        feed_link_on_timer,
                        link);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(link->timer, "feed");
        /* The consumer has no process yet. */
        patience_begin(&link->patience, PATIENCE_WITH_WORK, 0, READY_TIMEOUT_USEC);
        /* The timer runs after the messages: a message that has already arrived is not late. */
        return sd_event_source_set_priority(link->timer, SD_EVENT_PRIORITY_NORMAL + 1);
}

void feed_link_clear(FeedLink *link) {
        link->timer = sd_event_source_disable_unref(link->timer);
}

void feed_link_set_timer(FeedLink *link, uint64_t usec) {
        if (usec == 0) {
                (void)sd_event_source_set_enabled(link->timer, SD_EVENT_OFF);
                return;
        }
        patience_begin(&link->patience, PATIENCE_WITH_WORK, consumer_get_pid(link->consumer), usec);
        feed_link_look_later(link);
}

void feed_link_await_reading(FeedLink *link, uint64_t usec) {
        patience_begin(&link->patience, PATIENCE_WITH_CALL, consumer_get_pid(link->consumer), usec);
        feed_link_look_later(link);
}

void feed_link_await_sink(FeedLink *link) {
        patience_begin(&link->patience,
                        PATIENCE_WITH_CALL,
                        consumer_get_pid(link->consumer),
                        EXAMINE_TIMEOUT_USEC);
        feed_link_look_later(link);
}

void feed_link_send(FeedLink *link, const ControlMessage *message, const int *fds, size_t n_fds) {
        int r = !link->consumer  ? 0
                : link->can_wait ? consumer_send_later(link->consumer, message, fds, n_fds)
                                 : consumer_send(link->consumer, message, fds, n_fds);

        if (r < 0 && r != -EPIPE && r != -ECONNRESET) { /* closed: on_closed reports it */
                log_errno(r,
                                LOG_WARNING,
                                NULL,
                                "cannot send to consumer %d",
                                consumer_get_pid(link->consumer));
                feed_link_set_timer(link, 1);
        }
}

void feed_link_send_type(FeedLink *link, ControlType type, const int *fds, size_t n_fds) {
        feed_link_send(link,
                        &(ControlMessage){ .type = type, .version = CONTROL_VERSION },
                        fds,
                        n_fds);
}

void feed_link_send_guard(FeedLink *link, const Trace *trace) {
        const int *fds = trace->guard_fds;

        if (fds[0] >= 0)
                feed_link_send_type(link, CONTROL_GUARD, fds, fds[1] >= 0 ? 2 : 1);
}

void feed_link_send_rings(FeedLink *link, unsigned n_cpus, const int *fds) {
        ControlMessage message;
        unsigned cpu = 0;
        size_t n_fds;

        while ((n_fds = consumer_prepare_rings(cpu, n_cpus, &message)) > 0) {
                feed_link_send(link, &message, fds, n_fds);
                fds += n_fds;
                cpu += message.rings.n;
        }
}

/* Sends at most CONTROL_MEMBERS_MAX members, starting with `first`. */
static void feed_link_send_some(FeedLink *link, const FeedMembers *members, size_t first) {
        size_t n = MIN_OF(members->n - first, (size_t)CONTROL_MEMBERS_MAX);
        ControlMessage message = {
                .type = CONTROL_MEMBERS,
                .version = CONTROL_VERSION,
                .members = { .n = (uint32_t)n,
                                .until_nsec = members->until_nsec,
                                .gap_nsec = members->gap_nsec,
                                .read_until_nsec = members->read_until_nsec },
        };

        _cleanup_close_ int fd = fd_memfd_sealed("members",
                        n > 0 ? members->members + first : NULL,
                        n * sizeof(ControlMember));
        if (fd < 0) { /* their records stay removed */
                log_errno(fd, LOG_ERR, NULL, "cannot send the members to a consumer");
                return;
        }
        feed_link_send(link, &message, &fd, 1);
}

void feed_link_send_members(FeedLink *link, const FeedMembers *members) {
        for (size_t i = 0; i == 0 || i < members->n; i += CONTROL_MEMBERS_MAX)
                feed_link_send_some(link, members, i);
}

void feed_link_send_inner_pids(FeedLink *link, const ControlInnerPid *pids, size_t n) {
        ControlMessage message = {
                .type = CONTROL_INNER_PIDS,
                .version = CONTROL_VERSION,
                .inner_pids = { .n = (uint32_t)n },
        };

        _cleanup_close_ int fd = fd_memfd_sealed("inner-pids", pids, n * sizeof(*pids));
        if (fd < 0) {
                log_errno(fd, LOG_WARNING, NULL, "cannot send the pids of a container");
                feed_link_end_inner_pids(link);
                return;
        }
        feed_link_send(link, &message, &fd, 1);
}

void feed_link_end_inner_pids(FeedLink *link) {
        feed_link_send_type(link, CONTROL_INNER_PIDS, NULL, 0);
}
