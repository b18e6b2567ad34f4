/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Gives a session that fills the ring of others an instance of its own, so that it costs only
 * itself. session/session-move.c decides when, and submits the plans.
 *
 * The viewer keeps its pipes, its memory and its pool: its stream worker notices nothing. The two
 * readers follow each other as they do when one of them was killed (share-reader.c). Only the
 * instance is another one, so the earlier reader writes down for each CPU where the next one begins
 * (MOVE in control.h). A pool cannot be divided, so only a viewer that is alone in its class can
 * move: others of its class would record the same, and none of them could be the one that fills the
 * ring. */

#include "feed/share-move.h"

#include <errno.h>
#include <time.h>

#include "feed/share-reader.h"
#include "trace/metadata.h"
#include "trace/trace-move.h"

struct ShareMove {
        TraceMove *trace;
        Share *other;    /* that the viewer is not in */
        unsigned number; /* of its place there, which is held */
};

bool share_is_moving(const ShareViewer *viewer) {
        return viewer && viewer->move;
}

bool share_may_move(const ShareViewer *viewer) {
        clockid_t clock;

        return share_has_joined(viewer) && !viewer->has_ended && !viewer->is_pending &&
               !viewer->move && viewer->wanted == 0 && viewer->class->n_viewers == 1 &&
               !viewer->share->is_alone && viewer->share->held == 0 &&
               trace_can_move(viewer->trace) &&
               metadata_get_clock(viewer->share->shared->clock, &clock);
}

/* The place counts for the user as long as the kernel's instance may record for the viewer. */
static void share_hold(Share *share, unsigned number, const ShareViewer *viewer) {
        share->held |= UINT64_C(1) << number;
        share->holder = viewer->trace->owner->uid;
}

static void share_release(Share *share, unsigned number) {
        share->held &= ~(UINT64_C(1) << number);
        share_drop_place(share);
}

/* The sub-buffers must be as large as those that the stream worker knows, so the buffer is. The
 * process starts while the worker thread makes the instance, so that it reads early. */
static int share_make_next(const ShareViewer *viewer,
                const ShareOptions *options,
                Share **ret,
                Reason *reason) {
        const Shared *from = viewer->share->shared;
        Shared *shared = NULL;

        int r = shared_new(options->tracefs, NULL, from->clock, from->buffer_kb, &shared);
        r = r ?: share_make(options, viewer->trace->owner->uid, shared, ret);
        if (r < 0)
                return r;
        (*ret)->is_alone = true;
        (*ret)->n_viewers++;
        share_hold(*ret, 0, viewer);
        r = share_start(*ret, viewer->trace, reason);
        if (r != 0)
                share_release(*ret, 0);
        return r;
}

int share_begin_move(ShareViewer *viewer, const ShareOptions *options, Reason *reason) {
        ShareMove *move = calloc(1, sizeof(*move));

        if (!move)
                return -ENOMEM;
        int r = share_make_next(viewer, options, &move->other, reason);
        if (r != 0) {
                free(move);
                return r;
        }
        viewer->move = move;
        r = trace_move_new(viewer->trace, move->other->shared, &move->trace);
        if (r < 0)
                share_end_move(viewer);
        return r;
}

void share_plan_enter_next(ShareViewer *viewer, Plan *plan) {
        trace_plan_enter_next(viewer->move->trace, plan);
}

/* Marks are written to the next instance from now on. So their time decides which reader passes
 * them. */
void share_hand_over(ShareViewer *viewer, ShareThen then) {
        ShareMove *move = viewer->move;
        struct timespec now = {};
        clockid_t clock;

        if (viewer->share->has_failed || move->other->has_failed) {
                then(-ECANCELED, viewer->userdata);
                return;
        }
        trace_move_swap(move->trace, viewer->trace);
        /* Neither can fail: share_may_move() has looked for the clock. */
        (void)metadata_get_clock(viewer->share->shared->clock, &clock);
        (void)clock_gettime(clock, &now);
        viewer->move_nsec = control_nsec(&now);
        share_request(viewer, CONTROL_MOVE, then);
}

void share_plan_leave_other(ShareViewer *viewer, Plan *plan) {
        trace_plan_leave_other(viewer->move->trace, plan);
}

int share_leave_other_now(ShareViewer *viewer) {
        return share_is_moving(viewer) ? trace_leave_other_now(viewer->move->trace) : 0;
}

void share_end_move(ShareViewer *viewer) {
        ShareMove *move = viewer->move;

        if (!move)
                return;
        viewer->move = NULL;
        trace_move_free(move->trace);
        share_release(move->other, move->number);
        free(move);
}

/* The pool goes with the class. */
static void share_take_class(Share *to, ShareViewer *viewer) {
        ShareClass *class = &to->classes[0], *earlier = viewer->class;
        char name[64];

        share_make_pool_name(viewer->share, earlier, name);
        fd_store_forget(to->fd_store, name);
        *class = (ShareClass){ .n_viewers = 1, .pool = TAKE_FD(earlier->pool) };
        *earlier = (ShareClass){ .pool = -1 };
        share_make_pool_name(to, class, name);
        fd_store_put(to->fd_store, name, class->pool);
        viewer->class = class;
}

void share_take_over(ShareViewer *viewer) {
        ShareMove *move = viewer->move;
        Share *from = viewer->share, *to = move->other;

        share_take_class(to, viewer);
        move->other = from;
        move->number = viewer->number;
        from->viewers[viewer->number] = NULL;
        share_hold(from, viewer->number, viewer);
        share_drop_active(from);
        viewer->share = to;
        viewer->number = 0;
        viewer->is_moved = true;
        viewer->is_told = false;
        to->viewers[0] = viewer;
        to->held = 0;
        to->n_active++;
        share_open_rings(to);
}

void share_take_back(ShareViewer *viewer) {
        trace_move_swap(viewer->move->trace, viewer->trace);
}
