/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lives of tasks that are over, and who loses some when there are too many. */

#include <glib.h>

#include "consumer/records/past-lives.h"

#define N_MAX 64

static PastLives *make_lives(void) {
        PastLives *lives = NULL;

        g_assert_cmpint(past_lives_new(N_MAX, &lives), ==, 0);
        return lives;
}

static void keep(PastLives *lives, uint32_t uid, uint32_t tid, uint64_t to, uint64_t nsec) {
        const PastLife life = { .uid = uid, .gid = 100, .life = { .tid = tid, .to_nsec = to } };

        g_assert_cmpint(past_lives_keep(lives, &life, nsec), ==, 0);
}

static size_t count_lives(const PastLives *lives, uint32_t uid) {
        const PastLife *life = NULL;
        size_t n = 0;

        while ((life = past_lives_next(lives, uid, life)))
                n++;
        return n;
}

/* As "tid:to tid:to". */
static void assert_lives(const PastLives *lives, uint32_t uid, const char *wanted) {
        g_autoptr(GString) text = g_string_new("");
        const PastLife *life = NULL;
        size_t n = 0;

        while ((life = past_lives_next(lives, uid, life)))
                g_string_append_printf(text,
                                "%s%u:%" G_GUINT64_FORMAT,
                                n++ > 0 ? " " : "",
                                life->life.tid,
                                life->life.to_nsec);
        g_assert_cmpstr(text->str, ==, wanted);
}

static void test_users(void) {
        PastLives *lives = make_lives();

        assert_lives(lives, 1000, "");
        keep(lives, 1001, 5, 10, 10);
        keep(lives, 1000, 6, 18, 20);
        keep(lives, 1002, 7, 30, 30);
        keep(lives, 1000, 8, 40, 40);
        assert_lives(lives, 1000, "6:18 8:40");
        assert_lives(lives, 1001, "5:10");
        assert_lives(lives, 1002, "7:30");
        assert_lives(lives, 999, "");
        past_lives_free(lives);
}

/* The user with the most lives loses the oldest ones, whoever needs room. */
static void test_full(void) {
        PastLives *lives = make_lives();
        uint64_t nsec = 0;

        for (uint32_t i = 0; i < 60; i++, nsec++)
                keep(lives, 1000, 100 + i, nsec, nsec);
        for (uint32_t i = 0; i < 20; i++, nsec++)
                keep(lives, 1001, 200 + i, nsec, nsec);
        g_assert_cmpuint(count_lives(lives, 1001), ==, 20);
        g_assert_cmpuint(count_lives(lives, 1000), >=, 40);
        g_assert_cmpuint(count_lives(lives, 1000), <=, 44);
        g_assert_cmpuint(past_lives_next(lives, 1000, NULL)->life.tid,
                        ==,
                        160 - count_lives(lives, 1000));
        for (uint32_t i = 0; i < 1000; i++, nsec++)
                keep(lives, 1001, 1000 + i, nsec, nsec);
        size_t first = count_lives(lives, 1000), second = count_lives(lives, 1001);
        g_assert_cmpuint(first, >=, 28);
        g_assert_cmpuint(second, >=, 28);
        g_assert_cmpuint(first + second, <=, N_MAX);
        past_lives_free(lives);
}

/* A life that was kept late may have ended early. */
static void test_cut(void) {
        PastLives *lives = make_lives();

        keep(lives, 1000, 5, 10, 10);
        keep(lives, 1000, 6, 30, 30);
        keep(lives, 1000, 7, 12, 40);
        keep(lives, 1001, 8, 50, 50);
        past_lives_cut(lives, 20);
        assert_lives(lives, 1000, "5:10 6:19 7:12");
        assert_lives(lives, 1001, "8:19");
        past_lives_cut(lives, 60);
        assert_lives(lives, 1001, "8:19");
        past_lives_free(lives);
}

/* A record that was read late ends a life before the last one that was kept. */
static void test_cut_late(void) {
        PastLives *lives = make_lives();

        keep(lives, 1000, 5, 180, 180);
        keep(lives, 1000, 6, 100, 100);
        past_lives_cut(lives, 150);
        assert_lives(lives, 1000, "5:149 6:100");
        past_lives_free(lives);
}

/* What no question can be about makes room for others. */
static void test_expire(void) {
        PastLives *lives = make_lives();
        PastLives *many = NULL;

        keep(lives, 1000, 5, 10, 10);
        keep(lives, 1000, 6, 15, 30);
        keep(lives, 1000, 7, 40, 40);
        keep(lives, 1001, 8, 12, 12);
        g_assert_false(past_lives_expire(lives, 30));
        assert_lives(lives, 1000, "6:15 7:40");
        assert_lives(lives, 1001, "");
        g_assert_false(past_lives_expire(lives, 100));
        assert_lives(lives, 1000, "");
        keep(lives, 1000, 9, 50, 50);
        assert_lives(lives, 1000, "9:50");
        past_lives_free(lives);
        g_assert_cmpint(past_lives_new(2 * PAST_LIVES_PART, &many), ==, 0);
        for (uint32_t i = 0; i < PAST_LIVES_PART + 1; i++)
                keep(many, 1000, 5, i, i);
        g_assert_true(past_lives_expire(many, UINT64_MAX));
        g_assert_cmpuint(count_lives(many, 1000), ==, 1);
        g_assert_false(past_lives_expire(many, UINT64_MAX));
        past_lives_free(many);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/past-lives/users", test_users);
        g_test_add_func("/past-lives/full", test_full);
        g_test_add_func("/past-lives/cut", test_cut);
        g_test_add_func("/past-lives/cut-late", test_cut_late);
        g_test_add_func("/past-lives/expire", test_expire);
        return g_test_run();
}
