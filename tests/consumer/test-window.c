/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "consumer/window.h"

#define SUBBUF 4096

static uint8_t pages[8 * SUBBUF];

/* What is reported again: "CPU:first byte" of each sub-buffer. */
static int tell(unsigned cpu, const uint8_t *data, size_t size, void *userdata) {
        GString *reported = userdata;

        for (size_t at = 0; at < size; at += SUBBUF)
                g_string_append_printf(reported, "%u:%c ", cpu, data[at]);
        return 0;
}

/* Consumes kept_fd. */
static void begin_on(Window *window,
                uint64_t buffer_bytes,
                int earlier_fd,
                int kept_fd,
                PageTally *tally) {
        *window = WINDOW_NONE;
        window->is_on = true;
        window->n_cpus = 4;
        window->subbuf_size = SUBBUF;
        window->buffer_bytes = buffer_bytes;
        window->kept_fd = kept_fd;
        g_assert_cmpint(window_open(window, earlier_fd, NULL, tally), ==, 0);
}

static void begin(Window *window, uint64_t buffer_bytes, int earlier_fd, PageTally *tally) {
        begin_on(window, buffer_bytes, earlier_fd, memfd_create("kept", MFD_CLOEXEC), tally);
}

/* Sub-buffers of one letter each; the last of a batch may be cut. */
static void keep(Window *window, unsigned cpu, const char *letters, size_t cut) {
        size_t n = strlen(letters);

        for (size_t i = 0; i < n; i++)
                memset(pages + i * SUBBUF, letters[i], SUBBUF);
        g_assert_cmpint(window_keep(window, cpu, pages, n * SUBBUF - cut), ==, 0);
}

static void assert_kept(const Window *window,
                unsigned cpu,
                uint64_t new_bytes,
                const char *expected) {
        GString *reported = g_string_new(NULL);

        g_assert_cmpint(window_visit(window, cpu, new_bytes, tell, reported), ==, 0);
        g_assert_cmpstr(reported->str, ==, expected);
        g_string_free(reported, TRUE);
}

/* Returns what the next one gets. */
static int leave(Window *window, const PageTally *tally) {
        int fd = dup(window->kept_fd);

        g_assert_false(window->is_whole);
        g_assert_cmpint(window_close(window, tally), ==, 0);
        g_assert_true(window->is_whole);
        window_clear(window);
        return fd;
}

static void test_oldest_go(void) {
        PageTally tally = {};
        Window one, two;

        int none = memfd_create("none", MFD_CLOEXEC);
        begin(&one, 8 * SUBBUF, none, &tally);
        assert_kept(&one, 0, 0, "");
        keep(&one, 0, "abc", 100);
        keep(&one, 1, "xy", 0);
        keep(&one, 0, "de", 0);
        int fd = leave(&one, &tally);
        begin(&two, 4 * SUBBUF, fd, &tally);
        assert_kept(&two, 0, 0, "0:b 0:c 0:d 0:e ");
        assert_kept(&two, 0, 2 * SUBBUF, "0:d 0:e ");
        assert_kept(&two, 0, 2 * SUBBUF + 1, "0:e ");
        assert_kept(&two, 0, 4 * SUBBUF, "");
        assert_kept(&two, 0, UINT64_MAX, "");
        assert_kept(&two, 1, 0, "1:x 1:y ");
        assert_kept(&two, 2, 0, "");
        close(leave(&two, &tally));
        close(fd);
        close(none);
}

/* Whose records are reported again are still known by name. */
static void test_pids(void) {
        PageTally first = { .pids = g_malloc0(PAGE_PIDS_MAX / 8) },
                  second = { .pids = g_malloc0(PAGE_PIDS_MAX / 8) };
        Window one, two;

        int none = memfd_create("none", MFD_CLOEXEC);
        begin(&one, 8 * SUBBUF, none, &first);
        for (uint32_t pid = 0; pid < PAGE_PIDS_MAX; pid += 1021)
                first.pids[pid / 8] |= (uint8_t)(1U << (pid % 8));
        int fd = leave(&one, &first);
        begin(&two, 8 * SUBBUF, fd, &second);
        g_assert_cmpmem(first.pids, PAGE_PIDS_MAX / 8, second.pids, PAGE_PIDS_MAX / 8);
        close(leave(&two, &second));
        close(fd);
        close(none);
        g_free(first.pids);
        g_free(second.pids);
}

/* A consumer was killed while it read CPU 1. Another one continues with what it has kept. */
static void test_continued(void) {
        PageTally tally = {};
        Window one, two, three;
        GString *reported = g_string_new(NULL);

        int none = memfd_create("none", MFD_CLOEXEC), kept = memfd_create("kept", MFD_CLOEXEC);
        begin(&one, 8 * SUBBUF, none, &tally);
        keep(&one, 0, "a", 0);
        keep(&one, 1, "x", 0);
        keep(&one, 2, "p", 0);
        int fd = leave(&one, &tally);

        begin_on(&two, 8 * SUBBUF, fd, dup(kept), &tally);
        g_assert_cmpint(window_begin(&two, 0), ==, 0);
        g_assert_cmpint(window_carry(&two, 0, SUBBUF), ==, 0);
        keep(&two, 0, "b", 0);
        g_assert_cmpint(window_begin(&two, 1), ==, 0);
        keep(&two, 1, "x", 0); /* a part of the earlier data */
        g_assert_cmpint(write(kept, "torn", 4), ==, 4);
        window_clear(&two);

        begin_on(&three, 8 * SUBBUF, fd, dup(kept), &tally);
        g_assert_true(window_has_begun(&three, 0));
        g_assert_true(window_has_begun(&three, 1));
        g_assert_false(window_has_begun(&three, 2));
        for (unsigned cpu = 0; cpu < 3; cpu++) {
                g_assert_cmpint(window_begin(&three, cpu), ==, 0);
                g_assert_cmpint(window_carry(&three, cpu, SUBBUF), ==, 0);
                keep(&three, cpu, (const char *[]){ "c", "y", "q" }[cpu], 0);
        }
        g_assert_cmpint(window_close(&three, &tally), ==, 0);
        g_assert_cmpint(window_read(&three, tell, reported), ==, 0);
        g_assert_cmpstr(reported->str, ==, "0:a 0:b 0:c 1:x 1:y 2:p 2:q ");
        window_clear(&three);
        g_string_free(reported, TRUE);
        close(kept);
        close(fd);
        close(none);
}

/* The memfd may be of a consumer that was broken into. */
static void test_damaged(void) {
        const uint32_t batches[][2] = {
                { 0, UINT32_MAX }, { 0, SUBBUF + 1 }, { UINT32_MAX, 3 }, { UINT32_MAX, UINT32_MAX }
        };
        PageTally tally = { .pids = g_malloc0(PAGE_PIDS_MAX / 8) };
        uint8_t head[16] = {};

        for (size_t i = 0; i < G_N_ELEMENTS(batches); i++)
                for (size_t cut = 0; cut < 24; cut++) {
                        Window window;
                        int fd = memfd_create("damaged", MFD_CLOEXEC);

                        g_assert_cmpint(write(fd, head, sizeof(head)), ==, sizeof(head));
                        g_assert_cmpint(write(fd, batches[i], 8), ==, 8);
                        g_assert_cmpint(write(fd, pages, SUBBUF), ==, SUBBUF);
                        g_assert_cmpint(ftruncate(fd, (off_t)(24 - cut + (i & 1 ? SUBBUF : 0))),
                                        ==,
                                        0);
                        begin(&window, 8 * SUBBUF, fd, &tally);
                        assert_kept(&window, 0, 0, "");
                        close(leave(&window, &tally));
                        close(fd);
                }
        g_free(tally.pids);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/window/oldest-go", test_oldest_go);
        g_test_add_func("/window/pids", test_pids);
        g_test_add_func("/window/continued", test_continued);
        g_test_add_func("/window/damaged", test_damaged);
        return g_test_run();
}
