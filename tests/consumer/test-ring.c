/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A packet pipe stands for trace_pipe_raw: one read(2) gives one packet. */

#include "consumer/records/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "consumer/records/rings.h"
#include "page-builder.h"

#define BATCH (4 * PAGE_SIZE_TEST)
#define FULL  (PAGE_SIZE_TEST - PAGE_HEADER_SIZE)

typedef struct Fixture {
        Ring ring;
        int kernel;
        uint8_t batch[BATCH];
} Fixture;

static void set_up(Fixture *f, gconstpointer data _unused_) {
        int fds[2];

        g_assert_no_errno(pipe2(fds, O_CLOEXEC | O_NONBLOCK | O_DIRECT));
        f->kernel = fds[1];
        f->ring = (Ring){ .raw_fd = fds[0], .stats_fd = memfd_create("stats", MFD_CLOEXEC) };
        memset(f->batch, DIRT, sizeof(f->batch));
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        ring_close(&f->ring);
        g_assert_cmpint(f->ring.raw_fd, ==, -1);
        g_assert_cmpint(f->ring.stats_fd, ==, -1);
        close_cleanup(&f->kernel);
}

static int read_errno; /* of the next calls; 0: the kernel's */

/* In place of that of the C library: no file of a test fails as a ring of the kernel does. */
ssize_t read(int fd, void *data, size_t size) {
        if (read_errno == 0)
                return syscall(SYS_read, fd, data, size);
        errno = read_errno;
        return -1;
}

/* A sub-buffer with so many bytes of records, `size` of it given. */
static void feed(Fixture *f, uint32_t commit, size_t size) {
        uint8_t page[PAGE_SIZE_TEST] = {};

        page_put_u32(page + 8, commit);
        memset(page + PAGE_HEADER_SIZE, 'x', commit);
        g_assert_cmpint(write(f->kernel, page, size), ==, size);
}

static ssize_t read_ring(Fixture *f) {
        return ring_read(&f->ring, f->batch, sizeof(f->batch), PAGE_SIZE_TEST);
}

static void test_empty(Fixture *f, gconstpointer data _unused_) {
        g_assert_cmpint(read_ring(f), ==, 0);
        close_cleanup(&f->kernel); /* as newer kernels have it: 0 for EAGAIN */
        g_assert_cmpint(read_ring(f), ==, 0);
}

static void test_batch(Fixture *f, gconstpointer data _unused_) {
        for (int i = 0; i < 6; i++)
                feed(f, FULL, PAGE_SIZE_TEST);
        g_assert_cmpint(read_ring(f), ==, BATCH);
        g_assert_cmpint(read_ring(f), ==, 2 * PAGE_SIZE_TEST);
        g_assert_cmpint(read_ring(f), ==, 0);
}

/* The last record of a sub-buffer rarely ends with it. */
static void test_nearly_full(Fixture *f, gconstpointer data _unused_) {
        feed(f, FULL - 400, PAGE_SIZE_TEST);
        feed(f, FULL, PAGE_SIZE_TEST);
        g_assert_cmpint(read_ring(f), ==, 2 * PAGE_SIZE_TEST);
}

/* What is being written ends the batch, cut behind its records, and is not asked for again. */
static void test_partial(Fixture *f, gconstpointer data _unused_) {
        feed(f, FULL, PAGE_SIZE_TEST);
        feed(f, 200, PAGE_SIZE_TEST);
        feed(f, FULL, PAGE_SIZE_TEST);
        g_assert_cmpint(read_ring(f), ==, PAGE_SIZE_TEST + PAGE_HEADER_SIZE + 200);
        g_assert_cmpint(read_ring(f), ==, PAGE_SIZE_TEST);
}

/* A read that gives less than a sub-buffer leaves nothing of the one before in the batch. */
static void test_short_read(Fixture *f, gconstpointer data _unused_) {
        feed(f, FULL, 500);
        g_assert_cmpint(read_ring(f), ==, PAGE_SIZE_TEST);
        for (size_t i = 500; i < PAGE_SIZE_TEST; i++)
                g_assert_cmphex(f->batch[i], ==, 0);
        feed(f, 0, 8);
        g_assert_cmpint(read_ring(f), ==, 0);
}

static void test_error(Fixture *f, gconstpointer data _unused_) {
        close(f->ring.raw_fd);
        f->ring.raw_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_assert_cmpint(read_ring(f), ==, -EISDIR);
}

static void set_statistics(Fixture *f, const char *text) {
        g_assert_no_errno(ftruncate(f->ring.stats_fd, 0));
        g_assert_cmpint(pwrite(f->ring.stats_fd, text, strlen(text), 0), ==, strlen(text));
}

static void test_statistics(Fixture *f, gconstpointer data _unused_) {
        set_statistics(f,
                        "entries: 11\noverrun: 22\ncommit overrun: 33\nbytes: 44\n"
                        "oldest event ts:  5264.304216\nnow ts:  5270.512365\n"
                        "dropped events: 18446744073709551615\nread events: 66\n");
        g_assert_cmpint(ring_read_statistics(&f->ring), ==, 0);
        g_assert_cmpuint(f->ring.last.entries, ==, 11);
        g_assert_cmpuint(f->ring.last.overrun, ==, 22);
        g_assert_cmpuint(f->ring.last.commit_overrun, ==, 33);
        g_assert_cmpuint(f->ring.last.bytes, ==, 44);
        g_assert_cmpuint(f->ring.last.dropped, ==, UINT64_MAX);
        g_assert_cmpuint(f->ring.last.read, ==, 66);
        set_statistics(f, "my entries: 1\nentries 2\n");
        g_assert_cmpint(ring_read_statistics(&f->ring), ==, 0);
        g_assert_cmpuint(f->ring.last.entries, ==, 0);
        close_cleanup(&f->ring.stats_fd);
        g_assert_cmpint(ring_read_statistics(&f->ring), ==, -EBADF);
        g_assert_cmpuint(ring_take_lost(&f->ring), ==, 22 + 33 + UINT64_MAX); /* until cleared */
        g_assert_cmpuint(ring_take_lost(&f->ring), ==, 0);
}

static void test_lost(Fixture *f, gconstpointer data _unused_) {
        set_statistics(f, "overrun: 1\ncommit overrun: 2\ndropped events: 4\n");
        g_assert_cmpuint(ring_take_lost(&f->ring), ==, 7);
        g_assert_cmpuint(ring_take_lost(&f->ring), ==, 0);
        set_statistics(f, "overrun: 1\ncommit overrun: 2\ndropped events: 9\n");
        g_assert_cmpuint(ring_take_lost(&f->ring), ==, 5);
        set_statistics(f, "overrun: 0\ncommit overrun: 0\ndropped events: 3\n"); /* cleared */
        g_assert_cmpuint(ring_take_lost(&f->ring), ==, 3);
        g_assert_cmpuint(ring_take_lost(&f->ring), ==, 0);
        g_assert_cmpuint(ring_get_lost(&f->ring), ==, 7 + 5 + 3);
}

/* The ring of a CPU that was never online, and a kernel without memory for the reader. */
static void test_not_read(Fixture *f, gconstpointer data _unused_) {
        feed(f, FULL, PAGE_SIZE_TEST);
        read_errno = ENODEV;
        g_assert_cmpint(read_ring(f), ==, 0);
        g_assert_true(f->ring.is_absent);
        g_assert_false(f->ring.is_unread);
        read_errno = ENOMEM;
        g_assert_cmpint(read_ring(f), ==, 0);
        g_assert_false(f->ring.is_absent);
        g_assert_true(f->ring.is_unread);
        read_errno = 0;
        g_assert_cmpint(read_ring(f), ==, PAGE_SIZE_TEST);
        g_assert_cmpint(read_ring(f), ==, 0);
        g_assert_false(f->ring.is_absent || f->ring.is_unread);
}

/* The file of a ring that is not there reports an error at once, like a pipe without a reader. */
static void test_absent_is_not_watched(void) {
        int absent[2], present[2], epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event event;
        Rings rings;

        g_assert_no_errno(pipe2(absent, O_CLOEXEC));
        g_assert_no_errno(pipe2(present, O_CLOEXEC));
        close(absent[0]);
        g_assert_cmpint(rings_init(&rings, 2, 64), ==, 0);
        rings.n_given = 2;
        rings.ring[0].raw_fd = absent[1];
        rings.ring[1].raw_fd = present[0];
        rings_watch(&rings, epoll_fd, 7, true);
        g_assert_cmpint(epoll_wait(epoll_fd, &event, 1, 0), ==, 0);
        g_assert_cmpint(write(present[1], "x", 1), ==, 1);
        g_assert_cmpint(epoll_wait(epoll_fd, &event, 1, 0), ==, 1);
        ring_close(&rings.ring[0]);
        ring_close(&rings.ring[1]);
        free(rings.ring);
        close(present[1]);
        close(epoll_fd);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#define ADD(path, run) g_test_add(path, Fixture, NULL, set_up, run, tear_down)
        ADD("/ring/empty", test_empty);
        ADD("/ring/batch", test_batch);
        ADD("/ring/nearly-full", test_nearly_full);
        ADD("/ring/partial", test_partial);
        ADD("/ring/short-read", test_short_read);
        ADD("/ring/error", test_error);
        ADD("/ring/not-read", test_not_read);
        g_test_add_func("/ring/absent-is-not-watched", test_absent_is_not_watched);
        ADD("/ring/statistics", test_statistics);
        ADD("/ring/lost", test_lost);
        return g_test_run();
}
