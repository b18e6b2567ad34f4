/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The memory of a share: its viewers and their classes. share-reader.c has the process that reads
 * the instance, share.c what sessions do, and share-adopt.c the restart of the daemon. */

#include "feed/share-state.h"

#include <errno.h>

#include "base/fd.h"
#include "interfaces/defence.h"
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

/* A viewer with many events fills the ring for all viewers. So users do not share with others: what
 * one user records costs no other user a record. */
bool share_is_for(const Share *share, uid_t uid) {
        return share->uid == uid || !defence_is_on("share-owner");
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
        trace->viewer = viewer->number;
        trace->viewed = viewer->ends.mapped->counters;
        trace->view_fds = viewer->ends.views;
}
