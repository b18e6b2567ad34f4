/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Entries and exits of system calls become calls. */
#include <glib.h>
#include <string.h>

#include "call-fixture.h"

#include "analysis/call-pair.h"

typedef struct Fixture {
        Decode *decode;
        CallPair *pair;
        GString *text;
        int failure; /* what the handler returns */
} Fixture;

static int on_call(const Call *call, void *userdata) {
        static const char *const states[] = {
                "returned", "no return", "unfinished", "result only", "first return"
        };
        Fixture *f = userdata;

        g_string_append_printf(f->text,
                        "%d %s%s%s %s",
                        call->tid,
                        call->name                  ?: call->name_if_64bit ?: "?",
                        call->name ? "" : "?",
                        call->is_doubtful ? " doubtful" : "",
                        states[call->state]);
        if (call->layout)
                g_string_append_printf(f->text,
                                " (%" G_GUINT64_FORMAT ")",
                                event_layout_number(call->entry.data + 16, 8, false));
        if (call->path)
                g_string_append_printf(f->text, " \"%s\"", call->path);
        if (call->end > 0)
                g_string_append_printf(f->text, " = %" G_GINT64_FORMAT, call->result);
        g_string_append_printf(f->text,
                        " %" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT "\n",
                        call->start,
                        call->end);
        return f->failure;
}

static void open_pair(Fixture *f, gconstpointer data) {
        f->decode = call_fixture_new();
        g_assert_cmpint(call_pair_new(f->decode, on_call, f, &f->pair), ==, 0);
        f->text = g_string_new("");
}

static void close_pair(Fixture *f, gconstpointer data) {
        call_pair_free(f->pair);
        decode_free(f->decode);
        g_string_free(f->text, TRUE);
}

static int put(Fixture *f, const Event *event, int id, int64_t number, int64_t value) {
        uint8_t bytes[64];
        Record record = call_fixture_record(bytes, event, id, number, value);

        return call_pair_record(f->pair, &record);
}

static void enter(Fixture *f, Event event, int number, uint64_t argument) {
        g_assert_cmpint(put(f, &event, number + 10, number, (int64_t)argument), ==, 0);
}

static void leave(Fixture *f, Event event, int number, int64_t result) {
        g_assert_cmpint(put(f, &event, number + 10 + EXITS, number, result), ==, 0);
}

static void raw_enter(Fixture *f, Event event, int number, uint64_t argument) {
        g_assert_cmpint(put(f, &event, RAW, number, (int64_t)argument), ==, 0);
}

static void raw_leave(Fixture *f, Event event, int number, int64_t result) {
        g_assert_cmpint(put(f, &event, RAW + EXITS, number, result), ==, 0);
}

static void expect(Fixture *f, const char *text) {
        g_assert_cmpstr(f->text->str, ==, text);
        g_string_truncate(f->text, 0);
}

static void finish(Fixture *f, const char *text) {
        g_assert_cmpint(call_pair_finish(f->pair), ==, 0);
        expect(f, text);
}

/* Two threads, and calls that overlap: they come in the order of their ends. */
static void test_threads(Fixture *f, gconstpointer data) {
        enter(f, (Event){ 0, 10, 41 }, READ, 3);
        enter(f, (Event){ 1, 11, 42 }, NEWUNAME, 7);
        leave(f, (Event){ 1, 15, 42 }, NEWUNAME, 0);
        leave(f, (Event){ 1, 20, 41 }, READ, -4);
        enter(f, (Event){ 0, 21, 42 }, READ, 5);
        enter(f, (Event){ 0, 21, 41 }, READ, 6);
        expect(f, "42 uname returned (7) = 0 11-15\n41 read returned (3) = -4 10-20\n");
        finish(f, "41 read unfinished (6) 21-0\n42 read unfinished (5) 21-0\n");
}

/* Calls without exit, and exits without entry. */
static void test_halves(Fixture *f, gconstpointer data) {
        leave(f, (Event){ 0, 5, 41 }, READ, 1);
        leave(f, (Event){ 0, 6, 42 }, CLONE, 0);
        leave(f, (Event){ 0, 6, 43 }, CLONE, 42);
        enter(f, (Event){ 0, 7, 41 }, RT_SIGRETURN, 1);
        enter(f, (Event){ 0, 8, 41 }, EXIT_GROUP, 2);
        expect(f,
                        "41 read result only = 1 0-5\n"
                        "42 clone first return = 0 0-6\n"
                        "43 clone result only = 42 0-6\n"
                        "41 rt_sigreturn no return (1) 7-0\n"
                        "41 exit_group no return (2) 8-0\n");
        /* The thread's number is used again. */
        leave(f, (Event){ 0, 9, 41 }, CLONE, 0);
        enter(f, (Event){ 0, 10, 41 }, READ, 3);
        /* A child of another thread was killed. */
        leave(f, (Event){ 0, 11, 41 }, CLONE, 0);
        expect(f,
                        "41 clone first return = 0 0-9\n"
                        "41 read unfinished (3) 10-0\n"
                        "41 clone first return = 0 0-11\n");
        finish(f, "");
}

/* In a damaged recording, times may go back. No call ends before it begins. */
static void test_time_back(Fixture *f, gconstpointer data) {
        enter(f, (Event){ 0, 10, 41 }, READ, 3);
        leave(f, (Event){ 0, 9, 41 }, READ, 1);
        enter(f, (Event){ 0, 8, 41 }, READ, 3);
        leave(f, (Event){ 0, 8, 41 }, READ, 1);
        expect(f,
                        "41 read unfinished (3) 10-0\n"
                        "41 read result only = 1 0-9\n"
                        "41 read returned (3) = 1 8-8\n");
        finish(f, "");
}

/* Lost events: the exit of the call, and the entry of the next one. */
static void test_losses(Fixture *f, gconstpointer data) {
        enter(f, (Event){ 0, 10, 41 }, READ, 3);
        enter(f, (Event){ 1, 10, 42 }, READ, 3);
        enter(f, (Event){ 2, 10, 43 }, READ, 3);
        enter(f, (Event){ 2, 10, 44 }, READ, 3);
        g_assert_cmpint(call_pair_loss(f->pair, 1), ==, 0);
        leave(f, (Event){ 1, 20, 41 }, READ, 1);
        leave(f, (Event){ 2, 20, 42 }, READ, 1);
        leave(f, (Event){ 2, 20, 43 }, READ, 1);
        leave(f, (Event){ 2, 20, 44 }, NEWUNAME, 0);
        enter(f, (Event){ 1, 30, 41 }, READ, 3);
        leave(f, (Event){ 1, 31, 41 }, READ, 1);
        expect(f,
                        "41 read doubtful returned (3) = 1 10-20\n"
                        "42 read doubtful returned (3) = 1 10-20\n"
                        "43 read returned (3) = 1 10-20\n"
                        "44 read doubtful unfinished (3) 10-0\n"
                        "44 uname result only = 0 0-20\n"
                        "41 read returned (3) = 1 30-31\n");
        g_assert_cmpint(call_pair_loss(f->pair, UINT32_MAX), ==, 0);
        finish(f, "");
}

/* Raw events have no name that is proven, and no exit of rt_sigreturn() with its number. */
static void test_raw(Fixture *f, gconstpointer data) {
        raw_enter(f, (Event){ 0, 10, 41 }, READ, 3);
        raw_leave(f, (Event){ 0, 11, 41 }, READ, 1);
        raw_enter(f, (Event){ 0, 12, 41 }, RT_SIGRETURN, 0);
        raw_leave(f, (Event){ 0, 13, 41 }, -1, 5);
        raw_leave(f, (Event){ 0, 14, 41 }, -1, 5);
        raw_enter(f, (Event){ 0, 15, 41 }, 100000, 0);
        raw_leave(f, (Event){ 0, 16, 41 }, 100000, -38);
        raw_enter(f, (Event){ 0, 17, 41 }, EXIT_GROUP, 0);
        expect(f,
                        "41 read? returned (3) = 1 10-11\n"
                        "41 rt_sigreturn? returned (0) = 5 12-13\n"
                        "41 ?? returned (0) = -38 15-16\n");
        finish(f, "41 exit_group? no return (0) 17-0\n");
        f->decode->long_size = 4;
        raw_leave(f, (Event){ 0, 18, 42 }, READ, 1);
        expect(f, "42 read result only = 1 0-18\n");
}

/* A trace with both kinds of events has each call once, in both orders of the two. */
static void test_both(Fixture *f, gconstpointer data) {
        raw_enter(f, (Event){ 0, 10, 41 }, READ, 3);
        enter(f, (Event){ 0, 11, 41 }, READ, 3);
        raw_leave(f, (Event){ 0, 12, 41 }, READ, 1);
        leave(f, (Event){ 0, 13, 41 }, READ, 1);
        enter(f, (Event){ 0, 20, 41 }, READ, 4);
        raw_enter(f, (Event){ 0, 21, 41 }, READ, 4);
        leave(f, (Event){ 0, 22, 41 }, READ, 2);
        raw_leave(f, (Event){ 0, 23, 41 }, READ, 2);
        enter(f, (Event){ 0, 30, 41 }, RT_SIGRETURN, 5);
        raw_enter(f, (Event){ 0, 31, 41 }, RT_SIGRETURN, 5);
        raw_leave(f, (Event){ 0, 32, 41 }, -1, 5);
        raw_enter(f, (Event){ 0, 40, 41 }, EXIT_GROUP, 6);
        enter(f, (Event){ 0, 41, 41 }, EXIT_GROUP, 6);
        expect(f,
                        "41 read returned (3) = 1 10-12\n"
                        "41 read returned (4) = 2 20-22\n"
                        "41 rt_sigreturn no return (5) 30-0\n"
                        "41 exit_group no return (6) 40-0\n");
        finish(f, "");
        /* The second call is not reported by both: it is a 32-bit one. */
        enter(f, (Event){ 0, 50, 42 }, READ, 3);
        leave(f, (Event){ 0, 51, 42 }, READ, 1);
        raw_enter(f, (Event){ 0, 52, 42 }, READ, 4);
        raw_leave(f, (Event){ 0, 53, 42 }, READ, 2);
        expect(f,
                        "42 read returned (3) = 1 50-51\n"
                        "42 read? returned (4) = 2 52-53\n");
}

/* Events of the scheduler say when a thread ends, and that execve() has changed its number. */
static void test_scheduler(Fixture *f, gconstpointer data) {
        enter(f, (Event){ 0, 10, 41 }, READ, 3);
        enter(f, (Event){ 1, 11, 45 }, EXECVE, 9);
        put(f, &(Event){ 1, 12, 41 }, PROCESS_EXEC, 41, 45);
        leave(f, (Event){ 1, 13, 41 }, EXECVE, 0);
        enter(f, (Event){ 0, 14, 41 }, READ, 4);
        put(f, &(Event){ 0, 15, 41 }, PROCESS_EXIT, 41, 0);
        expect(f,
                        "41 read unfinished (3) 10-0\n"
                        "41 execve returned (9) = 0 11-13\n"
                        "41 read unfinished (4) 14-0\n");
        finish(f, "");
}

/* Damaged records and impossible threads do not count. */
static void test_damage(Fixture *f, gconstpointer data) {
        uint8_t bytes[12] = { READ + 10, 0, 0, 0, 41 };

        g_assert_cmpint(call_pair_record(f->pair, &(Record){ .data = bytes, .size = 12 }), ==, 0);
        g_assert_cmpint(call_pair_record(f->pair, &(Record){ .data = bytes, .size = 3 }), ==, 0);
        enter(f, (Event){ 0, 10, -1 }, READ, 3);
        enter(f, (Event){ 0, 10, 0 }, READ, 3);
        enter(f, (Event){ 0, 10, INT32_MAX }, READ, 3);
        finish(f, "");
}

/* Many threads, most of which end: only the others stay. */
static void test_many(Fixture *f, gconstpointer data) {
        for (int tid = 1; tid <= 100000; tid++) {
                enter(f, (Event){ 0, (uint64_t)tid, tid }, READ, 3);
                if (tid % 1000 == 0)
                        continue;
                leave(f, (Event){ 0, (uint64_t)tid, tid }, READ, 3);
                enter(f, (Event){ 0, (uint64_t)tid, tid }, EXIT_GROUP, 3);
        }
        g_string_truncate(f->text, 0);
        for (int tid = 1000; tid <= 100000; tid += 1000)
                leave(f, (Event){ 0, 200000, tid }, READ, tid);
        g_assert_nonnull(strstr(f->text->str, "\n77000 read returned (3) = 77000 77000-200000\n"));
        g_string_truncate(f->text, 0);
        finish(f, "");
}

static void test_failure(Fixture *f, gconstpointer data) {
        f->failure = -EPIPE;
        enter(f, (Event){ 0, 10, 41 }, READ, 3);
        g_assert_cmpint(put(f, &(Event){ 0, 11, 41 }, READ + 10 + EXITS, READ, 0), ==, -EPIPE);
        enter(f, (Event){ 0, 12, 41 }, READ, 3);
        g_assert_cmpint(call_pair_finish(f->pair), ==, -EPIPE);
}

/* size: as the record's location says. */
static void look_up(Fixture *f, Event event, int id, const char *text, uint32_t size) {
        uint8_t bytes[64];
        Record record = call_fixture_record(bytes, &event, id, 16 | size << 16, 0);

        memcpy(bytes + 16, text, strlen(text) + 1);
        g_assert_cmpint(call_pair_record(f->pair, &record), ==, 0);
}

/* A path belongs to the call in which it was read, and only the catalogue's probe is believed. */
static void test_paths(Fixture *f, gconstpointer data) {
        look_up(f, (Event){ 0, 5, 12 }, FILE_OPEN, "/before", 8);
        enter(f, (Event){ 0, 10, 12 }, READ, 1);
        look_up(f, (Event){ 0, 11, 13 }, FILE_OPEN, "/other", 7);
        look_up(f, (Event){ 0, 12, 12 }, FILE_OPEN, "/own", 5);
        look_up(f, (Event){ 0, 13, 12 }, FILE_OPEN_OWN, "/made", 6);
        leave(f, (Event){ 0, 14, 12 }, READ, 3);
        look_up(f, (Event){ 0, 15, 12 }, FILE_OPEN, "/late", 6);
        enter(f, (Event){ 0, 20, 12 }, READ, 2);
        look_up(f, (Event){ 0, 21, 12 }, FILE_OPEN, "(fault)", 8);
        leave(f, (Event){ 0, 22, 12 }, READ, 4);
        enter(f, (Event){ 0, 30, 12 }, READ, 3);
        look_up(f, (Event){ 0, 31, 12 }, FILE_OPEN, "/longer than it says", 5);
        leave(f, (Event){ 0, 32, 12 }, READ, 5);
        g_assert_cmpstr(f->text->str,
                        ==,
                        "12 read returned (1) \"/own\" = 3 10-14\n"
                        "12 read returned (2) = 4 20-22\n"
                        "12 read returned (3) \"/long\" = 5 30-32\n");
}

int main(int argc, char **argv) {
        static const struct {
                const char *path;
                void (*test)(Fixture *f, gconstpointer data);
        } tests[] = { { "/call-pair/threads", test_threads },
                { "/call-pair/halves", test_halves },
                { "/call-pair/time-back", test_time_back },
                { "/call-pair/losses", test_losses },
                { "/call-pair/raw", test_raw },
                { "/call-pair/both", test_both },
                { "/call-pair/scheduler", test_scheduler },
                { "/call-pair/paths", test_paths },
                { "/call-pair/damage", test_damage },
                { "/call-pair/many", test_many },
                { "/call-pair/failure", test_failure } };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Fixture, NULL, open_pair, tests[i].test, close_pair);
        return g_test_run();
}
