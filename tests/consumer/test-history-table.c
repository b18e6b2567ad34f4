/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whose a task was, and when. */

#include <glib.h>
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

#define MM(tid)  (0x1000 * (uint64_t)(tid)) /* the memory of a process */
#define SEC(n)   ((uint64_t)(n)*1000 * 1000 * 1000)
#define APART(n) (SEC(n) + 50) /* far enough from APART(n - 1) */

static void note_done(HistoryTable *table, uint64_t nsec, uint32_t tid, HistoryOwner owner) {
        note(table,
                        &(HistoryEvent){ .nsec = nsec,
                                        .kind = HISTORY_DONE,
                                        .tid = tid,
                                        .mm = MM(tid),
                                        .owner = owner });
}

/* The daemon has read the task in /proc. */
static void note_seen(HistoryTable *table,
                uint64_t nsec,
                uint32_t tid,
                uint64_t mm,
                HistoryOwner owner) {
        note(table,
                        &(HistoryEvent){ .nsec = nsec,
                                        .kind = HISTORY_SEEN,
                                        .tid = tid,
                                        .mm = mm,
                                        .owner = owner,
                                        .name = "seen" });
}

static void note_change(HistoryTable *table, uint64_t nsec, uint32_t tid) {
        note(table, &(HistoryEvent){ .nsec = nsec, .kind = HISTORY_CREDENTIALS, .tid = tid });
}

static void note_birth(HistoryTable *table,
                uint64_t nsec,
                uint32_t parent,
                uint32_t child,
                uint64_t mm) {
        note(table,
                        &(HistoryEvent){ .nsec = nsec,
                                        .kind = HISTORY_BIRTH,
                                        .tid = parent,
                                        .other = child,
                                        .mm = mm,
                                        .is_plain = true,
                                        .name = "child" });
}

static void note_exit(HistoryTable *table, uint64_t nsec, uint32_t tid) {
        note(table, &(HistoryEvent){ .nsec = nsec, .kind = HISTORY_EXIT, .tid = tid });
}

static void note_exec(HistoryTable *table, uint64_t nsec, uint32_t tid, uint32_t old) {
        note(table,
                        &(HistoryEvent){ .nsec = nsec,
                                        .kind = HISTORY_EXEC,
                                        .tid = tid,
                                        .other = old });
}

static void note_undumpable(HistoryTable *table, uint64_t nsec, uint32_t tid, uint64_t mm) {
        note(table,
                        &(HistoryEvent){ .nsec = nsec,
                                        .kind = HISTORY_UNDUMPABLE,
                                        .tid = tid,
                                        .mm = mm });
}

static void advance(HistoryTable *table, uint64_t nsec) {
        g_assert_cmpint(history_table_advance(table, nsec), ==, 0);
}

static gint compare_lives(gconstpointer a, gconstpointer b) {
        const ControlLife *x = a, *y = b;

        if (x->from_nsec != y->from_nsec)
                return x->from_nsec < y->from_nsec ? -1 : 1;
        return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* All parts of an answer, sorted by their begin and number. */
static GArray *collect(HistoryTable *table, const HistoryQuestion *question) {
        static ControlLife part[HISTORY_PART];
        GArray *lives = g_array_new(FALSE, FALSE, sizeof(ControlLife));
        HistoryCursor cursor = {};
        bool has_more;
        size_t n;

        do {
                has_more = history_table_collect(table, question, &cursor, part, &n);
                g_array_append_vals(lives, part, (guint)n);
        } while (has_more);
        g_array_sort(lives, compare_lives);
        return lives;
}

static void assert_lives_since(HistoryTable *table,
                uint32_t uid,
                uint64_t since_nsec,
                const char *wanted) {
        const HistoryQuestion question = { uid, GROUP, since_nsec };
        g_autoptr(GString) text = g_string_new("");
        g_autoptr(GArray) lives = collect(table, &question);

        for (guint i = 0; i < lives->len; i++) {
                const ControlLife *life = &g_array_index(lives, ControlLife, i);

                g_string_append_printf(text,
                                "%s%u:%" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT,
                                i > 0 ? " " : "",
                                life->tid,
                                life->from_nsec,
                                life->to_nsec);
        }
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

        note_birth(table, 30, 5, 7, MM(7)); /* notes in any order */
        note_done(table, 10, 5, user);
        note_birth(table, 40, 7, 8, MM(7));
        note(table,
                        &(HistoryEvent){ .nsec = 50,
                                        .kind = HISTORY_BIRTH,
                                        .tid = 5,
                                        .other = 9,
                                        .mm = MM(5) }); /* in another namespace, or of the kernel */
        note_birth(table, 55, 5, 10, MM(10));
        note_birth(table, 60, 99, 11, MM(11)); /* of a task that nobody knows */
        note_birth(table, 70, 9, 12, MM(5));
        advance(table, 100);
        assert_lives(table, USER, "5:11-100 7:30-100 8:40-100 10:55-100");
        history_table_free(table);
}

/* A number that is used again; the end of the first task was recorded, or not. */
static void test_reuse(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, user);
        note_exit(table, 20, 5);
        note_birth(table, 30, 99, 5, MM(9));
        note_done(table, 40, 5, other);
        note_done(table, 10, 6, user);
        note_birth(table, 30, 99, 6, MM(9));
        /* The kernel makes a thread for another process of the same user. */
        note_done(table, 10, 7, user);
        note(table,
                        &(HistoryEvent){ .nsec = 30,
                                        .kind = HISTORY_BIRTH,
                                        .tid = 8,
                                        .other = 7,
                                        .mm = MM(8) });
        advance(table, 100);
        assert_lives(table, USER, "5:11-20 6:11-29 7:11-29");
        assert_lives(table, OTHER, "5:41-100");
        history_table_free(table);
}

/* Credentials that change without an exec end a life, and begin none. */
static void test_change(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, other);
        note_change(table, 20, 5);
        note_done(table, 10, 6, user);
        note_change(table, 30, 6);
        note_change(table, 40, 6); /* perhaps back: it may hold secrets from the time between */
        note_birth(table, 50, 6, 7, MM(7));
        advance(table, 100);
        assert_lives(table, OTHER, "5:11-19");
        assert_lives(table, USER, "6:11-29");
        note_change(table, 109, 5);
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
        note_change(table, 20, 5);
        note_exec(table, 25, 5, 5);
        note_done(table, 30, 5, nobody);
        note_undumpable(table, 20, 6, 0x666);
        note_exec(table, 25, 6, 6);
        note_done(table, 30, 6, nobody);
        note_exec(table, 25, 7, 7);
        note_done(table, 30, 7, user);
        /* No record but the last one shows it. */
        note_done(table, 10, 8, user);
        note_exec(table, 25, 8, 8);
        note_done(table, 30, 8, nobody);
        advance(table, 100);
        assert_lives(table, USER, "5:11-19 6:11-19 7:11-100 8:11-24");
        history_table_free(table);
}

/* Thread 6 of process 5 execs: 5 ended before, and is its number from then on. 6 is free. */
static void test_exec_of_thread(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, user);
        note_birth(table, 20, 5, 6, MM(5));
        note_exit(table, 30, 5);
        note_exec(table, 45, 5, 6);
        note_done(table, 50, 5, user);
        note_birth(table, 60, 6, 7, MM(7)); /* whoever this is */
        advance(table, 100);
        assert_lives(table, USER, "5:11-30 6:20-44 5:51-100");
        note_birth(table, 110, 99, 6, MM(6)); /* root's */
        note_birth(table, 120, 6, 8, MM(8));
        advance(table, 200);
        assert_lives(table, USER, "5:11-30 6:20-44 5:51-200");
        history_table_free(table);
}

/* The same with a set-user-id program, and one where exec fails too late: the process is killed,
 * and only the birth of another task shows that the number 9 is free. */
static void test_exec_of_thread_changes(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, user);
        note_birth(table, 20, 5, 6, MM(5));
        note_exit(table, 30, 5);
        note_change(table, 35, 5);
        note_exec(table, 40, 5, 6);
        note_done(table, 50, 5, nobody);
        note_done(table, 10, 8, user);
        note_birth(table, 20, 8, 9, MM(8));
        note_exit(table, 30, 8);
        note_exit(table, 32, 8);
        note(table,
                        &(HistoryEvent){ .nsec = 60,
                                        .kind = HISTORY_BIRTH,
                                        .tid = 99,
                                        .other = 9,
                                        .mm = MM(99) });
        advance(table, 100);
        assert_lives(table, USER, "5:11-30 8:11-30 6:20-39 9:20-59");
        history_table_free(table);
}

/* A probe that does not run: the program that the task has begun may be anybody's. */
static void test_exec_without_end(void) {
        HistoryTable *table = make_table(0);

        for (uint32_t tid = 5; tid < 8; tid++) {
                note_done(table, 10, tid, user);
                note_exec(table, 20, tid, tid);
        }
        note_birth(table, 30, 5, 9, MM(9));
        note_exit(table, 40, 6);
        note_done(table, 21, 7, user);
        note_done(table, 50, 9, user);
        advance(table, 100);
        assert_lives(table, USER, "5:11-19 6:11-19 7:11-100 9:51-100");
        history_table_free(table);
}

static void test_undumpable(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, user);
        note_birth(table, 20, 5, 6, MM(5));
        note_birth(table, 22, 5, 7, MM(5)); /* as with vfork(2) */
        note_birth(table, 24, 5, 8, MM(8));
        note_birth(table, 26, 8, 9, MM(8));
        note_undumpable(table, 30, 7, 0x777); /* in its exec */
        advance(table, 40);
        assert_lives(table, USER, "5:11-40 6:20-40 7:22-29 8:24-40 9:26-40");
        note_undumpable(table, 50, 6, MM(5)); /* for the whole process */
        advance(table, 60);
        assert_lives(table, USER, "5:11-49 6:20-49 7:22-29 8:24-60 9:26-60");
        note_birth(table, 62, 5, 10, MM(5)); /* its children are nobody's either */
        note_birth(table, 63, 5, 11, MM(11));
        note_done(table, 64, 12, user);
        note(table,
                        &(HistoryEvent){ .nsec = 65,
                                        .kind = HISTORY_DONE,
                                        .tid = 12,
                                        .mm = 0x1212, /* of its next program */
                                        .owner = user });
        note_undumpable(table, 66, 99, MM(12));
        note_undumpable(table, 69, 99, 0x1212);
        note_undumpable(table, 70, 99, MM(8)); /* by a task of which nothing is known */
        advance(table, 80);
        assert_lives(table, USER, "5:11-49 6:20-49 7:22-29 8:24-69 9:26-69 12:65-68");
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
        note_birth(table, 110, 5, 9, MM(9));
        note_done(table, 120, 5, user);
        advance(table, 130);
        assert_lives(table, USER, "5:11-39 6:11-39 8:66-130 5:121-130");
        history_table_free(table);
}

/* What ended before a loss stays. */
static void test_loss_keeps_past(void) {
        HistoryTable *table = make_table(0);

        for (uint32_t i = 0; i < 3; i++) {
                note_done(table, 10 * i + 1, 5 + i, i == 1 ? other : user);
                note_exit(table, 10 * i + 8, 5 + i);
        }
        advance(table, 100);
        history_table_lose(table, 25, 200);
        advance(table, 300);
        assert_lives(table, USER, "5:2-8 7:22-24");
        assert_lives(table, OTHER, "6:12-18");
        history_table_free(table);
}

/* Events that are not applied yet may end lives before the loss. */
static void test_early_loss(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, user);
        advance(table, 30);
        note_exit(table, 35, 5);
        note_birth(table, 38, 99, 5, MM(5));
        history_table_lose(table, 40, 60);
        advance(table, 100);
        assert_lives(table, USER, "5:11-29");
        history_table_free(table);
}

/* A task that was read twice is the user's, unless something happened to it or its memory between.
 * Nothing that happens to one task concerns another one. */
static void test_seen(void) {
        HistoryTable *table = make_table(0);

        for (uint32_t tid = 10; tid < 19; tid++)
                note_seen(table, APART(1), tid, MM(tid), tid == 18 ? nobody : user);
        note_seen(table, APART(1), 20, MM(10), user); /* another thread of 10 */
        note_seen(table, APART(1), 21, MM(11), user);
        advance(table, APART(1) + 1);
        assert_lives(table, USER, "");
        note_change(table, APART(1) + 10, 12);
        note_undumpable(table, APART(1) + 10, 99, MM(11));
        note_exec(table, APART(1) + 10, 13, 13);
        note_exit(table, APART(1) + 10, 14);
        note_birth(table, APART(1) + 20, 10, 30, MM(30));
        for (uint32_t tid = 10; tid < 19; tid++)
                note_seen(table,
                                APART(2),
                                tid,
                                tid == 15 ? MM(99) : MM(tid),
                                tid == 16   ? nobody
                                : tid == 17 ? other
                                            : user);
        note_seen(table, APART(2), 20, MM(10), user);
        note_seen(table, APART(2), 30, MM(30), user);
        advance(table, APART(3));
        assert_lives(table,
                        USER,
                        "10:2000000051-3000000050 20:2000000051-3000000050 "
                        "30:2000000051-3000000050");
        assert_lives(table, OTHER, "");
        /* The next reading gets those that rest. */
        for (uint32_t tid = 10; tid < 19; tid++)
                note_seen(table, APART(4), tid, MM(tid), tid == 17 ? other : nobody);
        advance(table, APART(5));
        assert_lives(table,
                        USER,
                        "10:2000000051-4000000049 20:2000000051-5000000050 "
                        "30:2000000051-5000000050");
        assert_lives(table, OTHER, "17:4000000051-5000000050");
        history_table_free(table);
}

/* Memory that was shared before the first reading. */
static void test_seen_shared(void) {
        HistoryTable *table = make_table(0);

        for (uint64_t n = 1; n < 3; n++) {
                note_seen(table, APART(n), 10, MM(10), user);
                note_seen(table, APART(n), 11, MM(10), user); /* a process of its own */
                note_seen(table, APART(n), 12, MM(12), user);
        }
        /* A thread of 10 that no reading has seen, and its child. */
        note_birth(table, APART(2) + 5, 13, 14, MM(10));
        note_undumpable(table, APART(2) + 10, 14, MM(10));
        advance(table, APART(3));
        assert_lives(table,
                        USER,
                        "10:2000000051-2000000059 11:2000000051-2000000059 "
                        "12:2000000051-3000000050");
        history_table_free(table);
}

/* A loss between, readings that are not far enough apart, and a task that execs. */
static void test_seen_in_vain(void) {
        HistoryTable *table = make_table(0);

        note_seen(table, APART(1), 10, MM(10), user);
        advance(table, APART(1) + 1);
        note_seen(table, APART(1) + 5, 10, MM(10), user);
        history_table_lose(table, APART(1), APART(1) + 10);
        note_seen(table, APART(2), 10, MM(10), user);
        note_seen(table, APART(3) - 1, 10, MM(10), user);
        advance(table, APART(3));
        assert_lives(table, USER, "");
        note_exec(table, APART(3) + 1, 10, 10);
        note_seen(table, APART(4), 10, MM(10), user);
        advance(table, APART(4));
        assert_lives(table, USER, "");
        note_done(table, APART(5), 10, user);
        advance(table, APART(6));
        assert_lives(table, USER, "10:5000000051-6000000050");
        /* A later reading does not interrupt it. */
        note_seen(table, APART(6) + 1, 10, MM(10), user);
        advance(table, APART(7));
        assert_lives(table, USER, "10:5000000051-7000000050");
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
}

static bool is_owner(uint32_t uid) {
        return history_judge(&(HistoryCredentials){ { uid, uid, uid, uid },
                                             { GROUP, GROUP, GROUP, GROUP } })
                        .is_known;
}

/* Uids that belong to several users, or to one after the other. */
static void test_shared_uids(void) {
        static const uint32_t
                        shared[] = { 60001, 60513, 60578, 60705, 61184, 65519, 65534 },
                        owned[] = {
                                0, 1000, 60000, 60514, 60577, 60706, 61183, 65520, 65533, 65536
                        };

        for (size_t i = 0; i < G_N_ELEMENTS(shared); i++)
                g_assert_false(is_owner(shared[i]));
        for (size_t i = 0; i < G_N_ELEMENTS(owned); i++)
                g_assert_true(is_owner(owned[i]));
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

static size_t count_lives(HistoryTable *table, uint32_t uid, uint64_t *ret_oldest) {
        const HistoryQuestion question = { uid, GROUP, 0 };
        g_autoptr(GArray) lives = collect(table, &question);

        *ret_oldest = lives->len > 0 ? g_array_index(lives, ControlLife, 0).from_nsec : 0;
        return lives->len;
}

/* A user who starts very many tasks loses own lives, the oldest first, and nobody else does. */
static void test_full(void) {
        HistoryTable *table = make_table(64);
        uint64_t oldest;

        for (uint32_t i = 0; i < 20; i++) {
                note_done(table, 10 + i, 1000 + i, other);
                note_exit(table, 100 + i, 1000 + i);
        }
        for (uint32_t i = 0; i < 1000; i++) {
                note_done(table, 200 + 10 * i, 5, user);
                note_exit(table, 205 + 10 * i, 5);
        }
        advance(table, 100000);
        g_assert_cmpuint(count_lives(table, OTHER, &oldest), ==, 20);
        g_assert_cmpuint(oldest, ==, 11);
        size_t n = count_lives(table, USER, &oldest);
        g_assert_cmpuint(n, >, 40);
        g_assert_cmpuint(n, <=, 44);
        g_assert_cmpuint(oldest, ==, 201 + 10 * (1000 - n));
        history_table_free(table);
}

/* A number that was used again: the snapshot's process needs its lives in order of time. */
static void test_order(void) {
        const HistoryQuestion question = { USER, GROUP, 0 };
        ControlLife lives[HISTORY_PART];
        HistoryTable *table = make_table(0);
        HistoryCursor cursor = {};
        size_t n;

        note_done(table, 10, 6, user);
        for (uint64_t i = 1; i < 4; i++) {
                note_done(table, 100 * i, 5, user);
                note_exit(table, 100 * i + 50, 5);
        }
        note_done(table, 400, 5, user);
        note_exit(table, 450, 6);
        advance(table, 500);
        g_assert_false(history_table_collect(table, &question, &cursor, lives, &n));
        g_assert_cmpuint(n, ==, 5);
        for (size_t i = 0, from = 101; i < n; i++)
                if (lives[i].tid == 5) {
                        g_assert_cmpuint(lives[i].from_nsec, ==, from);
                        from += 100;
                }
        history_table_free(table);
}

/* A flood of records of many rings is applied in order of time, and those of one time as noted. */
static void test_flood(void) {
        HistoryTable *table = make_table(0);

        for (uint64_t ring = 0; ring < 8; ring++)
                for (uint64_t i = 0; i < 20000; i++) {
                        uint64_t nsec = 1000 + 100 * i + ring;

                        note_done(table, nsec, 5, user);
                        note_change(table, nsec, 5);
                }
        note_done(table, 1000 + 100 * 19999 + 7, 6, user);
        note_exit(table, 5000001, 6);
        advance(table, 5000000);
        assert_lives(table, USER, "6:2000908-5000000");
        advance(table, 5000002);
        assert_lives(table, USER, "6:2000908-5000001");
        history_table_free(table);
}

/* What ended before a question's time is never asked about again. */
static void test_expire(void) {
        HistoryTable *table = make_table(0);

        note_done(table, 10, 5, user);
        note_exit(table, 50, 5);
        note_done(table, 20, 6, user);
        note_exit(table, 80, 6);
        note_done(table, 30, 7, user);
        advance(table, 100);
        g_assert_false(history_table_expire(table, 60));
        assert_lives(table, USER, "6:21-80 7:31-100");
        history_table_free(table);
}

/* Also with very many living tasks all are found, by number and by memory. */
static void test_many(void) {
        HistoryTable *table = make_table(0);
        uint64_t oldest;

        for (uint32_t i = 0; i < 100000; i++)
                note_done(table, 10 + i, 100 + i, i % 2 ? user : other);
        advance(table, 150000);
        g_assert_cmpuint(count_lives(table, USER, &oldest), ==, 50000);
        for (uint32_t i = 0; i < 100000; i++)
                note_undumpable(table, 200000 + i, 99, MM(100 + i));
        advance(table, 400000);
        for (uint32_t i = 0; i < 100000; i++) {
                note_done(table, 500000 + i, 100 + i, user);
                note_exit(table, 700000 + i, 100 + i);
        }
        advance(table, 900000);
        g_assert_cmpuint(count_lives(table, OTHER, &oldest), ==, 50000);
        g_assert_cmpuint(count_lives(table, USER, &oldest), ==, 150000);
        history_table_free(table);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/history-table/life", test_life);
        g_test_add_func("/history-table/children", test_children);
        g_test_add_func("/history-table/reuse", test_reuse);
        g_test_add_func("/history-table/change", test_change);
        g_test_add_func("/history-table/exec", test_exec);
        g_test_add_func("/history-table/exec-of-thread", test_exec_of_thread);
        g_test_add_func("/history-table/exec-of-thread-changes", test_exec_of_thread_changes);
        g_test_add_func("/history-table/exec-without-end", test_exec_without_end);
        g_test_add_func("/history-table/undumpable", test_undumpable);
        g_test_add_func("/history-table/loss", test_loss);
        g_test_add_func("/history-table/loss-keeps-past", test_loss_keeps_past);
        g_test_add_func("/history-table/early-loss", test_early_loss);
        g_test_add_func("/history-table/seen", test_seen);
        g_test_add_func("/history-table/seen-shared", test_seen_shared);
        g_test_add_func("/history-table/seen-in-vain", test_seen_in_vain);
        g_test_add_func("/history-table/credentials", test_credentials);
        g_test_add_func("/history-table/shared-uids", test_shared_uids);
        g_test_add_func("/history-table/since", test_since);
        g_test_add_func("/history-table/full", test_full);
        g_test_add_func("/history-table/order", test_order);
        g_test_add_func("/history-table/expire", test_expire);
        g_test_add_func("/history-table/flood", test_flood);
        g_test_add_func("/history-table/many", test_many);
        return g_test_run();
}
