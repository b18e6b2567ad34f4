/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cleanup.h"
#include "sandbox.h"

#define NOT_ENTERED 100

#ifdef __SANITIZE_ADDRESS__
#define SKIP_WITHOUT_FILTER()                                                           \
        do {                                                                            \
                g_test_skip("AddressSanitizer makes calls of its own: no filter here"); \
                return;                                                                 \
        } while (0)
#else
#define SKIP_WITHOUT_FILTER()
#endif

static const char *user(void) {
        return geteuid() == 0 ? "nobody" : NULL;
}

static bool is_root;
static int status_fd; /* the child's own /proc/self/status, opened before it may no more */

/* Runs `act` in the sandbox, in a child; its wait status. */
static int run(int (*act)(void)) {
        int status;

        pid_t pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
                char text[256];

                status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
                _exit(sandbox_enter(user(), text, sizeof(text)) < 0 || sandbox_close() < 0
                                                ? NOT_ENTERED
                                                : act());
        }
        g_assert_no_errno(waitpid(pid, &status, 0));
        return status;
}

static int act_open(void) {
        return open("/dev/null", O_RDONLY) < 0;
}

static int act_socket(void) {
        return socket(AF_UNIX, SOCK_STREAM, 0) < 0;
}

static int act_exec(void) {
        execl("/bin/true", "true", NULL);
        return 1;
}

static int act_fork(void) {
        return fork() < 0;
}

static int act_ioctl(void) {
        return (int)syscall(SYS_ioctl, 0, 0x5401, NULL) < 0;
}

static int act_set_flags(void) {
        return fcntl(0, F_SETFL, 0) < 0;
}

static int act_map_code(void) {
        return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
               MAP_FAILED;
}

static int act_protect(void) {
        return mprotect((void *)((uintptr_t)act_protect & ~4095UL), 4096, PROT_READ | PROT_WRITE);
}

static int act_stat_path(void) {
        struct stat st;

        return (int)syscall(SYS_newfstatat, AT_FDCWD, "/dev/null", &st, 0);
}

static int act_kill(void) {
        return kill(getppid(), 0);
}

static void test_forbidden(void) {
        static int (*const acts[])(void) = {
                act_open,
                act_socket,
                act_exec,
                act_fork,
                act_ioctl,
                act_set_flags,
                act_map_code,
                act_protect,
                act_stat_path,
                act_kill,
        };

        SKIP_WITHOUT_FILTER();
        for (size_t i = 0; i < ELEMENTSOF(acts); i++) {
                int status = run(acts[i]);

                if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
                        g_error("act %zu ended with %#x, not with SIGSYS", i, (unsigned)status);
        }
}

/* What the loop and the memory beneath it live by. */
static int act_work(void) {
        _cleanup_free_ char *large = malloc(4 << 20), *larger = NULL;
        struct stat st;

        if (!large)
                return 1;
        memset(large, 1, 4 << 20);
        larger = realloc(TAKE_PTR(large), 64 << 20);
        if (!larger || fcntl(2, F_GETFL) < 0 || fstat(2, &st) < 0)
                return 2;
        return 0;
}

static void test_allowed(void) {
        g_assert_cmpint(run(act_work), ==, 0);
}

static int act_identity(void) {
        char text[4096];

        ssize_t n = pread(status_fd, text, sizeof(text) - 1, 0);
        if (n <= 0)
                return 2;
        text[n] = '\0';
        if (strstr(text, "\nUid:\t0\t"))
                return 1;
        if (!strstr(text, "\nNoNewPrivs:\t1\n") || !strstr(text, "\nSeccomp:\t2\n"))
                return 3;
        if (!strstr(text, "\nCapEff:\t0000000000000000\n") ||
                        !strstr(text, "\nCapPrm:\t0000000000000000\n"))
                return 4;
        if (is_root && !strstr(text, "\nGroups:\t \n") && !strstr(text, "\nGroups:\t\n"))
                return 5;
        return 0;
}

static void test_identity(void) {
        SKIP_WITHOUT_FILTER();
        g_assert_cmpint(run(act_identity), ==, 0);
}

static int broken_pipe;

static int act_write(void) {
        return write(broken_pipe, "x", 1) == -1 && errno == EPIPE ? 0 : 1;
}

/* An error, and not the end by SIGPIPE. */
static void test_broken_pipe(void) {
        int fds[2];

        g_assert_no_errno(pipe(fds));
        close(fds[0]);
        broken_pipe = fds[1];
        g_assert_cmpint(run(act_write), ==, 0);
        close(broken_pipe);
}

static void test_not_dumpable(void) {
        g_autofree char *path = NULL;
        struct stat st;
        int ends[2], held[2];
        char byte;

        if (geteuid() != 0) {
                g_test_skip("needs root");
                return;
        }
        g_assert_no_errno(pipe(ends));
        g_assert_no_errno(pipe(held));
        pid_t pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
                char text[256];

                if (sandbox_enter(user(), text, sizeof(text)) < 0 || write(ends[1], "r", 1) != 1 ||
                                read(held[0], &byte, 1) != 0)
                        _exit(1);
                _exit(0);
        }
        g_assert_cmpint(read(ends[0], &byte, 1), ==, 1);
        path = g_strdup_printf("/proc/%d/stat", pid);
        g_assert_no_errno(stat(path, &st));
        g_assert_cmpuint(st.st_uid, ==, 0); /* the kernel gives what is not dumpable to root */
        g_assert_no_errno(kill(pid, SIGKILL));
        g_assert_no_errno(waitpid(pid, NULL, 0));
        for (size_t i = 0; i < 2; i++) {
                close(ends[i]);
                close(held[i]);
        }
}

static void test_refused(void) {
        char text[256] = "";

        if (geteuid() != 0) {
                g_test_skip("needs root");
                return;
        }
        g_assert_cmpint(sandbox_enter(NULL, text, sizeof(text)), ==, -EPERM);
        g_assert_cmpstr(text, ==, "refuses to run as root");
        g_assert_cmpint(sandbox_enter("root", text, sizeof(text)), ==, -EPERM);
        g_assert_cmpstr(text, ==, "user \"root\" is root");
        g_assert_cmpint(sandbox_enter("no-such-user", text, sizeof(text)), ==, -EPERM);
        g_assert_cmpstr(text, ==, "user \"no-such-user\" does not exist");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        is_root = geteuid() == 0;
        g_test_add_func("/sandbox/forbidden", test_forbidden);
        g_test_add_func("/sandbox/allowed", test_allowed);
        g_test_add_func("/sandbox/identity", test_identity);
        g_test_add_func("/sandbox/broken-pipe", test_broken_pipe);
        g_test_add_func("/sandbox/not-dumpable", test_not_dumpable);
        g_test_add_func("/sandbox/refused", test_refused);
        return g_test_run();
}
