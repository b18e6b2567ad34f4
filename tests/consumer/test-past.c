/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One user's part of the records of all tasks: what passes, and that the rest leaves no trace. */

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "base/fd.h"
#include "consumer/past.h"
#include "page-builder.h"

#define SEC UINT64_C(1000000000)

/* Task 12 is the user's, ends, and its number belongs to another user for a second. */
static const ControlLife lives[] = {
        { .tid = 12, .from_nsec = 10 * SEC, .to_nsec = 20 * SEC, .comm = "first" },
        { .tid = 12, .from_nsec = 21 * SEC, .to_nsec = 40 * SEC, .comm = "second" },
        { .tid = 14, .from_nsec = 10 * SEC, .to_nsec = 40 * SEC, .comm = "other" },
};

typedef struct Fixture {
        Past *past;
        Queue queue;
        uint8_t page[PAGE_SIZE_TEST];
        PageBuilder builder;
} Fixture;

static int open_past(const ControlLife *list, size_t n, Past **ret) {
        const ControlMessage setup = {
                .setup = { .subbuf_size = PAGE_SIZE_TEST, .has_lives = 1, .n_lives = (uint32_t)n },
        };
        _cleanup_close_ int fd = fd_memfd_sealed("lives", list, n * sizeof(*list));
        g_autofree char *metadata = page_metadata_new();

        return past_new(&setup, metadata, fd, ret);
}

static void set_up(Fixture *f, gconstpointer data _unused_) {
        *f = (Fixture){};
        g_assert_cmpint(open_past(lives, G_N_ELEMENTS(lives), &f->past), ==, 0);
        queue_init(&f->queue);
        page_begin(&f->builder, f->page);
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        past_free(f->past);
        queue_clear(&f->queue);
}

static void add(Fixture *f, uint64_t nsec, uint32_t pid) {
        memset(page_add_at(&f->builder, nsec, EVENT_ID_NAMES, pid) + 8, (int)(nsec % 255), 24);
}

static void put(Fixture *f, unsigned cpu) {
        size_t used = page_end(&f->builder, 0);

        g_assert_cmpint(past_put(f->past, &f->queue, cpu, f->page, used), ==, 0);
        page_begin(&f->builder, f->page);
}

static uint8_t *take(Fixture *f, size_t *ret) {
        g_assert_cmpint(past_end(f->past, &f->queue), ==, 0);
        return queue_take_all(&f->queue, ret);
}

static bool see(const uint8_t *record, size_t size, uint64_t nsec, void *userdata) {
        g_assert_cmpuint(size, ==, 32);
        g_string_append_printf(userdata, " %u@%" G_GUINT64_FORMAT, page_get_u32(record + 4), nsec);
        return true;
}

/* As "CPU: TID@NSEC ..." of each frame. */
static char *describe(Fixture *f) {
        GString *text = g_string_new("");
        size_t size, at = 0;
        g_autofree uint8_t *bytes = take(f, &size);

        while (at < size) {
                uint8_t page[PAGE_SIZE_TEST] = {};
                FrameHeader header;
                Reason reason;

                g_assert_cmpint(frame_header_decode(bytes + at, &header, &reason), ==, 0);
                at += sizeof(header);
                g_assert_cmpuint(header.size, <=, size - at);
                memcpy(page, bytes + at, header.size);
                at += header.size;
                g_assert_cmpuint(header.lost, ==, 0);
                g_string_append_printf(text, "%u:", header.cpu);
                (void)page_visit(page, sizeof(page), see, text);
                g_string_append(text, "\n");
        }
        return g_string_free(text, FALSE);
}

static void test_lives(Fixture *f, gconstpointer data _unused_) {
        const uint64_t times[] = { 10 * SEC - 1,
                10 * SEC,
                20 * SEC,
                20 * SEC + 1,
                21 * SEC - 1,
                21 * SEC,
                40 * SEC,
                40 * SEC + 1 };

        for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
                add(f, times[i], 12);
                put(f, 1);
        }
        g_autofree char *text = describe(f);
        g_assert_cmpstr(text,
                        ==,
                        "1: 12@10000000000 12@20000000000 12@21000000000 12@40000000000\n");
}

static void test_cpus(Fixture *f, gconstpointer data _unused_) {
        add(f, 11 * SEC, 12);
        add(f, 12 * SEC, 99);
        add(f, 13 * SEC, 14);
        put(f, 0);
        add(f, 11 * SEC, 99);
        put(f, 0);
        add(f, 11 * SEC + 1, 14);
        put(f, 2);
        g_autofree char *text = describe(f);
        g_assert_cmpstr(text, ==, "0: 12@11000000000 14@13000000000\n2: 14@11000000001\n");
}

/* The same records of the user, alone and between many of others: the same bytes. */
static void test_no_trace(Fixture *f, gconstpointer data _unused_) {
        g_autofree uint8_t *alone = NULL, *among = NULL;
        size_t n_alone, n_among;
        Fixture g;

        for (uint64_t i = 0; i < 1000; i++) {
                if (i > 0 && i % 50 == 0)
                        put(f, 0);
                add(f, 11 * SEC + i * SEC / 200, 12);
        }
        put(f, 0);
        alone = take(f, &n_alone);
        set_up(&g, NULL);
        for (uint64_t i = 0; i < 1000; i++) {
                for (uint32_t k = 0; k < i % 5; k++)
                        add(&g, 11 * SEC + i * SEC / 200 - 100 + k * 10, 1000 + k);
                add(&g, 11 * SEC + i * SEC / 200, 12);
                if (i % 7 == 0)
                        put(&g, 0);
        }
        put(&g, 0);
        among = take(&g, &n_among);
        g_assert_cmpmem(among, n_among, alone, n_alone);
        tear_down(&g, NULL);
}

/* A fork in the records makes no task the user's: the history alone decides. */
static void test_fork(Fixture *f, gconstpointer data _unused_) {
        page_add_fork(&f->builder, 11 * SEC, 12, 77);
        add(f, 12 * SEC, 77);
        add(f, 13 * SEC, 12);
        put(f, 0);
        g_autofree char *text = describe(f);
        g_assert_cmpstr(text, ==, "0: 12@13000000000\n");
}

static void test_names(Fixture *f, gconstpointer data _unused_) {
        const TaskName *names;
        PageTally tally;

        add(f, 11 * SEC, 12);
        add(f, 12 * SEC, 99);
        put(f, 0);
        size_t n = task_names_get(past_get_names(f->past, &tally), &names);
        g_assert_cmpuint(n, ==, 2);
        g_assert_cmpstr(names[0].text, ==, "second");
        g_assert_true(tally.pids[12 / 8] & 1 << 12 % 8);
        g_assert_false(tally.pids[14 / 8] & 1 << 14 % 8);
        g_assert_false(tally.pids[99 / 8] & 1 << 99 % 8);
        g_assert_cmpuint(tally.n_foreign, ==, 0);
}

/* Lists that the daemon does not send. */
static void test_bad(void) {
        ControlLife bad[] = { { .tid = 0, .from_nsec = 1, .to_nsec = 2 } };
        Past *past = NULL;

        g_assert_cmpint(open_past(bad, 1, &past), ==, -EBADMSG);
        bad[0] = (ControlLife){ .tid = 5, .from_nsec = 3, .to_nsec = 2 };
        g_assert_cmpint(open_past(bad, 1, &past), ==, -EBADMSG);
        g_assert_null(past);
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                void (*run)(Fixture *f, gconstpointer data);
        } tests[] = {
                { "/past/lives", test_lives },
                { "/past/cpus", test_cpus },
                { "/past/no-trace", test_no_trace },
                { "/past/fork", test_fork },
                { "/past/names", test_names },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].name, Fixture, NULL, set_up, tests[i].run, tear_down);
        g_test_add_func("/past/bad", test_bad);
        return g_test_run();
}
