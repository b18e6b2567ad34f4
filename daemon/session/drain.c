/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Streams that have outlived their sessions. A session that ends hands over its feed, so that its
 * client can read the rest. A drain ends when the feed is closed. It counts for the quota of its
 * user until then.
 *
 * The memory of users' streams of the black box is root's cost, and users may read slowly or not at
 * all. So there is a number of them, and a newer one ends the oldest. A reader needs less than a
 * second, so those that read are served, however many others do not. */

#include "session/drain.h"

#include <stdlib.h>

#include "base/log.h"
#include "session/registry-idle.h"
#include "session/registry-status.h"

#define VIEWS_MAX 8 /* streams of users that are not read to their end */

static void drain_free(Drain *drain) {
        TAILQ_REMOVE(&drain->registry->drains, drain, drains);
        feed_free(drain->feed);
        free(drain);
}

/* Drains */

static void drain_on_closed(Feed *feed,
                int error _unused_,
                const char *text _unused_,
                void *userdata) {
        Drain *drain = userdata;
        Registry *registry = drain->registry;

        registry_count_feed(registry, feed);
        drain_free(drain);
        registry_idle_changed(registry);
}

static void uncounted_on_closed(Feed *feed,
                int error _unused_,
                const char *text _unused_,
                void *userdata _unused_) {
        feed_free(feed);
}

/* The drains are in the order of their age. */
static void drain_limit_views(Registry *registry) {
        Drain *drain, *oldest = NULL;
        size_t n = 0;

        TAILQ_FOREACH(drain, &registry->drains, drains) {
                if (!drain->is_view || drain->is_ending)
                        continue;
                if (!oldest)
                        oldest = drain;
                n++;
        }
        if (n <= VIEWS_MAX)
                return;
        log_write(LOG_NOTICE,
                        NULL,
                        "ended a stream of the black box that uid %u has not read: at most %d may be unread",
                        oldest->uid,
                        VIEWS_MAX);
        oldest->is_ending = true;
        feed_kill(oldest->feed, "it was not read");
}

void drain_add(Registry *registry, Feed *feed, uid_t uid, bool is_view) {
        /* on_ready and on_released were already called, so only on_closed can follow. */
        static const FeedHandlers handlers = { .on_closed = drain_on_closed };
        static const FeedHandlers uncounted = { .on_closed = uncounted_on_closed };
        Drain *drain = malloc(sizeof(*drain));

        if (!drain) { /* the feed frees itself nevertheless */
                feed_detach(feed, &uncounted, NULL);
                return;
        }
        *drain = (Drain){ .registry = registry, .feed = feed, .uid = uid, .is_view = is_view };
        TAILQ_INSERT_TAIL(&registry->drains, drain, drains);
        feed_detach(feed, &handlers, drain);
        drain_limit_views(registry);
}

void drain_free_all(Registry *registry) {
        Drain *drain;

        while ((drain = TAILQ_FIRST(&registry->drains)))
                drain_free(drain);
}
