/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

static size_t count_fds(void) {
        g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
        size_t n = 0;
        g_assert_nonnull(dir);
        while (g_dir_read_name(dir))
                n++;
        return n;
}

static void make_pair(int pair[2]) {
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), ==, 0);
}

static void close_pair(int pair[2]) {
        close(pair[0]);
        close(pair[1]);
}

static void test_read_all(void) {
        g_autofree char *data = g_strnfill(100000, 'x');
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        int fd = fd_memfd_sealed("test", data, 100000);

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(fd_read_all(fd, 100000, &text, &size), ==, 0);
        g_assert_cmpmem(text, size, data, 100000);
        g_assert_cmpint(text[size], ==, '\0');

        char *more = NULL;
        g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
        g_assert_cmpint(fd_read_all(fd, 99999, &more, NULL), ==, -EFBIG);
        g_assert_null(more);
        close(fd);
}

static void test_read_nothing(void) {
        _cleanup_free_ char *text = NULL;
        size_t size = 1;
        int fd = fd_memfd_sealed("test", "", 0);

        g_assert_cmpint(fd_read_all(fd, 0, &text, &size), ==, 0);
        g_assert_cmpuint(size, ==, 0);
        g_assert_cmpstr(text, ==, "");
        close(fd);
}

static void test_read_file_at(void) {
        char *text = NULL;
        g_assert_cmpint(fd_read_file_at(AT_FDCWD, "/proc/self/exe", 64, &text, NULL), ==, -ELOOP);
        g_assert_cmpint(fd_read_file_at(AT_FDCWD, "/nonexistent", 64, &text, NULL), ==, -ENOENT);
        g_assert_null(text);
        g_assert_cmpint(fd_read_file_at(AT_FDCWD, "/proc/self/comm", 64, &text, NULL), ==, 0);
        g_assert_cmpstr(text, ==, "test-fd\n");
        free(text);
}

static void test_seals(void) {
        int fd = fd_memfd_sealed("test", "abc", 3);
        char c;

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(read(fd, &c, 1), ==, 1);
        g_assert_cmpint(c, ==, 'a');
        g_assert_cmpint(pwrite(fd, "x", 1, 0), ==, -1);
        g_assert_cmpint(ftruncate(fd, 0), ==, -1);
        g_assert_cmpint(ftruncate(fd, 10), ==, -1);
        g_assert_true(mmap(NULL, 3, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
        g_assert_cmpint(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), ==, -1);
        g_assert_cmpint(fcntl(fd, F_GETFD), ==, FD_CLOEXEC);
        close(fd);
}

static void test_pass(void) {
        int pair[2], fds[2] = { -1, -1 };
        char data[8] = "";
        size_t n_fds = 0;

        make_pair(pair);
        size_t n_before = count_fds();
        g_assert_cmpint(fd_send(pair[0], "hello", 5, (int[]){ 0, 1 }, 2), ==, 0);
        g_assert_cmpint(fd_receive(pair[1], data, sizeof(data), fds, 2, &n_fds), ==, 5);
        g_assert_cmpstr(data, ==, "hello");
        g_assert_cmpuint(n_fds, ==, 2);
        for (size_t i = 0; i < n_fds; i++) {
                g_assert_cmpint(fcntl(fds[i], F_GETFD), ==, FD_CLOEXEC);
                close(fds[i]);
        }
        g_assert_cmpuint(count_fds(), ==, n_before);
        close_pair(pair);
}

static void test_nothing_there(void) {
        char data[8];
        size_t n_fds = 7;
        int pair[2];

        make_pair(pair);
        g_assert_cmpint(fd_receive(pair[1], data, sizeof(data), NULL, 0, &n_fds), ==, -EAGAIN);
        g_assert_cmpuint(n_fds, ==, 7);
        close(pair[0]);
        g_assert_cmpint(fd_receive(pair[1], data, sizeof(data), NULL, 0, &n_fds), ==, 0);
        g_assert_cmpint(fd_send(pair[1], "x", 1, NULL, 0), ==, -EPIPE);
        close(pair[1]);
}

/* What was not asked for is closed, and none of the message is kept. */
static void test_too_many_fds(void) {
        int pair[2], fds[3] = { -1, -1, -1 }, many[FD_SEND_MAX];
        size_t n_fds = 7;
        char data[8];

        make_pair(pair);
        size_t n_before = count_fds();
        g_assert_cmpint(fd_send(pair[0], "hello", 5, (int[]){ 0, 1, 2 }, 3), ==, 0);
        g_assert_cmpint(fd_receive(pair[1], data, sizeof(data), fds, 2, &n_fds), ==, -EBADMSG);
        for (size_t i = 0; i < FD_SEND_MAX; i++)
                many[i] = 0;
        g_assert_cmpint(fd_send(pair[0], "hello", 5, many, FD_SEND_MAX), ==, 0);
        g_assert_cmpint(fd_receive(pair[1], data, sizeof(data), NULL, 0, NULL), ==, -EBADMSG);
        g_assert_cmpint(fd_send(pair[0], "hello", 5, many, FD_SEND_MAX + 1), ==, -E2BIG);
        g_assert_cmpuint(n_fds, ==, 7);
        g_assert_cmpint(fds[0], ==, -1);
        g_assert_cmpuint(count_fds(), ==, n_before);
        close_pair(pair);
}

static void test_truncated(void) {
        int pair[2], fd = -1;
        size_t n_fds = 7;
        char data[4];

        make_pair(pair);
        size_t n_before = count_fds();
        g_assert_cmpint(fd_send(pair[0], "hello", 5, (int[]){ 0 }, 1), ==, 0);
        g_assert_cmpint(fd_receive(pair[1], data, sizeof(data), &fd, 1, &n_fds), ==, -EBADMSG);
        g_assert_cmpint(fd, ==, -1);
        g_assert_cmpuint(count_fds(), ==, n_before);
        close_pair(pair);
}

static void test_full_queue(void) {
        char data[1024] = "";
        int pair[2], r = 0;

        make_pair(pair);
        for (int i = 0; i < 100000 && r == 0; i++)
                r = fd_send(pair[0], data, sizeof(data), NULL, 0);
        g_assert_cmpint(r, ==, -EAGAIN);
        close_pair(pair);
}

static void test_own_directory(void) {
        g_autofree char *top = g_dir_make_tmp("ktrace-fd-XXXXXX", NULL);
        g_autofree char *link = g_build_filename(top, "link", NULL);
        _cleanup_close_ int fd = -1;

        g_assert_cmpint(fd_open_own_directory(AT_FDCWD, top, &fd), ==, 0);
        g_assert_cmpint(symlink(".", link), ==, 0);
        g_assert_cmpint(fd_open_own_directory(AT_FDCWD, link, &fd), ==, -ENOTDIR);
        g_assert_cmpint(unlink(link), ==, 0);
        g_assert_cmpint(chmod(top, 0720), ==, 0);
        g_assert_cmpint(fd_open_own_directory(AT_FDCWD, top, &fd), ==, -EPERM);
        g_assert_cmpint(chmod(top, 0702), ==, 0);
        g_assert_cmpint(fd_open_own_directory(AT_FDCWD, top, &fd), ==, -EPERM);
        if (geteuid() == 0) {
                g_assert_cmpint(chmod(top, 0755), ==, 0);
                g_assert_cmpint(chown(top, 61000, 61000), ==, 0);
                g_assert_cmpint(fd_open_own_directory(AT_FDCWD, top, &fd), ==, -EPERM);
        }
        g_assert_cmpint(rmdir(top), ==, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/fd/read-all", test_read_all);
        g_test_add_func("/fd/read-nothing", test_read_nothing);
        g_test_add_func("/fd/read-file-at", test_read_file_at);
        g_test_add_func("/fd/own-directory", test_own_directory);
        g_test_add_func("/fd/seals", test_seals);
        g_test_add_func("/fd/pass", test_pass);
        g_test_add_func("/fd/nothing-there", test_nothing_there);
        g_test_add_func("/fd/too-many-fds", test_too_many_fds);
        g_test_add_func("/fd/truncated", test_truncated);
        g_test_add_func("/fd/full-queue", test_full_queue);
        return g_test_run();
}
