/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whose a task was, and when. */

#include <glib.h>
#include <linux/sched.h>
#include <string.h>

#include "consumer/records/history-table.h"

#define USER  1000
#define GROUP 100
#define OTHER 1001

static const HistoryOwner user = { true, USER, GROUP }, other = { true, OTHER, GROUP }, nobody;

static HistoryTable *make_table(size_t n_max) {
        HistoryTable *table = NULL;

        g_assert_cmpint(history_table_new(n_max, &table), ==, 0);
        return table;
}

static void note(HistoryTable *table, const HistoryEvent *event) {
        g_assert_cmpint(history_table_note(table, event), ==, 0);
}

static void note_done(HistoryTable *table, uint64_t nsec, uint32_t tid, HistoryOwner owner) {
        note(table,
                        &(HistoryEvent){ .nsec = nsec,
                                        .kind = HISTORY_DONE,
                                        .tid = tid,
                                        .mm = 0x1000 * (uint64_t)tid,
                                        .owner = owner });
}

static void note_commit(HistoryTable *table, uint64_t nsec, uint32_t tid, HistoryOwner owner) {
        note(table,
                        &(HistoryEvent){ .nsec = nsec,
                                        .kind = HISTORY_COMMIT,
                                        .tid = tid,
                                        .owner = owner });
}

static void note_clone(HistoryTable *table,
                uint64_t nsec,
                uint32_t tid,
                uint32_t child,
                uint64_t flags) {
        note(table,
                        &(HistoryEvent){ .nsec = nsec - 1,
                                        .kind = HISTORY_CLONE,
                                        .tid = tid,
                                        .flags = flags });
        note(table,
                        &(HistoryEvent){ .nsec = nsec,
                                        .kind = HISTORY_FORK,
                                        .tid = tid,
                                        .other = child,
                                        .name = "child" });
}

static void note_exit(HistoryTable *table, uint64_t nsec, uint32_t tid) {
        note(table, &(HistoryEvent){ .nsec = nsec, .kind = HISTORY_EXIT, .tid = tid });
}

static void note_undumpable(HistoryTable *table, uint64_t nsec, uint32_t tid, uint64_t mm) {
        note(table,
                        &(HistoryEvent){ .nsec = nsec,
                                        .kind = HISTORY_DUMPABLE,
                                        .tid = tid,
                                        .mm = mm });
}

static void advance(HistoryTable *table, uint64_t nsec) {
        g_assert_cmpint(history_table_advance(table, nsec), ==, 0);
}

static void assert_lives_since(HistoryTable *table,
                uint32_t uid,
                uint64_t since_nsec,
                const char *wanted) {
        const HistoryQuestion question = { uid, GROUP, since_nsec };
        g_autoptr(GString) text = g_string_new("");
        g_autofree ControlLife *lives = NULL;
        size_t n;

        g_assert_cmpint(history_table_collect(table, &question, &lives, &n), ==, 0);
        for (size_t i = 0; i < n; i++)
                g_string_append_printf(text,
                                "%s%u:%" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT,
                                i > 0 ? " " : "",
                                lives[i].tid,
                                lives[i].from_nsec,
                                lives[i].to_nsec);
        g_assert_cmpstr(text->str, ==, wanted);
}

/* As "tid:from-to tid:from-to", of that user. */
static void assert_lives(HistoryTable *table, uint32_t uid, const char *wanted) {
        assert_lives_since(table, uid, 0, wanted);
}

static void test_life(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, user);
        note_exit(table, 50, 5);
        note_done(table, 20, 6, other);
        advance(table, 40);
        assert_lives(table, USER, "5:11-40");
        assert_lives(table, OTHER, "6:21-40");
        advance(table, 100);
        assert_lives(table, USER, "5:11-50");
        assert_lives(table, 0, "");
        history_table_free(table);
}

static void test_children(void) {
        HistoryTable *table = make_table(0);

        note_clone(table, 30, 5, 7, 0); /* notes in any order */
        note_done(table, 10, 5, user);
        note_clone(table, 40, 7, 8, CLONE_VM | CLONE_THREAD);
        note_clone(table, 50, 5, 9, CLONE_NEWUSER);
        note_clone(table, 55, 5, 10, 0);
        note_clone(table, 60, 99, 11, 0); /* of a task that nobody knows */
        note(table, &(HistoryEvent){ .nsec = 70, .kind = HISTORY_FORK, .tid = 5, .other = 12 });
        advance(table, 100);
        assert_lives(table, USER, "5:11-100 7:30-100 8:40-100 10:55-100");
        history_table_free(table);
}

/* A number that is used again; the end of the first task was recorded, or lost. */
static void test_reuse(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, user);
        note_exit(table, 20, 5);
        note_clone(table, 30, 99, 5, 0);
        note_done(table, 40, 5, other);
        note_done(table, 10, 6, user);
        note_clone(table, 30, 99, 6, 0);
        advance(table, 100);
        assert_lives(table, USER, "5:11-20 6:11-29");
        assert_lives(table, OTHER, "5:41-100");
        history_table_free(table);
}

/* Credentials that change without an exec end a life, and begin none. */
static void test_commit(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, other);
        note_commit(table, 20, 5, user);
        note_done(table, 10, 6, user);
        note_commit(table, 20, 6, user); /* nothing changes */
        note_commit(table, 30, 6, nobody);
        note_commit(table, 40, 6, user); /* it may hold secrets from the time between */
        note_clone(table, 50, 6, 7, 0);
        advance(table, 100);
        assert_lives(table, OTHER, "5:11-19");
        assert_lives(table, USER, "6:11-29");
        note_commit(table, 109, 5, user);
        note_done(table, 110, 5, user);
        advance(table, 120);
        assert_lives(table, USER, "6:11-29 5:111-120");
        history_table_free(table);
}

/* A set-user-id program, one that the user may not read, and a plain one. */
static void test_exec(void) {
        HistoryTable *table = make_table(0);

        for (uint32_t tid = 5; tid < 8; tid++)
                note_done(table, 10, tid, user);
        note_commit(table, 20, 5, nobody);
        note_done(table, 30, 5, nobody);
        note_commit(table, 20, 6, user);
        note_done(table, 30, 6, nobody);
        note_commit(table, 20, 7, user);
        note_done(table, 30, 7, user);
        advance(table, 100);
        assert_lives(table, USER, "5:11-19 6:11-19 7:11-100");
        history_table_free(table);
}

/* Thread 6 of process 5 execs: 5 ended before, and is its number from then on. */
static void test_exec_of_thread(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, user);
        note_clone(table, 20, 5, 6, CLONE_VM | CLONE_THREAD);
        note_exit(table, 30, 5);
        note_commit(table, 40, 5, user);
        note(table, &(HistoryEvent){ .nsec = 45, .kind = HISTORY_EXEC, .tid = 5, .other = 6 });
        note_done(table, 50, 5, user);
        advance(table, 100);
        assert_lives(table, USER, "5:11-30 6:20-44 5:51-100");
        history_table_free(table);
}

/* A probe that does not run: the program that the task has begun may be anybody's. */
static void test_exec_without_end(void) {
        HistoryTable *table = make_table(0);

        for (uint32_t tid = 5; tid < 8; tid++) {
                note_done(table, 10, tid, user);
                note(table,
                                &(HistoryEvent){ .nsec = 20,
                                                .kind = HISTORY_EXEC,
                                                .tid = tid,
                                                .other = tid });
        }
        note_clone(table, 30, 5, 9, 0);
        note_exit(table, 40, 6);
        note_done(table, 21, 7, user);
        advance(table, 100);
        assert_lives(table, USER, "5:11-19 6:11-19 7:11-100");
        history_table_free(table);
}

static void test_undumpable(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, user);
        note_clone(table, 20, 5, 6, CLONE_VM | CLONE_THREAD);
        note_clone(table, 22, 5, 7, CLONE_VM | CLONE_VFORK);
        note_clone(table, 24, 5, 8, 0);
        note_clone(table, 26, 8, 9, CLONE_VM | CLONE_THREAD);
        note_undumpable(table, 30, 7, 0x777); /* in its exec */
        advance(table, 40);
        assert_lives(table, USER, "5:11-40 6:20-40 7:22-29 8:24-40 9:26-40");
        note_undumpable(table, 50, 6, 0x5000); /* for the whole process */
        advance(table, 60);
        assert_lives(table, USER, "5:11-49 6:20-49 7:22-29 8:24-60 9:26-60");
        note_undumpable(table, 70, 8, 0x888); /* its memory has no name yet */
        advance(table, 80);
        assert_lives(table, USER, "5:11-49 6:20-49 7:22-29 8:24-69 9:26-69");
        history_table_free(table);
}

static void test_loss(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, user);
        note_done(table, 10, 6, user);
        note_exit(table, 45, 6);
        note_done(table, 55, 7, user); /* perhaps it has changed since */
        note_done(table, 65, 8, user);
        advance(table, 50);
        history_table_lose(table, 40, 60);
        advance(table, 100);
        assert_lives(table, USER, "5:11-39 6:11-39 8:66-100");
        note_clone(table, 110, 5, 9, 0);
        note_done(table, 120, 5, user);
        advance(table, 130);
        assert_lives(table, USER, "5:11-39 6:11-39 8:66-130 5:121-130");
        history_table_free(table);
}

/* Events that are not applied yet may end lives before the loss. */
static void test_early_loss(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, user);
        advance(table, 30);
        note_exit(table, 35, 5);
        note_clone(table, 38, 99, 5, 0);
        history_table_lose(table, 40, 60);
        advance(table, 100);
        assert_lives(table, USER, "5:11-29");
        history_table_free(table);
}

static ControlSeed make_seed(uint32_t tid, uint32_t tgid) {
        return (ControlSeed){
                .tid = tid,
                .tgid = tgid,
                .uids = { USER, USER, USER, USER },
                .gids = { GROUP, GROUP, GROUP, GROUP },
                .is_in_first_namespace = 1,
                .is_dumpable = 1,
                .comm = "seed",
        };
}

static void seed(HistoryTable *table,
                const ControlSeed *seeds,
                size_t n,
                uint64_t begin,
                uint64_t end) {
        g_assert_cmpint(history_table_seed(table, seeds, n, begin, end), ==, 0);
}

/* What happened while /proc was read makes the reading worthless. */
static void test_seed(void) {
        HistoryTable *table = make_table(0);
        ControlSeed seeds[8];

        for (uint32_t i = 0; i < G_N_ELEMENTS(seeds); i++)
                seeds[i] = make_seed(10 + i, i < 2 ? 10 : 10 + i);
        seeds[2].uids[1] = OTHER;
        seeds[3].permitted = 1;
        seeds[4].is_in_first_namespace = 0;
        seeds[5].is_dumpable = 0;
        seed(table, seeds, G_N_ELEMENTS(seeds), 100, 200);
        note_commit(table, 150, 16, user);
        note_exit(table, 150, 17);
        note_exit(table, 250, 10);
        advance(table, 199);
        assert_lives(table, USER, "");
        advance(table, 300);
        assert_lives(table, USER, "10:201-250 11:201-300");
        /* Its threads are a group. */
        note_undumpable(table, 310, 11, 1);
        advance(table, 320);
        assert_lives(table, USER, "10:201-250 11:201-309");
        history_table_free(table);
}

/* Processes that may share memory, since before the reading. 12 has shown that it has other memory,
 * 13 has new memory, and 14 is another user's. */
static void test_seed_undumpable(void) {
        HistoryTable *table = make_table(0);
        ControlSeed seeds[5];

        for (uint32_t i = 0; i < G_N_ELEMENTS(seeds); i++)
                seeds[i] = make_seed(10 + i, 10 + i);
        for (unsigned i = 0; i < 4; i++)
                seeds[4].uids[i] = OTHER;
        seed(table, seeds, G_N_ELEMENTS(seeds), 100, 200);
        note(table,
                        &(HistoryEvent){ .nsec = 250,
                                        .kind = HISTORY_CLONE,
                                        .tid = 12,
                                        .mm = 0xc,
                                        .flags = CLONE_VM | CLONE_VFORK });
        note(table, &(HistoryEvent){ .nsec = 251, .kind = HISTORY_FORK, .tid = 12, .other = 20 });
        note_done(table, 252, 13, user);
        note_undumpable(table, 260, 20, 0x20); /* in its exec */
        advance(table, 270);
        assert_lives(table, USER, "10:201-270 11:201-270 12:201-270 13:201-270 20:251-259");
        note_undumpable(table, 300, 10, 0xa);
        advance(table, 400);
        assert_lives(table, USER, "10:201-299 11:201-299 12:201-400 13:201-400 20:251-259");
        assert_lives(table, OTHER, "14:201-400");
        note_undumpable(table, 410, 12, 0xc);
        advance(table, 420);
        assert_lives(table, USER, "10:201-299 11:201-299 12:201-409 13:201-420 20:251-259");
        history_table_free(table);
}

static void test_seed_in_vain(void) {
        ControlSeed one = make_seed(10, 10);
        HistoryTable *table = make_table(0);

        /* Which process this thread is of is not known. */
        seed(table, &one, 1, 100, 200);
        note_undumpable(table, 150, 11, 1);
        advance(table, 250);
        assert_lives(table, USER, "");
        seed(table, &one, 1, 300, 400);
        history_table_lose(table, 200, 350);
        advance(table, 450);
        assert_lives(table, USER, "");
        seed(table, &one, 1, 500, 600);
        advance(table, 650);
        assert_lives(table, USER, "10:601-650");
        /* A second reading does not interrupt it. */
        seed(table, &one, 1, 700, 800);
        advance(table, 850);
        assert_lives(table, USER, "10:601-850");
        history_table_free(table);
}

static void test_credentials(void) {
        const HistoryCredentials good = { { USER, USER, USER, USER },
                { GROUP, GROUP, GROUP, GROUP } };
        HistoryCredentials c = good;

        g_assert_true(history_judge(&c).is_known);
        for (unsigned i = 0; i < 4; i++) {
                c = good;
                c.uids[i] = 0;
                g_assert_false(history_judge(&c).is_known);
                c = good;
                c.gids[i] = 0;
                g_assert_false(history_judge(&c).is_known);
        }
        c = good;
        c.permitted = 1;
        g_assert_false(history_judge(&c).is_known);
        c = good;
        c.level = 1;
        g_assert_false(history_judge(&c).is_known);
        /* of systemd: DynamicUser= */
        for (unsigned i = 0; i < 4; i++)
                c.uids[i] = 61184;
        c.level = 0;
        g_assert_false(history_judge(&c).is_known);
}

/* A life that began before the time that the question is about is cut. */
static void test_since(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, user);
        note_exit(table, 50, 5);
        note_done(table, 20, 6, user);
        advance(table, 100);
        assert_lives_since(table, USER, 50, "5:50-50 6:50-100");
        assert_lives_since(table, USER, 51, "6:51-100");
        assert_lives_since(table, USER, 101, "");
        history_table_free(table);
}

/* The oldest lives go first. Too many tasks: all are forgotten. */
static void test_full(void) {
        HistoryTable *table = make_table(16);

        for (uint32_t i = 0; i < 20; i++) {
                note_done(table, 10 + 10 * i, 5, user);
                note_exit(table, 15 + 10 * i, 5);
        }
        advance(table, 1000);
        g_autofree ControlLife *lives = NULL;
        size_t n;
        const HistoryQuestion question = { USER, GROUP, 0 };
        g_assert_cmpint(history_table_collect(table, &question, &lives, &n), ==, 0);
        g_assert_cmpuint(n, ==, 16);
        g_assert_cmpuint(lives[0].from_nsec, ==, 51);
        for (uint32_t i = 0; i < 17; i++)
                note_done(table, 2000 + i, 100 + i, other);
        advance(table, 3000);
        assert_lives(table,
                        OTHER,
                        "100:2001-2014 101:2002-2014 102:2003-2014 103:2004-2014 104:2005-2014 "
                        "105:2006-2014 106:2007-2014 107:2008-2014 108:2009-2014 "
                        "109:2010-2014 110:2011-2014 111:2012-2014 112:2013-2014 "
                        "113:2014-2014 115:2016-3000 116:2017-3000");
        history_table_free(table);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/history-table/life", test_life);
        g_test_add_func("/history-table/children", test_children);
        g_test_add_func("/history-table/reuse", test_reuse);
        g_test_add_func("/history-table/commit", test_commit);
        g_test_add_func("/history-table/exec", test_exec);
        g_test_add_func("/history-table/exec-of-thread", test_exec_of_thread);
        g_test_add_func("/history-table/exec-without-end", test_exec_without_end);
        g_test_add_func("/history-table/undumpable", test_undumpable);
        g_test_add_func("/history-table/loss", test_loss);
        g_test_add_func("/history-table/early-loss", test_early_loss);
        g_test_add_func("/history-table/seed", test_seed);
        g_test_add_func("/history-table/seed-undumpable", test_seed_undumpable);
        g_test_add_func("/history-table/seed-in-vain", test_seed_in_vain);
        g_test_add_func("/history-table/credentials", test_credentials);
        g_test_add_func("/history-table/since", test_since);
        g_test_add_func("/history-table/full", test_full);
        return g_test_run();
}
