/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The additional parts of the feed of a session whose consumer counts histograms. Such a feed
 * begins without a reader; readers attach and detach later. This file is a part of feed.h. feed.c
 * and the session call it in the event loop. Answers to questions about a histogram do not pass
 * through here: each answer has its own socket. */

#include "feed/feed-counts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "feed/feed-parts.h"
#include "feed/feed-setup.h"
#include "feed/feed.h"
#include "trace/trace-counts.h"

#define ATTACH_TIMEOUT_USEC 10000000

bool feed_is_counting(const Feed *feed) {
        return feed->is_counting;
}

bool feed_has_reader(const Feed *feed) {
        return feed->has_reader;
}

int feed_attach(Feed *feed, ControlSink kind) {
        const ControlMessage message = {
                .type = CONTROL_SINK,
                .version = CONTROL_VERSION,
                .sink = { .kind = kind },
        };
        _cleanup_close_ int sink = -1;

        if (!feed->consumer || feed->is_given_up || feed->finish.type)
                return -ESHUTDOWN;
        int r = feed_make_ends(kind, &sink, &feed->client_fd);
        r = r ?: consumer_send(feed->consumer, &message, &sink, 1);
        if (r < 0) {
                close_cleanup(&feed->client_fd);
                return r;
        }
        feed->has_reader = true;
        /* The consumer must answer READY before the timeout; otherwise the feed gives it up. */
        feed->is_ready = false;
        feed_set_timer(feed, ATTACH_TIMEOUT_USEC);
        return 0;
}

int feed_ask_counts(Feed *feed, uint32_t trigger, ControlCountsVerb verb, int fd) {
        const ControlMessage message = {
                .type = CONTROL_COUNTS,
                .version = CONTROL_VERSION,
                .counts = { .table = trigger, .verb = verb },
        };

        if (!feed->consumer || feed->is_given_up || feed->finish.type)
                return -ESHUTDOWN;
        return consumer_send(feed->consumer, &message, &fd, fd >= 0 ? 1 : 0);
}

void feed_on_rose(Feed *feed, const ControlMessage *message) {
        if (feed->trace && feed->handlers->on_hits)
                feed->handlers->on_hits(feed,
                                message->rose.table,
                                message->rose.delta,
                                (uint32_t)message->rose.key,
                                feed->userdata);
}

void feed_on_detached(Feed *feed, const ControlMessage *message) {
        char text[CONTROL_TEXT_MAX];

        if (!feed->has_reader || !feed->is_counting)
                return;
        feed->has_reader = false;
        snprintf(text, sizeof(text), "%.*s", CONTROL_TEXT_MAX - 1, message->status.text);
        if (feed->handlers->on_detached)
                feed->handlers->on_detached(feed, message->status.error, text, feed->userdata);
        /* The counts of each reader start at 0. */
        feed->counters = (FeedCounters){};
        feed->error = 0;
        feed->text[0] = '\0';
}
