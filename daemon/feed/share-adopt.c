/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Shares over a restart of the daemon. The next daemon takes over the reader, the pipes and the
 * memory, which the service manager keeps. Until the traces of all viewers are adopted, it sends
 * nothing to the reader. Then the reader drops the viewers whose sessions have ended. If the reader
 * is gone, another one takes its place. */

#include "feed/share-adopt.h"

#include <errno.h>
#include <string.h>

#include "feed/share-reader.h"
#include "policy/same.h"
#include "trace/shared.h"
#include "trace/trace-adopt.h"

static Share *share_find_id(const struct ShareList *list, const char *id) {
        Share *share;

        TAILQ_FOREACH(share, list, shares)
                if (strcmp(share->shared->id, id) == 0)
                        return share;
        return NULL;
}

bool share_exists(const struct ShareList *list, const char *id) {
        return share_find_id(list, id);
}

bool share_get_kept(const ShareViewer *viewer, ShareKept *ret) {
        if (!viewer || !viewer->class)
                return false;
        const Share *share = viewer->share;

        *ret = (ShareKept){
                .buffer_kb = share->shared->buffer_kb,
                .viewer = viewer->number,
                .class = (uint32_t)(viewer->class - share->classes),
                .is_moved = viewer->is_moved,
        };
        memcpy(ret->id, share->shared->id, sizeof(ret->id));
        return true;
}

void share_leave_all(const struct ShareList *list) {
        Share *share;

        TAILQ_FOREACH(share, list, shares) {
                share->link.consumer = consumer_release(share->link.consumer);
                share->fd_store = NULL; /* the end of the viewers forgets nothing */
        }
}

static int share_find_adopted(const ShareOptions *options,
                const ShareKept *kept,
                const Trace *trace,
                Share **ret) {
        uid_t uid = trace->owner->uid;
        const char *clock = trace->spec->clock;
        Shared *shared = NULL;
        Share *share = share_find_id(options->list, kept->id);

        if (share) {
                bool fits = share_is_for(share, trace) &&
                            share->shared->buffer_kb == kept->buffer_kb &&
                            strcmp(share->shared->clock, clock) == 0;

                *ret = share;
                return fits ? 0 : -EBADMSG;
        }
        int r = shared_new(options->tracefs, kept->id, clock, kept->buffer_kb, &shared);
        r = r ?: share_make(options, uid, shared, &share);
        if (r < 0)
                return r;
        share->is_adopting = true;
        share->is_alone = kept->is_moved;
        *ret = share;
        return share_adopt_reader(share);
}

/* The grants of all viewers of a class are equal: they see the same memory. */
static int share_adopt_class(ShareViewer *viewer, ShareClass *class) {
        Share *share = viewer->share;
        char name[64];

        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++) {
                const ShareViewer *other = share->viewers[i];

                if (other && other->class == class &&
                                !grant_is_same(other->trace->grant, viewer->trace->grant))
                        return -EBADMSG;
        }
        share_make_pool_name(share, class, name);
        if (class->pool < 0)
                class->pool = fd_store_take(share->fd_store, name);
        if (class->pool < 0)
                return -ENOENT;
        viewer->class = class;
        class->n_viewers++;
        return share_ends_view_pool(&viewer->ends, class->pool);
}

static int share_adopt_viewer(ShareViewer *viewer, const ShareKept *kept) {
        Share *share = viewer->share;

        int r = share_ends_adopt(&viewer->ends, share->fd_store, viewer->trace->id);
        viewer->is_moved = kept->is_moved;
        /* The last daemon ended in the middle of a move: the next instance is gone. */
        if (r == 0 && viewer->ends.mapped->move_nsec != 0 && !viewer->is_moved)
                r = -ENOENT;
        r = r ?: share_adopt_class(viewer, &share->classes[kept->class]);
        r = r ?: trace_adopt_shared(viewer->trace, share->shared);
        if (r < 0)
                return r;
        viewer->has_joined = viewer->ends.mapped->is_joined;
        viewer->is_adopted = viewer->is_pending = true;
        share->n_pending++;
        return 0;
}

int share_adopt(const ShareOptions *options,
                const ShareKept *kept,
                Trace *trace,
                const ShareHandlers *handlers,
                void *userdata,
                ShareViewer **ret) {
        ShareViewer *viewer = NULL;
        Share *share = NULL;

        if (kept->viewer >= SHARE_VIEWERS_MAX || kept->class >= SHARE_VIEWERS_MAX)
                return -EBADMSG;
        int r = share_find_adopted(options, kept, trace, &share);
        if (r == 0 && share->viewers[kept->viewer])
                r = -EBADMSG;
        r = r ?: share_add_viewer(share, kept->viewer, trace, &viewer);
        if (r < 0)
                return r;
        r = share_adopt_viewer(viewer, kept);
        if (r < 0) {
                share_viewer_free(viewer);
                return r;
        }
        share_connect(viewer, handlers, userdata);
        *ret = viewer;
        return 0;
}

void share_end_adoption(const struct ShareList *list) {
        Share *share, *next;

        for (share = TAILQ_FIRST(list); share; share = next) {
                next = TAILQ_NEXT(share, shares);
                share->is_adopting = false;
                if (share->n_viewers > 0)
                        continue;
                share_forget_reader(share);
                share_free(share);
        }
}
