/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sub-buffers of a fenced session: whose records stay. */

#include <glib.h>
#include <string.h>

#include "page-builder.h"

#include "consumer/records/mask-rules.h"

#define TYPE_PADDING 29U

typedef struct Fixture {
        Masks *masks;
        PageJudge judge;
        PageTally tally;
        PageSummary summary;
        uint8_t page[PAGE_SIZE_TEST], before[PAGE_SIZE_TEST];
        PageBuilder builder;
} Fixture;

static void note(Fixture *f, LifeEventKind kind, uint64_t nsec, uint32_t tid) {
        g_assert_cmpint(lives_note(f->judge.lives,
                                        &(LifeEvent){ .nsec = nsec, .kind = kind, .tid = tid }),
                        ==,
                        0);
}

static void set_up(Fixture *f, gconstpointer data _unused_) {
        _cleanup_json_ json_object *events = page_events_new();

        *f = (Fixture){};
        g_assert_cmpint(masks_new(events, true, &f->masks), ==, 0);
        f->judge = (PageJudge){ .masks = f->masks,
                .fork_id = EVENT_ID_FORK,
                .fork_child_offset = 8,
                .exit_id = EVENT_ID_EXIT,
                .exec_id = EVENT_ID_EXEC,
                .exec_old_offset = 16 };
        g_assert_cmpint(lives_new(&f->judge.lives), ==, 0);
        f->tally.pids = g_malloc0(PAGE_PIDS_MAX / 8);
        page_begin(&f->builder, f->page);
        note(f, LIFE_MEMBER, 0, 12);
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        masks_free(f->masks);
        lives_free(f->judge.lives);
        g_free(f->tally.pids);
}

static uint8_t *add(Fixture *f, uint64_t nsec, uint32_t pid) {
        uint8_t *body = page_add_at(&f->builder, nsec, EVENT_ID_NAMES, pid);

        memset(body + 8, 'x', 24);
        return body;
}

static void scan(Fixture *f) {
        page_end(&f->builder, 0);
        g_assert_cmpint(page_scan(&f->judge, f->page, sizeof(f->page), &f->tally, &f->summary),
                        ==,
                        0);
        memcpy(f->before, f->page, sizeof(f->page));
}

static void judge(Fixture *f) {
        scan(f);
        g_assert_cmpint(lives_advance(f->judge.lives, f->summary.last_nsec), ==, 0);
        page_judge(&f->judge, f->page, sizeof(f->page), &f->tally, &f->summary);
}

static bool was_kept(const Fixture *f, const uint8_t *body) {
        if (memcmp(body, f->before + (body - f->page), 32) == 0)
                return true;
        g_assert_cmphex(page_get_u32(body - 4) & 31, ==, TYPE_PADDING);
        g_assert_cmpuint(page_get_u32(body), ==, 32);
        for (size_t i = 4; i < 32; i++)
                g_assert_cmphex(body[i], ==, 0);
        return false;
}

static bool was_seen(const Fixture *f, uint32_t pid) {
        return f->tally.pids[pid / 8] & (1 << pid % 8);
}

static void test_members(Fixture *f, gconstpointer data _unused_) {
        add(f, 100, 12);
        add(f, 200, 12);
        judge(f);
        g_assert_cmpmem(f->page, sizeof(f->page), f->before, sizeof(f->before));
        g_assert_cmpuint(f->summary.n_records, ==, 2);
        g_assert_cmpuint(f->summary.first_nsec, <=, 100);
        g_assert_cmpuint(f->summary.last_nsec, ==, 200);
        g_assert_true(was_seen(f, 12));
}

static void test_others(Fixture *f, gconstpointer data _unused_) {
        uint8_t *own = add(f, 100, 12), *other = add(f, 200, 13), *idle = add(f, 300, 0),
                *last = add(f, 400, 12);

        judge(f);
        g_assert_true(was_kept(f, own));
        g_assert_false(was_kept(f, other));
        g_assert_false(was_kept(f, idle));
        g_assert_true(was_kept(f, last));
        g_assert_cmpuint(f->tally.n_foreign, ==, 2);
        g_assert_cmpuint(f->summary.n_records, ==, 2);
        g_assert_false(was_seen(f, 13)); /* so its name is not told either */
}

static void test_interrupts(Fixture *f, gconstpointer data _unused_) {
        static const uint8_t flags[] = { 8, 16, 64, 8 | 1, 0xff };
        uint8_t *bodies[ELEMENTSOF(flags)], *own = add(f, 100, 12);

        own[2] = 0x27; /* irqs off, need resched: still the task's */
        for (size_t i = 0; i < ELEMENTSOF(flags); i++) {
                bodies[i] = add(f, 200 + i, 12);
                bodies[i][2] = flags[i];
        }
        judge(f);
        g_assert_true(was_kept(f, own));
        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                g_assert_false(was_kept(f, bodies[i]));
        g_assert_cmpuint(f->tally.n_foreign, ==, ELEMENTSOF(flags));
}

/* Where flags mean nothing, they are not asked; who it was is. */
static void test_flagless(Fixture *f, gconstpointer data _unused_) {
        _cleanup_json_ json_object *events = page_events_new();

        for (size_t i = 0; i < json_object_array_length(events); i++)
                json_object_object_add(json_object_array_get_idx(events, i),
                                "task",
                                json_object_new_boolean(true));
        masks_free(f->masks);
        g_assert_cmpint(masks_new(events, true, &f->masks), ==, 0);
        f->judge.masks = f->masks;
        uint8_t *own = add(f, 100, 12), *foreign = add(f, 200, 13);
        own[2] = foreign[2] = 0xff;
        judge(f);
        g_assert_true(was_kept(f, own));
        g_assert_false(was_kept(f, foreign));
        g_assert_cmpuint(f->tally.n_foreign, ==, 1);
}

/* A fork and an exit take effect in their order, and are not told when they were not asked for. */
static void test_life(Fixture *f, gconstpointer data _unused_) {
        uint8_t *early = add(f, 100, 13);
        page_add_fork(&f->builder, 200, 12, 13);
        uint8_t *child = add(f, 300, 13);
        page_add_at(&f->builder, 400, EVENT_ID_EXIT, 13);
        uint8_t *late = add(f, 500, 13);
        page_add_fork(&f->builder, 600, 99, 14);
        uint8_t *foreign = add(f, 700, 14);
        page_add_fork(&f->builder, 800, 12, 13);
        uint8_t *again = add(f, 900, 13);

        judge(f);
        g_assert_false(was_kept(f, early));
        g_assert_true(was_kept(f, child));
        g_assert_false(was_kept(f, late));
        g_assert_false(was_kept(f, foreign));
        g_assert_true(was_kept(f, again));
        g_assert_cmpuint(f->tally.n_unknown, ==, 0);
        g_assert_cmpuint(f->summary.n_records, ==, 2);
        for (size_t at = PAGE_HEADER_SIZE; at + 4 < f->builder.at; at += 2)
                g_assert_false(f->page[at] == (EVENT_ID_FORK & 0xff) &&
                                f->page[at + 1] == EVENT_ID_FORK >> 8 && at % 4 == 0);
}

static void add_exec(Fixture *f, uint64_t nsec, uint32_t pid, uint32_t old) {
        page_put_u32(page_add_at(&f->builder, nsec, EVENT_ID_EXEC, pid) + 16, old);
}

/* A thread takes its process's number with it, and leaves its own. */
static void test_exec(Fixture *f, gconstpointer data _unused_) {
        page_add_fork(&f->builder, 100, 12, 13);
        page_add_at(&f->builder, 200, EVENT_ID_EXIT, 12);
        uint8_t *before = add(f, 300, 13), *between = add(f, 350, 12);
        add_exec(f, 400, 12, 13);
        uint8_t *after = add(f, 500, 12), *reused = add(f, 600, 13);
        add_exec(f, 700, 12, 12);
        uint8_t *again = add(f, 800, 12);
        add_exec(f, 900, 77, 99); /* of no member */
        uint8_t *foreign = add(f, 1000, 77);

        judge(f);
        g_assert_true(was_kept(f, before));
        g_assert_true(was_kept(f, between));
        g_assert_true(was_kept(f, after));
        g_assert_false(was_kept(f, reused));
        g_assert_true(was_kept(f, again));
        g_assert_false(was_kept(f, foreign));
        g_assert_cmpuint(f->tally.n_unknown, ==, 0);
        g_assert_cmpuint(f->summary.n_records, ==, 4);
}

/* Where the session does not record all of them. */
static void test_exec_unknown(Fixture *f, gconstpointer data _unused_) {
        f->judge.exec_id = 0;
        uint8_t *before = add(f, 50, 12);
        page_add_fork(&f->builder, 100, 12, 13);
        page_add_at(&f->builder, 200, EVENT_ID_EXIT, 12);
        add_exec(f, 400, 12, 13);
        uint8_t *after = add(f, 500, 12);

        judge(f);
        g_assert_true(was_kept(f, before));
        g_assert_false(was_kept(f, after));
        g_assert_cmpuint(f->tally.n_foreign, ==, 1); /* so it is reported */
        g_assert_cmpuint(f->tally.n_unknown, ==, 1);
}

/* Of what may be told of members alone. */
static void test_switch(Fixture *f, gconstpointer data _unused_) {
        uint8_t *bodies[2];

        page_add_fork(&f->builder, 50, 12, 13);
        for (uint32_t i = 0; i < 2; i++) {
                bodies[i] = page_add_at(&f->builder, 100, EVENT_ID_SWITCH, 12);
                memcpy(bodies[i] + 8, "name\0\0\0\0\0\0\0\0\0\0\0", 16);
                page_put_u32(bodies[i] + 24, 13 + i);
        }
        judge(f);
        g_assert_cmpstr((char *)bodies[0] + 8, ==, "name");
        g_assert_cmpuint(page_get_u32(bodies[0] + 24), ==, 13);
        for (size_t i = 8; i < 28; i++)
                g_assert_cmphex(bodies[1][i], ==, 0);
        g_assert_cmphex(bodies[1][28], ==, DIRT);
        g_assert_cmpuint(f->summary.n_records, ==, 2);
}

/* Switches to members stay, also if another task made them. */
static void share_switches(Fixture *f) {
        _cleanup_json_ json_object *events = page_events_new();
        size_t last = json_object_array_length(events) - 1;

        json_object_object_add(json_object_array_get_idx(events, last),
                        "also-of",
                        json_object_new_string("pid"));
        masks_free(f->masks);
        g_assert_cmpint(masks_new(events, true, &f->masks), ==, 0);
        f->judge.masks = f->masks;
}

/* Each byte after the event's id belongs to the author, except the name and the pid of the next
 * task. */
static uint8_t *add_switch(Fixture *f, uint64_t nsec, uint32_t author, uint32_t next) {
        uint8_t *body = page_add_at(&f->builder, nsec, EVENT_ID_SWITCH, author);

        body[2] = 0x05; /* irqs off, need resched */
        body[3] = 1;
        memcpy(body + 8, "next\0\0\0\0\0\0\0\0\0\0\0", 16);
        page_put_u32(body + 24, next);
        return body;
}

static void assert_without_author(const uint8_t *body) {
        g_assert_cmpuint(body[0] | body[1] << 8, ==, EVENT_ID_SWITCH);
        for (size_t i = 2; i < 8; i++)
                g_assert_cmphex(body[i], ==, 0);
        g_assert_cmpstr((const char *)body + 8, ==, "next");
        g_assert_cmpuint(page_get_u32(body + 24), ==, 12);
        for (size_t i = 28; i < 32; i++)
                g_assert_cmphex(body[i], ==, 0);
}

static void test_shared(Fixture *f, gconstpointer data _unused_) {
        share_switches(f);
        uint8_t *to_own = add_switch(f, 100, 99, 12), *from_idle = add_switch(f, 200, 0, 12),
                *own = add_switch(f, 300, 12, 12), *foreign = add_switch(f, 400, 99, 98),
                *to_idle = add_switch(f, 500, 99, 0);

        judge(f);
        assert_without_author(to_own);
        assert_without_author(from_idle);
        g_assert_true(was_kept(f, own));
        g_assert_cmphex(page_get_u32(foreign - 4) & 31, ==, TYPE_PADDING);
        g_assert_cmphex(page_get_u32(to_idle - 4) & 31, ==, TYPE_PADDING);
        g_assert_cmpuint(f->tally.n_foreign, ==, 2);
        g_assert_cmpuint(f->summary.n_records, ==, 3);
        g_assert_false(was_seen(f, 99));
}

/* The same where the sub-buffer has no record that a member made. */
static void test_shared_alone(Fixture *f, gconstpointer data _unused_) {
        share_switches(f);
        uint8_t *to_own = add_switch(f, 100, 99, 12), *foreign = add_switch(f, 200, 99, 98);

        judge(f);
        assert_without_author(to_own);
        g_assert_cmphex(page_get_u32(foreign - 4) & 31, ==, TYPE_PADDING);
        g_assert_cmpuint(f->summary.n_records, ==, 1);
}

/* The number of a member is used again after its end. */
static void test_shared_life(Fixture *f, gconstpointer data _unused_) {
        share_switches(f);
        uint8_t *own = add_switch(f, 100, 99, 12);
        page_add_at(&f->builder, 200, EVENT_ID_EXIT, 12);
        uint8_t *reused = add_switch(f, 300, 99, 12);

        judge(f);
        assert_without_author(own);
        g_assert_cmphex(page_get_u32(reused - 4) & 31, ==, TYPE_PADDING);
        g_assert_cmpuint(f->tally.n_foreign, ==, 1);
}

static void test_shared_doubtful(Fixture *f, gconstpointer data _unused_) {
        uint64_t now = (uint64_t)30 * 1000000000;

        share_switches(f);
        uint8_t *body = add_switch(f, now, 99, 12);
        note(f, LIFE_LOSS, now - 100, 0);
        judge(f);
        g_assert_cmphex(page_get_u32(body - 4) & 31, ==, TYPE_PADDING);
        g_assert_cmpuint(f->tally.n_doubtful, ==, 1);
}

/* More tasks than a summary holds. */
static void test_crowd(Fixture *f, gconstpointer data _unused_) {
        uint8_t *bodies[60];

        for (uint32_t i = 0; i < ELEMENTSOF(bodies); i++) {
                if (i % 2 == 0)
                        note(f, LIFE_MEMBER, 0, 100 + i);
                bodies[i] = add(f, 100 + i, 100 + i);
        }
        judge(f);
        g_assert_true(f->summary.is_crowded);
        for (uint32_t i = 0; i < ELEMENTSOF(bodies); i++)
                g_assert_cmpint(was_kept(f, bodies[i]), ==, i % 2 == 0);
        g_assert_cmpuint(f->summary.n_records, ==, 30);
}

static void test_doubtful(Fixture *f, gconstpointer data _unused_) {
        uint64_t now = (uint64_t)30 * 1000000000;
        uint8_t *quiet = add(f, now, 12), *unknown = add(f, now + 1, 13);

        note(f, LIFE_LOSS, now - 100, 0);
        judge(f);
        g_assert_false(was_kept(f, quiet));
        g_assert_false(was_kept(f, unknown));
        g_assert_cmpuint(f->tally.n_doubtful, ==, 2);
        g_assert_cmpuint(f->tally.n_foreign, ==, 0);
}

/* Marks are the daemon's records, who is on no list; nobody else's pass for that, not after a loss
 * and not those of task 0. */
static void test_marks(Fixture *f, gconstpointer data _unused_) {
        uint64_t now = (uint64_t)30 * 1000000000;
        uint8_t *mark = add(f, now, 77), *other = add(f, now + 1, 78), *idle = add(f, now + 2, 0);

        /* Another event of the daemon's is nobody's mark. */
        uint8_t *event = page_add_at(&f->builder, now + 3, EVENT_ID_FORK, 77);

        f->judge.marker_tids[0] = 77;
        f->judge.marker_id = EVENT_ID_NAMES;
        note(f, LIFE_LOSS, now - 100, 0);
        judge(f);
        g_assert_true(was_kept(f, mark));
        g_assert_false(was_kept(f, other));
        g_assert_false(was_kept(f, idle));
        g_assert_cmphex(page_get_u32(event - 4) & 31, ==, TYPE_PADDING);
        page_begin(&f->builder, f->page);
        idle = add(f, now + 3, 0);
        f->judge.marker_tids[0] = 0;
        judge(f);
        g_assert_false(was_kept(f, idle));
}

/* Times are those of the page, its extends and its stamps, and what is dropped changes none. */
static void test_times(Fixture *f, gconstpointer data _unused_) {
        uint64_t far = ((uint64_t)5 << 59) + ((uint64_t)77 << 27);
        PageSummary again;

        page_set_time(&f->builder, far);
        page_add_record(&f->builder, 9999, 12, 8);              /* unknown */
        page_put_u32(f->builder.bytes + f->builder.at - 12, 2); /* without a delta */
        add(f, far, 12);
        page_add_word(&f->builder, 31, 5); /* a stamp: without the five highest bits */
        page_add_u32(&f->builder, 100);
        page_add_record(&f->builder, EVENT_ID_NAMES, 12, 32)[2] = 0;
        scan(f);
        g_assert_cmpuint(f->summary.last_nsec,
                        ==,
                        ((uint64_t)5 << 59) + ((uint64_t)100 << 27) + 5 + DELTA_TEST);
        g_assert_cmpuint(f->summary.sights[0].first_nsec, ==, far);
        g_assert_cmpint(page_scan(&f->judge, f->page, sizeof(f->page), &f->tally, &again), ==, 0);
        g_assert_cmpuint(again.sights[0].first_nsec, ==, far);
        g_assert_cmpuint(again.last_nsec, ==, f->summary.last_nsec);
}

static uint8_t *add_pair(Fixture *f, uint64_t nsec, uint32_t pid, uint64_t start) {
        uint8_t *body = page_add_at(&f->builder, nsec, EVENT_ID_PAIR, pid);

        memset(body + 8, 0, 24);
        memcpy(body + 16, &start, sizeof(start));
        return body;
}

/* A record of two events stays when one task was a member from the first to the second. The number
 * of a member may have been another user's task when the first one was. */
static void test_pairs(Fixture *f, gconstpointer data _unused_) {
        page_add_fork(&f->builder, 1000, 12, 14);
        uint8_t *before = add_pair(f, 1100, 14, 900), *own = add_pair(f, 1200, 14, 1150),
                *other = add_pair(f, 1300, 15, 1250), *first = add_pair(f, 1400, 12, 100);

        judge(f);
        g_assert_false(was_kept(f, before));
        g_assert_true(was_kept(f, own));
        g_assert_false(was_kept(f, other));
        g_assert_true(was_kept(f, first));
        g_assert_cmpuint(f->tally.n_foreign, ==, 2);
}

/* The same where all tasks of the sub-buffer are members all the time. */
static void test_pairs_of_members(Fixture *f, gconstpointer data _unused_) {
        note(f, LIFE_MEMBER, 50, 14);
        uint8_t *before = add_pair(f, 100, 14, 40), *own = add_pair(f, 200, 14, 60);

        judge(f);
        g_assert_false(was_kept(f, before));
        g_assert_true(was_kept(f, own));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#define ADD(path, run) g_test_add(path, Fixture, NULL, set_up, run, tear_down)
        ADD("/judge/members", test_members);
        ADD("/judge/others", test_others);
        ADD("/judge/interrupts", test_interrupts);
        ADD("/judge/flagless", test_flagless);
        ADD("/judge/life", test_life);
        ADD("/judge/exec", test_exec);
        ADD("/judge/exec-unknown", test_exec_unknown);
        ADD("/judge/switch", test_switch);
        ADD("/judge/shared", test_shared);
        ADD("/judge/shared-alone", test_shared_alone);
        ADD("/judge/shared-life", test_shared_life);
        ADD("/judge/shared-doubtful", test_shared_doubtful);
        ADD("/judge/crowd", test_crowd);
        ADD("/judge/doubtful", test_doubtful);
        ADD("/judge/marks", test_marks);
        ADD("/judge/times", test_times);
        ADD("/judge/pairs", test_pairs);
        ADD("/judge/pairs-of-members", test_pairs_of_members);
        return g_test_run();
}
