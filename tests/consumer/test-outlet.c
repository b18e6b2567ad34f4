/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "consumer/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "interfaces/cleanup.h"
#include "interfaces/control.h"

#define LARGE_BYTES (4 * 1024 * 1024)

static void assert_taken(int fd, OutletKind wanted) {
        char text[CONTROL_TEXT_MAX] = "";
        OutletKind kind = OUTLET_OWN_PIPE;

        g_assert_no_errno(fd);
        int r = outlet_examine(fd, &kind, text, sizeof(text));
        g_assert_cmpstr(text, ==, "");
        g_assert_cmpint(r, ==, 0);
        g_assert_cmpint(kind, ==, wanted);
}

static void assert_refused(int fd, int error, const char *wanted) {
        char text[CONTROL_TEXT_MAX] = "";
        OutletKind kind = (OutletKind)99;

        g_assert_no_errno(fd);
        g_assert_cmpint(outlet_examine(fd, &kind, text, sizeof(text)), ==, -error);
        g_assert_nonnull(strstr(text, wanted));
        g_assert_null(strchr(text, '\n'));
        g_assert_cmpint(kind, ==, 99);
        close(fd);
}

static void test_taken(void) {
        _cleanup_close_ int file = memfd_create("tmpfs", MFD_CLOEXEC);
        int fds[2];

        assert_taken(file, OUTLET_FILE);
        g_assert_no_errno(pipe2(fds, O_CLOEXEC));
        assert_taken(fds[1], OUTLET_FOREIGN_PIPE);
        close(fds[0]);
        close(fds[1]);
        g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
        assert_taken(fds[0], OUTLET_SOCKET);
        close(fds[0]);
        close(fds[1]);
}

static void test_refused(void) {
        static const int types[] = { SOCK_DGRAM, SOCK_SEQPACKET };
        int fds[2];

        assert_refused(open("/etc/passwd", O_RDONLY | O_CLOEXEC), EBADF, "not open for writing");
        assert_refused(open("/etc/passwd", O_PATH | O_CLOEXEC), EBADF, "not open for writing");
        assert_refused(open("/", O_RDONLY | O_DIRECTORY), EBADF, "not open for writing");
        assert_refused(open("/proc/self/comm", O_WRONLY | O_CLOEXEC), EMEDIUMTYPE, "OpenStream");
        assert_refused(open("/dev/null", O_WRONLY | O_CLOEXEC), EINVAL, "OpenStream");
        assert_refused(eventfd(0, EFD_CLOEXEC), EINVAL, "OpenStream");
        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                g_assert_no_errno(socketpair(AF_UNIX, types[i] | SOCK_CLOEXEC, 0, fds));
                assert_refused(fds[0], EPROTOTYPE, "stream socket");
                close(fds[1]);
        }
        g_assert_no_errno(pipe2(fds, O_CLOEXEC));
        assert_refused(fds[0], EBADF, "not open for writing");
        close(fds[1]);
}

/* Writes until it is told to wait; a test that blocks here is ended by its time limit. */
static size_t fill(int fd, OutletKind kind) {
        g_autofree uint8_t *bytes = g_malloc0(LARGE_BYTES);
        struct iovec iov[] = { { bytes, 100 }, { bytes, LARGE_BYTES } };
        size_t sum = 0;
        ssize_t n;

        while ((n = outlet_write(fd, kind, iov, ELEMENTSOF(iov))) > 0)
                sum += (size_t)n;
        g_assert_cmpint(n, ==, -EAGAIN);
        return sum;
}

/* The client's description stays as it is: it may be its terminal's, or another program's. */
static void test_never_waits(void) {
        int fds[2];

        for (size_t i = 0; i < 2; i++) {
                OutletKind kind = i == 0 ? OUTLET_FOREIGN_PIPE : OUTLET_SOCKET;

                g_assert_no_errno(i == 0 ? pipe2(fds, O_CLOEXEC)
                                         : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
                g_assert_cmpuint(fill(fds[1], kind), >=, 4096);
                g_assert_cmpint(fcntl(fds[1], F_GETFL) & O_NONBLOCK, ==, 0);
                close(fds[0]);
                struct iovec iov = { (char *)"x", 1 };
                g_assert_cmpint(outlet_write(fds[1], kind, &iov, 1), ==, -EPIPE);
                close(fds[1]);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        (void)signal(SIGPIPE, SIG_IGN);
        g_test_add_func("/outlet/taken", test_taken);
        g_test_add_func("/outlet/refused", test_refused);
        g_test_add_func("/outlet/never-waits", test_never_waits);
        return g_test_run();
}
