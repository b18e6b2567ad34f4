/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which viewer of a shared instance fills the ring with events that only it gets. */

#include "page-builder.h"

#include "consumer/mux/crowd.h"
#include "consumer/mux/event-set.h"

#define SECOND UINT64_C(1000000000)
#define RING   10000 /* bytes */

/* Viewers 0 and 1, each with a class of its own. Both have joined. */
typedef struct Rig {
        Crowd crowd;
        Batch batch;
        MuxViewer *viewers[SHARE_VIEWERS_MAX];
} Rig;

static MuxViewer *make_viewer(const uint16_t *ids, size_t n_ids) {
        MuxViewer *viewer = g_new0(MuxViewer, 1);

        viewer->class = g_new0(Class, 1);
        viewer->class->n_viewers = 1;
        viewer->memory = g_new0(ShareMemory, 1);
        viewer->memory->is_joined = true;
        for (size_t i = 0; i < n_ids; i++)
                event_bits_add(&viewer->class->choice.keep, ids[i]);
        return viewer;
}

/* Both viewers get the event 301. The first one also gets 300, and the second one 302. */
static void rig_init(Rig *rig) {
        *rig = (Rig){};
        g_assert_cmpint(crowd_init(&rig->crowd), ==, 0);
        g_assert_cmpint(batch_init(&rig->batch, PAGE_SIZE_TEST), ==, 0);
        rig->viewers[0] = make_viewer((uint16_t[]){ 300, 301 }, 2);
        rig->viewers[1] = make_viewer((uint16_t[]){ 301, 302 }, 2);
}

static void rig_clear(Rig *rig) {
        for (unsigned i = 0; i < 2; i++) {
                g_free(rig->viewers[i]->class);
                g_free(rig->viewers[i]->memory);
                g_free(rig->viewers[i]);
        }
        crowd_clear(&rig->crowd);
        batch_clear(&rig->batch);
}

/* Counts so many records of the events 300, 301 and 302. */
static void count(Rig *rig, unsigned n_300, unsigned n_301, unsigned n_302) {
        const unsigned n[] = { n_300, n_301, n_302 };
        PageBuilder builder;

        page_begin(&builder, rig->batch.bytes);
        for (uint16_t id = 0; id < G_N_ELEMENTS(n); id++)
                for (unsigned i = 0; i < n[id]; i++)
                        page_add_record(&builder, 300 + id, 1, 32);
        batch_index(&rig->batch, 0, page_end(&builder, 0));
        crowd_count(&rig->crowd, &rig->batch);
}

static uint32_t choose(Rig *rig) {
        crowd_note(&rig->crowd, 0, RING, true);
        return crowd_choose(&rig->crowd, rig->viewers);
}

#define NONE SHARE_VIEWERS_MAX

static void test_own(void) {
        Rig rig;

        rig_init(&rig);
        count(&rig, 10, 20, 9);
        g_assert_cmpuint(choose(&rig), ==, 0);
        rig_clear(&rig);

        rig_init(&rig);
        count(&rig, 9, 20, 10);
        g_assert_cmpuint(choose(&rig), ==, 1);
        rig_clear(&rig);
}

/* Without the viewer the ring must have much more room. */
static void test_least(void) {
        Rig rig;

        rig_init(&rig);
        count(&rig, 24, 76, 0);
        g_assert_cmpuint(choose(&rig), ==, NONE);
        count(&rig, 2, 0, 0);
        g_assert_cmpuint(choose(&rig), ==, 0);
        rig_clear(&rig);
}

static void test_shared(void) {
        static EventSet off;
        Rig rig;

        rig_init(&rig);
        count(&rig, 1, 90, 1);
        g_assert_cmpuint(choose(&rig), ==, NONE);
        event_bits_add(&off.bits, 301);
        rig.viewers[0]->off = &off;
        g_assert_cmpuint(choose(&rig), ==, 1);
        rig_clear(&rig);
}

/* The other viewers of the class get the pieces of the same pool. */
static void test_class(void) {
        Rig rig;

        rig_init(&rig);
        count(&rig, 90, 5, 5);
        rig.viewers[0]->class->n_viewers = 2;
        g_assert_cmpuint(choose(&rig), ==, NONE);
        rig_clear(&rig);
}

/* A viewer that has not joined, or has moved, gets no event. */
static void test_not_joined(void) {
        Rig rig;

        rig_init(&rig);
        count(&rig, 90, 5, 5);
        rig.viewers[1]->memory->has_moved = true;
        g_assert_cmpuint(choose(&rig), ==, NONE);
        rig.viewers[1]->memory->has_moved = false;
        g_assert_cmpuint(choose(&rig), ==, 0);
        rig_clear(&rig);
}

static void test_level(void) {
        Rig rig;

        rig_init(&rig);
        count(&rig, 90, 5, 5);
        crowd_note(&rig.crowd, RING * 3 / 4 - 1, RING, false);
        g_assert_cmpuint(crowd_choose(&rig.crowd, rig.viewers), ==, NONE);
        crowd_note(&rig.crowd, RING * 3 / 4, RING, false);
        crowd_note(&rig.crowd, 0, RING, false); /* another ring */
        g_assert_cmpuint(crowd_choose(&rig.crowd, rig.viewers), ==, 0);
        rig_clear(&rig);
}

/* It is named once in a second, while the ring is crowded. */
static void test_quiet(void) {
        Rig rig;

        rig_init(&rig);
        count(&rig, 90, 5, 5);
        g_assert_cmpuint(choose(&rig), ==, 0);
        g_assert_cmpuint(choose(&rig), ==, NONE);
        crowd_pass_time(&rig.crowd, SECOND - 1);
        g_assert_cmpuint(choose(&rig), ==, NONE);
        crowd_pass_time(&rig.crowd, 1);
        g_assert_cmpuint(crowd_choose(&rig.crowd, rig.viewers), ==, NONE);
        g_assert_cmpuint(choose(&rig), ==, 0);
        rig_clear(&rig);
}

/* What was noisy some seconds ago does not count. */
static void test_old(void) {
        Rig rig;

        rig_init(&rig);
        count(&rig, 90, 0, 0);
        for (unsigned i = 0; i < 4; i++)
                crowd_pass_time(&rig.crowd, SECOND);
        count(&rig, 0, 0, 8);
        g_assert_cmpuint(choose(&rig), ==, 1);
        for (unsigned i = 0; i < 64; i++)
                crowd_pass_time(&rig.crowd, SECOND);
        g_assert_cmpuint(rig.crowd.n_ids, ==, 0);
        g_assert_cmpuint(choose(&rig), ==, NONE);
        count(&rig, 1, 0, 0);
        g_assert_cmpuint(choose(&rig), ==, 0);
        crowd_forget(&rig.crowd);
        crowd_pass_time(&rig.crowd, SECOND);
        g_assert_cmpuint(choose(&rig), ==, NONE);
        rig_clear(&rig);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/crowd/own", test_own);
        g_test_add_func("/crowd/least", test_least);
        g_test_add_func("/crowd/shared", test_shared);
        g_test_add_func("/crowd/class", test_class);
        g_test_add_func("/crowd/not-joined", test_not_joined);
        g_test_add_func("/crowd/level", test_level);
        g_test_add_func("/crowd/quiet", test_quiet);
        g_test_add_func("/crowd/old", test_old);
        return g_test_run();
}
