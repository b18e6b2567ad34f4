/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "consumer/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "interfaces/cleanup.h"

#define FRAME_BYTES 10000
#define N_FRAMES    30

typedef struct Fixture {
        Queue queue;
        int reader;
        GByteArray *wanted, *got;
} Fixture;

static void set_up(Fixture *f, gconstpointer data _unused_) {
        int fds[2];

        g_assert_no_errno(pipe2(fds, O_CLOEXEC | O_NONBLOCK));
        g_assert_no_errno(fcntl(fds[1], F_SETPIPE_SZ, 4096));
        f->reader = fds[0];
        f->wanted = g_byte_array_new();
        f->got = g_byte_array_new();
        queue_init(&f->queue);
        f->queue.fd = fds[1];
        f->queue.kind = OUTLET_OWN_PIPE;
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        queue_clear(&f->queue);
        close_cleanup(&f->reader);
        g_byte_array_unref(f->wanted);
        g_byte_array_unref(f->got);
}

/* A data frame whose bytes say which it is. */
static void put(Fixture *f, unsigned number, size_t size) {
        const FrameHeader header = { .type = FRAME_DATA, .cpu = number, .size = size };
        uint8_t head[sizeof(FrameHeader)];
        g_autofree uint8_t *bytes = g_malloc(size + 1);

        memset(bytes, (int)number, size);
        frame_header_encode(head, &header);
        g_byte_array_append(f->wanted, head, sizeof(head));
        g_byte_array_append(f->wanted, bytes, (guint)size);
        g_assert_cmpint(queue_put(&f->queue, &header, bytes, size), ==, 0);
}

/* At most so many bytes. */
static bool take(Fixture *f, size_t most) {
        g_autofree uint8_t *bytes = g_malloc(most);

        ssize_t n = read(f->reader, bytes, most);
        if (n > 0)
                g_byte_array_append(f->got, bytes, (guint)n);
        return n > 0;
}

static void assert_all(const Fixture *f) {
        g_assert_cmpmem(f->got->data, f->got->len, f->wanted->data, f->wanted->len);
        g_assert_cmpuint(f->queue.written_bytes, ==, f->wanted->len);
        g_assert_cmpuint(f->queue.whole_bytes, ==, f->wanted->len);
        g_assert_cmpuint(f->queue.discarded_bytes, ==, 0);
        g_assert_cmpuint(f->queue.kept_bytes, ==, 0);
}

static void test_bit_at_a_time(Fixture *f, gconstpointer data _unused_) {
        for (unsigned i = 0; i < N_FRAMES; i++)
                put(f, i, i % 3 == 2 ? 0 : FRAME_BYTES + i);
        g_assert_false(queue_is_empty(&f->queue));
        g_assert_cmpuint(f->queue.kept_bytes, >, (N_FRAMES / 3 * 2 - 1) * FRAME_BYTES);
        for (size_t most = 1; !queue_is_empty(&f->queue); most = most * 7 % 5000 + 1) {
                while (take(f, most) && g_test_rand_bit())
                        ;
                queue_flush(&f->queue);
        }
        while (take(f, FRAME_BYTES))
                ;
        assert_all(f);
}

/* What comes later never overtakes what is kept. */
static void test_order(Fixture *f, gconstpointer data _unused_) {
        put(f, 1, FRAME_BYTES);
        while (take(f, 4096)) /* there is room now */
                ;
        put(f, 2, 1);
        while (!queue_is_empty(&f->queue)) {
                queue_flush(&f->queue);
                take(f, 4096);
        }
        while (take(f, FRAME_BYTES))
                ;
        assert_all(f);
}

static void test_without_sink(Fixture *f, gconstpointer data _unused_) {
        int fd = f->queue.fd;

        f->queue.fd = -1;
        put(f, 1, 100);
        queue_flush(&f->queue);
        g_assert_cmpuint(f->queue.kept_bytes, ==, f->wanted->len);
        f->queue.fd = fd;
        queue_flush(&f->queue);
        g_assert_true(take(f, 4096));
        assert_all(f);
}

static void test_raw_bytes(Fixture *f, gconstpointer data _unused_) {
        g_assert_cmpint(queue_put(&f->queue, NULL, "raw", 3), ==, 0);
        g_byte_array_append(f->wanted, (const guint8 *)"raw", 3);
        put(f, 1, 5);
        g_assert_true(take(f, 4096));
        assert_all(f);
}

/* Only what came out of a ring counts, and a frame that is not whole is none. */
static void test_broken_pipe(Fixture *f, gconstpointer data _unused_) {
        const FrameHeader statistics = { .type = FRAME_STATISTICS, .size = 100 };
        uint8_t text[100] = {};

        put(f, 1, FRAME_BYTES);
        put(f, 2, FRAME_BYTES);
        g_assert_cmpint(queue_put(&f->queue, &statistics, text, sizeof(text)), ==, 0);
        close_cleanup(&f->reader);
        queue_flush(&f->queue);
        g_assert_cmpint(f->queue.error, ==, EPIPE);
        g_assert_true(queue_is_empty(&f->queue));
        g_assert_cmpuint(f->queue.discarded_bytes, ==, 2 * FRAME_BYTES);
        put(f, 3, 7);
        g_assert_cmpuint(f->queue.discarded_bytes, ==, 2 * FRAME_BYTES + 7);
        g_assert_cmpuint(f->queue.kept_bytes, ==, 0);
}

static off_t file_size(int fd) {
        struct stat st;

        g_assert_no_errno(fstat(fd, &st));
        return st.st_size;
}

/* A limit of the process stands for a full disk. */
static void limit_files(rlim_t bytes) {
        struct rlimit limit;

        g_assert_no_errno(getrlimit(RLIMIT_FSIZE, &limit));
        limit.rlim_cur = bytes;
        g_assert_no_errno(setrlimit(RLIMIT_FSIZE, &limit));
}

/* A file with 50 bytes of somebody's: the first frame fits in, the second one in part. */
static void fill_file(Fixture *f, size_t behind) {
        size_t whole = sizeof(FrameHeader) + FRAME_BYTES;
        int fd = memfd_create("file", MFD_CLOEXEC);

        g_assert_no_errno(fd);
        g_assert_no_errno(ftruncate(fd, (off_t)(50 + whole + behind)));
        g_assert_no_errno(lseek(fd, 50, SEEK_SET));
        close(f->queue.fd);
        f->queue.fd = fd;
        f->queue.kind = OUTLET_FILE;
        put(f, 1, FRAME_BYTES);
        g_assert_cmpuint(f->queue.written_bytes, ==, whole);
        limit_files(50 + whole + 300);
        put(f, 2, FRAME_BYTES);
        limit_files(RLIM_INFINITY);
        g_assert_cmpint(f->queue.error, ==, EFBIG);
        g_assert_true(queue_is_empty(&f->queue));
        g_assert_cmpuint(f->queue.discarded_bytes, ==, FRAME_BYTES);
}

static void test_full_file(Fixture *f, gconstpointer data _unused_) {
        fill_file(f, 0);
        g_assert_cmpint(file_size(f->queue.fd), ==, 50 + sizeof(FrameHeader) + FRAME_BYTES);
        g_assert_cmpuint(f->queue.written_bytes, ==, sizeof(FrameHeader) + FRAME_BYTES);
}

/* What others have behind is theirs. */
static void test_shared_file(Fixture *f, gconstpointer data _unused_) {
        fill_file(f, 5000);
        g_assert_cmpint(file_size(f->queue.fd), ==, 50 + sizeof(FrameHeader) + FRAME_BYTES + 5000);
        g_assert_cmpuint(f->queue.written_bytes, ==, sizeof(FrameHeader) + FRAME_BYTES + 300);
}

/* A large file gets blocks in advance, and gives back what it did not use. */
static void test_preallocation(Fixture *f, gconstpointer data _unused_) {
        int file = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        const unsigned n = 300;
        struct statfs fs;
        struct stat st;

        if (file < 0 || fstatfs(file, &fs) < 0 || fs.f_type != EXT4_SUPER_MAGIC) {
                g_test_skip("the directory is not on ext4");
                close_cleanup(&file);
                return;
        }
        close_cleanup(&f->queue.fd);
        queue_open(&f->queue, dup(file), OUTLET_FILE);
        for (unsigned i = 0; i < n; i++)
                put(f, i, FRAME_BYTES);
        g_assert_no_errno(fstat(file, &st));
        g_assert_cmpuint((uint64_t)st.st_size, ==, f->wanted->len);
        g_assert_cmpuint((uint64_t)st.st_blocks * 512, >, f->wanted->len + 4 * 1024 * 1024);
        queue_clear(&f->queue);
        queue_init(&f->queue);
        g_assert_no_errno(fstat(file, &st));
        g_assert_cmpuint((uint64_t)st.st_size, ==, f->wanted->len);
        g_assert_cmpuint((uint64_t)st.st_blocks * 512, <, f->wanted->len + 128 * 1024);
        g_byte_array_set_size(f->got, f->wanted->len);
        g_assert_cmpint(pread(file, f->got->data, f->got->len, 0), ==, (ssize_t)f->wanted->len);
        g_assert_cmpmem(f->got->data, f->got->len, f->wanted->data, f->wanted->len);
        close_cleanup(&file);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN);
#define ADD(path, run) g_test_add(path, Fixture, NULL, set_up, run, tear_down)
        ADD("/queue/bit-at-a-time", test_bit_at_a_time);
        ADD("/queue/order", test_order);
        ADD("/queue/without-sink", test_without_sink);
        ADD("/queue/raw-bytes", test_raw_bytes);
        ADD("/queue/broken-pipe", test_broken_pipe);
        ADD("/queue/full-file", test_full_file);
        ADD("/queue/shared-file", test_shared_file);
        ADD("/queue/preallocation", test_preallocation);
        return g_test_run();
}
