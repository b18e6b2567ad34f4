/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who was a member when. */

#include <glib.h>

#include "consumer/records/lives.h"

#define SEC ((uint64_t)1000 * 1000 * 1000)

static Lives *make_lives(void) {
        Lives *lives = NULL;

        g_assert_cmpint(lives_new(&lives), ==, 0);
        return lives;
}

static void note(Lives *lives, LifeEventKind kind, uint64_t nsec, uint32_t tid, uint32_t child) {
        const LifeEvent event = { nsec, kind, tid, child };

        g_assert_cmpint(lives_note(lives, &event), ==, 0);
}

static void advance(Lives *lives, uint64_t nsec) {
        g_assert_cmpint(lives_advance(lives, nsec), ==, 0);
}

static void assert_at(Lives *lives, uint32_t tid, uint64_t nsec, Standing wanted) {
        g_assert_cmpint(lives_judge(lives, tid, nsec, nsec), ==, wanted);
}

static void test_life(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 0, 12, 0);
        note(lives, LIFE_EXIT, 100, 12, 0);
        advance(lives, 200);
        assert_at(lives, 12, 0, STANDING_MEMBER);
        assert_at(lives, 12, 100, STANDING_MEMBER); /* the exit itself */
        assert_at(lives, 12, 101, STANDING_FOREIGN);
        assert_at(lives, 13, 50, STANDING_FOREIGN);
        g_assert_cmpint(lives_judge(lives, 12, 10, 100), ==, STANDING_MEMBER);
        g_assert_cmpint(lives_judge(lives, 12, 10, 101), ==, STANDING_MIXED);
        g_assert_cmpint(lives_judge(lives, 12, 101, 200), ==, STANDING_FOREIGN);
        lives_free(lives);
}

/* Noted in any order, counted in order of time. */
static void test_children(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_FORK, 30, 13, 14);
        note(lives, LIFE_FORK, 20, 12, 13);
        note(lives, LIFE_EXIT, 25, 12, 0);
        note(lives, LIFE_FORK, 26, 12, 15); /* is dead by then */
        note(lives, LIFE_FORK, 27, 99, 16);
        note(lives, LIFE_MEMBER, 10, 12, 0);
        advance(lives, 29);
        assert_at(lives, 12, 9, STANDING_FOREIGN);
        assert_at(lives, 13, 19, STANDING_FOREIGN);
        assert_at(lives, 13, 20, STANDING_MEMBER);
        assert_at(lives, 14, 29, STANDING_FOREIGN);
        advance(lives, 30);
        assert_at(lives, 14, 30, STANDING_MEMBER);
        assert_at(lives, 15, 30, STANDING_FOREIGN);
        assert_at(lives, 16, 30, STANDING_FOREIGN);
        g_assert_cmpint(lives_judge(lives, 13, 10, 30), ==, STANDING_MIXED);
        lives_free(lives);
}

/* The first thread (10) ended, the second (11) execs: 10 is its number from then on. */
static void test_exec(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 0, 10, 0);
        note(lives, LIFE_FORK, 5, 10, 11);
        note(lives, LIFE_EXIT, 20, 10, 0);
        note(lives, LIFE_EXEC, 30, 10, 11);
        advance(lives, 29);
        assert_at(lives, 10, 25, STANDING_FOREIGN);
        advance(lives, 50);
        g_assert_cmpint(lives_judge(lives, 10, 1, 50), ==, STANDING_MEMBER);
        assert_at(lives, 11, 30, STANDING_MEMBER);
        assert_at(lives, 11, 31, STANDING_FOREIGN);
        note(lives, LIFE_FORK, 60, 10, 12);
        note(lives, LIFE_EXIT, 70, 10, 0);
        advance(lives, 100);
        assert_at(lives, 12, 60, STANDING_MEMBER);
        assert_at(lives, 10, 70, STANDING_MEMBER);
        assert_at(lives, 10, 71, STANDING_FOREIGN);
        lives_free(lives);
}

/* An exit and an exec of one time count in this order. */
static void test_exec_at_once(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 0, 10, 0);
        note(lives, LIFE_MEMBER, 0, 11, 0);
        note(lives, LIFE_EXEC, 20, 10, 11);
        note(lives, LIFE_EXIT, 20, 10, 0);
        advance(lives, 20);
        assert_at(lives, 10, 20, STANDING_MEMBER);
        advance(lives, 30);
        assert_at(lives, 10, 30, STANDING_MEMBER);
        lives_free(lives);
}

/* Nobody becomes a member by an exec who was none. */
static void test_exec_of_others(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 0, 10, 0);
        note(lives, LIFE_MEMBER, 0, 12, 0);
        note(lives, LIFE_EXIT, 10, 10, 0);
        note(lives, LIFE_EXIT, 15, 12, 0);
        note(lives, LIFE_EXEC, 20, 10, 99); /* a stranger's, with a member's old number */
        note(lives, LIFE_EXEC, 20, 77, 98);
        note(lives, LIFE_EXEC, 20, 13, 12); /* of one that is dead */
        advance(lives, 30);
        assert_at(lives, 10, 20, STANDING_FOREIGN);
        assert_at(lives, 77, 30, STANDING_FOREIGN);
        assert_at(lives, 98, 30, STANDING_FOREIGN);
        assert_at(lives, 99, 30, STANDING_FOREIGN);
        assert_at(lives, 13, 30, STANDING_FOREIGN);
        lives_free(lives);
}

/* The first thread's number was another's before the thread that execs was born: what came under it
 * before the exec is not the new program's. */
static void test_exec_of_reused(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 0, 9, 0);
        note(lives, LIFE_MEMBER, 0, 10, 0);
        note(lives, LIFE_EXIT, 10, 10, 0);
        note(lives, LIFE_FORK, 50, 9, 11);
        note(lives, LIFE_EXEC, 60, 10, 11);
        advance(lives, 70);
        assert_at(lives, 10, 10, STANDING_MEMBER);
        assert_at(lives, 10, 55, STANDING_FOREIGN);
        assert_at(lives, 10, 59, STANDING_FOREIGN);
        assert_at(lives, 10, 60, STANDING_MEMBER);
        assert_at(lives, 10, 70, STANDING_MEMBER);
        lives_free(lives);
}

/* A doubtful one stays so. */
static void test_exec_in_doubt(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 0, 10, 0);
        note(lives, LIFE_MEMBER, 0, 11, 0);
        note(lives, LIFE_EXIT, SEC, 10, 0);
        note(lives, LIFE_LOSS, 20 * SEC, 0, 0);
        note(lives, LIFE_EXEC, 21 * SEC, 10, 11);
        advance(lives, 30 * SEC);
        assert_at(lives, 10, 22 * SEC, STANDING_FOREIGN);
        assert_at(lives, 11, 22 * SEC, STANDING_DOUBTFUL);
        lives_free(lives);
}

/* A number that somebody else got, and one that came back to a member's child. */
static void test_reuse(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 0, 12, 0);
        note(lives, LIFE_FORK, 10, 12, 13);
        note(lives, LIFE_EXIT, 20, 13, 0);
        note(lives, LIFE_FORK, 30, 99, 13);
        note(lives, LIFE_EXIT, 40, 13, 0);
        note(lives, LIFE_FORK, 50, 12, 13);
        advance(lives, 100);
        assert_at(lives, 13, 15, STANDING_MEMBER);
        assert_at(lives, 13, 35, STANDING_FOREIGN);
        assert_at(lives, 13, 55, STANDING_MEMBER);
        g_assert_cmpint(lives_judge(lives, 13, 15, 55), ==, STANDING_MIXED);
        lives_free(lives);
}

/* The daemon's list may be old: an exit behind it stays, one before it is another's. */
static void test_members_again(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 0, 12, 0);
        note(lives, LIFE_EXIT, 20, 12, 0);
        advance(lives, 50);
        note(lives, LIFE_MEMBER, 0, 12, 0);
        note(lives, LIFE_MEMBER, 10, 12, 0);
        advance(lives, 60);
        assert_at(lives, 12, 30, STANDING_FOREIGN);
        note(lives, LIFE_MEMBER, 61, 12, 0);
        note(lives, LIFE_MEMBER, 61, 12, 0);
        advance(lives, 70);
        assert_at(lives, 12, 60, STANDING_FOREIGN);
        assert_at(lives, 12, 61, STANDING_MEMBER);
        lives_free(lives);
}

/* The daemon found a member at 10; its exit at 20 was read before the daemon's message came. */
static void test_member_late(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_EXIT, 20, 12, 0);
        advance(lives, 50);
        assert_at(lives, 12, 20, STANDING_FOREIGN);
        note(lives, LIFE_MEMBER, 10, 12, 0);
        advance(lives, 60);
        assert_at(lives, 12, 21, STANDING_FOREIGN);
        assert_at(lives, 12, 60, STANDING_FOREIGN);
        note(lives, LIFE_MEMBER, 61, 12, 0); /* another task of that number */
        advance(lives, 70);
        assert_at(lives, 12, 60, STANDING_FOREIGN);
        assert_at(lives, 12, 65, STANDING_MEMBER);
        lives_free(lives);
}

/* The same where the number has come to a member's child since: it is not the child's before. */
static void test_member_late_reused(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 0, 9, 0);
        note(lives, LIFE_EXIT, 20, 12, 0);
        note(lives, LIFE_FORK, 40, 9, 12);
        advance(lives, 50);
        note(lives, LIFE_MEMBER, 10, 12, 0);
        advance(lives, 60);
        assert_at(lives, 12, 30, STANDING_FOREIGN);
        assert_at(lives, 12, 39, STANDING_FOREIGN);
        assert_at(lives, 12, 50, STANDING_MEMBER);
        lives_free(lives);
}

/* Ends are forgotten some day: a member of before is not believed then. */
static void test_member_too_late(void) {
        Lives *lives = make_lives();

        for (uint32_t i = 0; i < 10000; i++)
                note(lives, LIFE_EXIT, SEC + i, 1000 + i, 0);
        advance(lives, 10 * SEC);
        lives_forget(lives, 10 * SEC);
        note(lives, LIFE_MEMBER, SEC / 2, 1000, 0);
        note(lives, LIFE_MEMBER, 10 * SEC, 1001, 0);
        advance(lives, 11 * SEC);
        assert_at(lives, 1000, 11 * SEC, STANDING_FOREIGN);
        assert_at(lives, 1001, 11 * SEC, STANDING_MEMBER);
        lives_free(lives);
}

static void note_until(Lives *lives,
                LifeEventKind kind,
                uint64_t nsec,
                uint32_t tid,
                uint64_t until) {
        const LifeEvent event = { .nsec = nsec, .kind = kind, .tid = tid, .until_nsec = until };

        g_assert_cmpint(lives_note(lives, &event), ==, 0);
}

/* Whoever lived at a loss may be dead since, however recently it was heard of. */
static void test_loss(void) {
        Lives *lives = make_lives();

        for (uint32_t tid = 12; tid < 16; tid++)
                note(lives, LIFE_MEMBER, 0, tid, 0);
        note(lives, LIFE_FORK, 19 * SEC, 12, 20);
        note_until(lives, LIFE_LOSS, 20 * SEC, 0, 22 * SEC);
        note(lives, LIFE_FORK, 21 * SEC, 13, 21);
        g_assert_cmpuint(lives_find_loss(lives, 20 * SEC - 1), ==, 0);
        g_assert_cmpuint(lives_find_loss(lives, 20 * SEC), ==, 22 * SEC);
        advance(lives, 30 * SEC);
        g_assert_cmpuint(lives_find_loss(lives, UINT64_MAX), ==, 0);
        assert_at(lives, 12, 20 * SEC - 1, STANDING_MEMBER);
        assert_at(lives, 12, 20 * SEC, STANDING_DOUBTFUL);
        assert_at(lives, 13, 25 * SEC, STANDING_DOUBTFUL);
        assert_at(lives, 20, 20 * SEC - 1, STANDING_MEMBER);
        assert_at(lives, 20, 25 * SEC, STANDING_DOUBTFUL);
        assert_at(lives, 21, 25 * SEC, STANDING_DOUBTFUL);
        assert_at(lives, 99, 19 * SEC, STANDING_FOREIGN);
        assert_at(lives, 99, 25 * SEC, STANDING_DOUBTFUL); /* a child perhaps */
        g_assert_cmpint(lives_judge(lives, 12, SEC, 25 * SEC), ==, STANDING_MIXED);

        note(lives, LIFE_MEMBER, 31 * SEC, 12, 0); /* verified anew */
        note(lives, LIFE_FORK, 32 * SEC, 12, 14);  /* its number came back */
        note(lives, LIFE_FORK, 32 * SEC, 15, 30);  /* by one who is doubtful */
        advance(lives, 40 * SEC);
        assert_at(lives, 12, 30 * SEC, STANDING_DOUBTFUL);
        assert_at(lives, 12, 33 * SEC, STANDING_MEMBER);
        assert_at(lives, 14, 33 * SEC, STANDING_MEMBER);
        assert_at(lives, 30, 33 * SEC, STANDING_DOUBTFUL);
        lives_free(lives);
}

/* A proof from after a loss counts for the time in between; one from before its end does not. */
static void test_proof(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 10, 12, 0);
        note(lives, LIFE_MEMBER, 10, 13, 0);
        note(lives, LIFE_MEMBER, 10, 14, 0);
        advance(lives, 50);
        note_until(lives, LIFE_LOSS, 100, 0, 150);
        note_until(lives, LIFE_MEMBER, 10, 12, 160);
        note_until(lives, LIFE_MEMBER, 10, 13, 149);
        note(lives, LIFE_FORK, 120, 12, 20);
        note(lives, LIFE_FORK, 151, 12, 21);
        advance(lives, 200);
        assert_at(lives, 12, 200, STANDING_MEMBER);
        assert_at(lives, 13, 149, STANDING_MEMBER);
        assert_at(lives, 13, 150, STANDING_DOUBTFUL);
        assert_at(lives, 14, 100, STANDING_DOUBTFUL);
        assert_at(lives, 20, 130, STANDING_DOUBTFUL); /* its end may be what was lost */
        assert_at(lives, 21, 160, STANDING_MEMBER);
        note_until(lives, LIFE_MEMBER, 10, 13, 210); /* late */
        note_until(lives, LIFE_MEMBER, 10, 14, 149); /* too early */
        advance(lives, 220);
        assert_at(lives, 13, 220, STANDING_MEMBER);
        assert_at(lives, 14, 149, STANDING_MEMBER);
        assert_at(lives, 14, 150, STANDING_DOUBTFUL);
        lives_free(lives);
}

/* Stopped and started again: who is not told then has ended while exits were not recorded. */
static void test_gap(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 10, 12, 0);
        note(lives, LIFE_FORK, 20, 12, 13);
        note(lives, LIFE_FORK, 20, 12, 14);
        advance(lives, 50);
        note_until(lives, LIFE_GAP, 100, 0, 100);
        note_until(lives, LIFE_MEMBER, 100, 13, 100);
        advance(lives, 200);
        assert_at(lives, 12, 100, STANDING_DOUBTFUL);
        assert_at(lives, 13, 100, STANDING_MEMBER);
        assert_at(lives, 14, 150, STANDING_DOUBTFUL);
        assert_at(lives, 99, 150, STANDING_FOREIGN); /* nothing was lost */
        lives_free(lives);
}

static void note_name(Lives *lives, LifeEvent event, const char *name) {
        g_strlcpy(event.name, name, sizeof(event.name));
        g_assert_cmpint(lives_note(lives, &event), ==, 0);
}

static const char *find_name(const Lives *lives, uint32_t tid) {
        const TaskName *names;
        size_t n = task_names_get(lives_get_names(lives), &names);

        for (size_t i = 0; i < n; i++)
                if (names[i].tid == tid)
                        return names[i].text;
        return NULL;
}

/* Of members alone, not of who has their numbers before or after them. */
static void test_names(void) {
        Lives *lives = make_lives();

        note_name(lives, (LifeEvent){ 5, LIFE_FORK, 99, 13 }, "foreign");
        note_name(lives, (LifeEvent){ 6, LIFE_EXIT, 13 }, "foreign");
        note_name(lives, (LifeEvent){ 10, LIFE_MEMBER, 12 }, "shell");
        note_name(lives, (LifeEvent){ 11, LIFE_MEMBER, 14 }, "");
        note_name(lives, (LifeEvent){ 20, LIFE_FORK, 12, 13 }, "shell");
        advance(lives, 20);
        g_assert_cmpstr(find_name(lives, 12), ==, "shell");
        g_assert_cmpstr(find_name(lives, 13), ==, "shell");
        g_assert_null(find_name(lives, 14));
        note_name(lives, (LifeEvent){ 30, LIFE_EXEC, 13, 13 }, "ls");
        note_name(lives, (LifeEvent){ 30, LIFE_EXEC, 15, 15 }, "foreign");
        advance(lives, 30);
        g_assert_cmpstr(find_name(lives, 13), ==, "ls");
        g_assert_null(find_name(lives, 15));
        note_name(lives, (LifeEvent){ 40, LIFE_EXIT, 13 }, "renamed");
        note_name(lives, (LifeEvent){ 50, LIFE_FORK, 99, 13 }, "foreign");
        note_name(lives, (LifeEvent){ 51, LIFE_EXEC, 13, 13 }, "foreign");
        note_name(lives, (LifeEvent){ 52, LIFE_EXIT, 13 }, "foreign");
        note_until(lives, LIFE_LOSS, 60, 0, 70);
        note_name(lives, (LifeEvent){ 80, LIFE_EXIT, 12 }, "foreign"); /* perhaps */
        advance(lives, 90);
        g_assert_cmpstr(find_name(lives, 13), ==, "renamed");
        g_assert_cmpstr(find_name(lives, 12), ==, "shell");
        lives_free(lives);
}

/* Tasks come and go; the dead are forgotten, the living are not. */
static void test_many(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 0, 1, 0);
        for (uint32_t i = 0; i < 200000; i++) {
                uint64_t nsec = (uint64_t)i * 100000;

                note(lives, LIFE_FORK, nsec, 1, 1000 + i);
                if (i % 100 != 0)
                        note(lives, LIFE_EXIT, nsec + 10, 1000 + i, 0);
                if (i % 1000 == 0) {
                        advance(lives, nsec);
                        lives_forget(lives, nsec);
                }
        }
        advance(lives, UINT64_MAX);
        for (uint32_t i = 0; i < 200000; i += 100)
                assert_at(lives, 1000 + i, 20 * SEC, STANDING_MEMBER);
        assert_at(lives, 1000 + 199999, (uint64_t)199999 * 100000 + 11, STANDING_FOREIGN);
        lives_free(lives);
}

/* Of a window: births before its beginning say nothing, and from when its reading began on the end
 * of one that was born in it may be missing. */
static void test_window(void) {
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 0, 10, 0);
        note(lives, LIFE_FORK, 49, 10, 11);
        note(lives, LIFE_FORK, 50, 10, 12);
        note(lives, LIFE_FORK, 51, 10, 13);
        note(lives, LIFE_EXIT, 60, 13, 0);
        note(lives, LIFE_FORK, 60, 12, 14);
        note(lives, LIFE_EXEC, 61, 15, 14);
        note(lives, LIFE_FORK, 101, 12, 16);
        lives_forget_births(lives, 50);
        lives_doubt_from(lives, 100);
        advance(lives, 200);
        assert_at(lives, 11, 55, STANDING_FOREIGN);
        assert_at(lives, 12, 55, STANDING_MEMBER);
        assert_at(lives, 12, 99, STANDING_MEMBER);
        assert_at(lives, 12, 100, STANDING_DOUBTFUL);
        assert_at(lives, 13, 61, STANDING_FOREIGN);
        assert_at(lives, 14, 60, STANDING_MEMBER);
        assert_at(lives, 15, 61, STANDING_MEMBER);
        assert_at(lives, 15, 100, STANDING_DOUBTFUL);
        assert_at(lives, 16, 101, STANDING_FOREIGN);
        assert_at(lives, 10, 150, STANDING_MEMBER);
        lives_free(lives);
}

/* The fork of 13 was lost, and a proof finds it: what 13 wrote before was lost as well. */
static void test_found(void) {
        const LifeEvent loss = { 100, LIFE_LOSS, .until_nsec = 110 },
                        found = { 120, LIFE_MEMBER, .tid = 13, .until_nsec = 120 };
        Lives *lives = make_lives();

        note(lives, LIFE_MEMBER, 0, 12, 0);
        g_assert_cmpint(lives_note(lives, &loss), ==, 0);
        g_assert_cmpint(lives_note(lives, &found), ==, 0);
        note(lives, LIFE_FORK, 130, 13, 14);
        advance(lives, 200);
        assert_at(lives, 13, 90, STANDING_FOREIGN);
        assert_at(lives, 13, 115, STANDING_DOUBTFUL);
        g_assert_cmpint(lives_judge(lives, 13, 90, 115), ==, STANDING_MIXED);
        assert_at(lives, 13, 120, STANDING_MEMBER);
        assert_at(lives, 14, 115, STANDING_FOREIGN); /* its fork is known */
        assert_at(lives, 14, 130, STANDING_MEMBER);
        lives_free(lives);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/lives/life", test_life);
        g_test_add_func("/lives/children", test_children);
        g_test_add_func("/lives/exec", test_exec);
        g_test_add_func("/lives/exec-at-once", test_exec_at_once);
        g_test_add_func("/lives/exec-of-others", test_exec_of_others);
        g_test_add_func("/lives/exec-of-reused", test_exec_of_reused);
        g_test_add_func("/lives/exec-in-doubt", test_exec_in_doubt);
        g_test_add_func("/lives/reuse", test_reuse);
        g_test_add_func("/lives/members-again", test_members_again);
        g_test_add_func("/lives/member-late", test_member_late);
        g_test_add_func("/lives/member-late-reused", test_member_late_reused);
        g_test_add_func("/lives/member-too-late", test_member_too_late);
        g_test_add_func("/lives/loss", test_loss);
        g_test_add_func("/lives/proof", test_proof);
        g_test_add_func("/lives/gap", test_gap);
        g_test_add_func("/lives/found", test_found);
        g_test_add_func("/lives/names", test_names);
        g_test_add_func("/lives/window", test_window);
        g_test_add_func("/lives/many", test_many);
        return g_test_run();
}
