/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Streams that have outlived their sessions. A session that ends hands over its feed, so that its
 * client can read the rest. A drain ends when the feed is closed. It counts for the quota of its
 * user until then. */

#include "session/drain.h"

#include <stdlib.h>

#include "session/registry-idle.h"
#include "session/registry-status.h"

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

void drain_add(Registry *registry, Feed *feed, uid_t uid) {
        /* on_ready and on_released were already called, so only on_closed can follow. */
        static const FeedHandlers handlers = { .on_closed = drain_on_closed };
        static const FeedHandlers uncounted = { .on_closed = uncounted_on_closed };
        Drain *drain = malloc(sizeof(*drain));

        if (!drain) { /* the feed frees itself nevertheless */
                feed_detach(feed, &uncounted, NULL);
                return;
        }
        *drain = (Drain){ .registry = registry, .feed = feed, .uid = uid };
        TAILQ_INSERT_TAIL(&registry->drains, drain, drains);
        feed_detach(feed, &handlers, drain);
}

void drain_free_all(Registry *registry) {
        Drain *drain;

        while ((drain = TAILQ_FIRST(&registry->drains)))
                drain_free(drain);
}
