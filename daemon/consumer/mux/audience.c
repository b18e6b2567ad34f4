/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Passes a batch to all viewers of a shared instance. mux.c calls it for each batch of a ring. The
 * records are copied and cleaned once for each class of viewers (class.c), and each viewer gets
 * their place in the class's pool (viewer.c). Viewers of a class get another copy if they have
 * turned off other events, if they get another part of the batch (move.c), or if the batch has a
 * mark for them. */

#include "consumer/mux/audience.h"

#include "consumer/mux/move.h"

/* A batch, and those who get it. */
typedef struct Audience {
        MuxViewer *const *viewers;
        const Batch *batch;
        uint64_t read;
} Audience;

/* Returns whether the viewer gets the same pieces as another one. */
static bool audience_is_like(const MuxViewer *viewer, const MuxViewer *other) {
        return mux_viewer_is_joined(viewer) && viewer->class == other->class &&
               viewer->off == other->off && viewer->part.begin == other->part.begin &&
               viewer->part.end == other->part.end;
}

static void audience_put(const Audience *audience, unsigned number, const Piece *piece) {
        mux_viewer_put(audience->viewers[number], audience->batch->cpu, audience->read, piece);
}

/* A mark is copied for its own viewer only, together with the batch around it, so that the viewer
 * gets everything in order. */
static void audience_pass_marked(const Audience *audience, unsigned number) {
        const MuxViewer *viewer = audience->viewers[number];
        const ExtractPortion portion = mux_viewer_get_portion(viewer, number);
        Piece piece;

        class_fill(viewer->class, audience->batch, &portion, &piece);
        audience_put(audience, number, &piece);
        class_settle(viewer->class, &piece);
}

/* Passes the batch to this viewer and to those that get the same. */
static void audience_pass_to(const Audience *audience, unsigned first) {
        const MuxViewer *one = audience->viewers[first];
        const ExtractPortion portion = mux_viewer_get_portion(one, EXTRACT_NO_VIEWER);
        Piece piece;

        class_fill(one->class, audience->batch, &portion, &piece);
        for (unsigned i = first; i < SHARE_VIEWERS_MAX; i++) {
                if (!audience_is_like(audience->viewers[i], one))
                        continue;
                if (piece.mark_viewers >> i & 1)
                        audience_pass_marked(audience, i);
                else
                        audience_put(audience, i, &piece);
        }
        class_settle(one->class, &piece);
}

/* Returns whether a viewer before this one gets the same. */
static bool audience_has_like(MuxViewer *const *viewers, unsigned number) {
        for (unsigned i = 0; i < number; i++)
                if (audience_is_like(viewers[i], viewers[number]))
                        return true;
        return false;
}

unsigned audience_pass(MuxViewer *const *viewers, const Batch *batch, uint64_t read) {
        const Audience audience = { viewers, batch, read };
        unsigned n_joined = 0;

        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (mux_viewer_is_joined(viewers[i])) {
                        move_choose_part(viewers[i], batch);
                        n_joined++;
                }
        for (unsigned i = 0; i < SHARE_VIEWERS_MAX; i++)
                if (mux_viewer_is_joined(viewers[i]) && !audience_has_like(viewers, i))
                        audience_pass_to(&audience, i);
        return n_joined;
}
