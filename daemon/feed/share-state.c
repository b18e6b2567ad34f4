/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The state of a share: its viewers and their classes. share-reader.c has the process that reads
 * the instance, share.c what sessions do, and share-adopt.c the restart of the daemon. */

#include "feed/share-state.h"

#include <errno.h>

#include "base/fd.h"
#include "interfaces/defence.h"
#include "policy/same.h"
#include "trace/shared.h"

void share_make_pool_name(const Share *share, const ShareClass *class, char name[static 64]) {
        (void)snprintf(name, 64, "share-pool-%s-%td", share->shared->id, class - share->classes);
}

Share *share_free(Share *share) {
        share->link.consumer = consumer_free(share->link.consumer);
        if (share->list)
                TAILQ_REMOVE(share->list, share, shares);
        share->list = NULL;
        if (share->rings_in_flight) {
                plan_cancel(&share->rings);
                share->is_orphan = true;
                return NULL;
        }
        feed_link_clear(&share->link);
        fd_close_all(&share->ring_fds, share->n_ring_fds);
        shared_free(share->shared);
        free(share);
        return NULL;
}

void share_drop_place(Share *share) {
        if (--share->n_viewers == 0 && !share->is_adopting)
                share_free(share);
}

unsigned share_count_user(const Share *share, uid_t uid) {
        unsigned n = 0;

        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                n += share->viewers[i] && share->viewers[i]->trace->owner->uid == uid;
        return n;
}

static bool share_has_others(const Share *share, uid_t uid) {
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (share->viewers[i] && share->viewers[i]->trace->owner->uid != uid)
                        return true;
        return false;
}

static bool share_viewer_allows(const ShareViewer *viewer, const Trace *trace) {
        uid_t uid = viewer->trace->owner->uid;
        unsigned n = share_count_user(viewer->share, uid) + (trace->owner->uid == uid);

        return n <= SHARE_OF_USER_MAX && grant_records_same(viewer->trace->grant, trace->grant);
}

/* A viewer with many events fills the ring for all viewers, and each viewer costs the reader time,
 * so one viewer could cause losses for another one. Sessions of one user may do this to each other.
 * Users share only if all of them record the same: then the ring holds nothing that one of them
 * would not have in an instance of its own. */
bool share_is_for(const Share *share, const Trace *trace) {
        if (!share_has_others(share, trace->owner->uid) || !defence_is_on("share-users"))
                return true;
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (share->viewers[i] && !share_viewer_allows(share->viewers[i], trace))
                        return false;
        return true;
}

int share_add_viewer(Share *share, unsigned number, Trace *trace, ShareViewer **ret) {
        ShareViewer *viewer = calloc(1, sizeof(*viewer));

        if (!viewer)
                return -ENOMEM;
        *viewer = (ShareViewer){
                .share = share,
                .trace = trace,
                .number = number,
                .off = -1,
                .wanted_off = -1,
                .ends = SHARE_ENDS_NONE,
        };
        trace->viewer = number;
        share->viewers[number] = viewer;
        share->n_viewers++;
        share->n_active++;
        *ret = viewer;
        return 0;
}

void share_connect(ShareViewer *viewer, const ShareHandlers *handlers, void *userdata) {
        Trace *trace = viewer->trace;

        viewer->handlers = handlers;
        viewer->userdata = userdata;
        trace->shared = viewer->share->shared;
        trace->viewed = viewer->ends.mapped->counters;
        trace->view_fds = viewer->ends.views;
}
