/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Every role's sandbox, and what a worker that was taken over would try in it. */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "consumer/sandbox.h"
#include "interfaces/cleanup.h"
#include "interfaces/control.h"

#define NOT_ENTERED 100
#define CLIENT_FD   5 /* a socket whose other end an attacker has */
#ifdef SYS_dup2
#define DUP2 "dup2"
#else
#define DUP2 "dup3"
#endif

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

/* A worker in its sandbox, as far as the test sees it. */
typedef struct Worker {
        int control, client; /* the other ends of CONTROL_FD and CLIENT_FD */
        int errors;          /* what it writes to stderr */
        pid_t pid;
} Worker;

static _Noreturn void act_in_sandbox(SandboxRole role, int (*act)(void), const int fds[static 3]) {
        char text[256];

        for (int i = 0; i < 3; i++) /* out of the way of the numbers */
                g_assert_cmpint(dup2(fds[i], 40 + i), ==, 40 + i);
        dup2(40, CONTROL_FD);
        dup2(41, CLIENT_FD);
        dup2(42, STDERR_FILENO);
        status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
        bool is_closed = sandbox_enter(user(), text, sizeof(text)) == 0 && sandbox_close(role) == 0;
        if (is_closed && role == SANDBOX_CLIENT_STREAM)
                is_closed = sandbox_end_receiving() == 0;
        _exit(is_closed ? act() : NOT_ENTERED);
}

static Worker worker_start(SandboxRole role, int (*act)(void)) {
        int control[2], client[2], errors[2];

        g_assert_no_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control));
        g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, client));
        g_assert_no_errno(pipe2(errors, O_CLOEXEC));
        Worker worker = { control[0], client[0], errors[0], fork() };
        g_assert_cmpint(worker.pid, >=, 0);
        if (worker.pid == 0)
                act_in_sandbox(role, act, (int[]){ control[1], client[1], errors[1] });
        close(control[1]);
        close(client[1]);
        close(errors[1]);
        return worker;
}

/* Its wait status. */
static int worker_end(Worker *worker) {
        int status;

        g_assert_no_errno(waitpid(worker->pid, &status, 0));
        close(worker->control);
        close(worker->client);
        close(worker->errors);
        return status;
}

static int run_as(SandboxRole role, int (*act)(void)) {
        Worker worker = worker_start(role, act);

        return worker_end(&worker);
}

static int run(int (*act)(void)) {
        return run_as(SANDBOX_STREAM, act);
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

/* What a worker that was taken over would do with the descriptors that it holds: passes one to a
 * client, or makes the control socket's number the client's. */

static int act_pass_descriptor(void) {
        return fd_send(CLIENT_FD, "x", 1, &status_fd, 1);
}

static int act_send_many(void) {
        struct mmsghdr header = {};

        return sendmmsg(CONTROL_FD, &header, 1, 0);
}

static int act_receive(void) {
        char byte;
        size_t n;
        int fd;

        return (int)fd_receive(CLIENT_FD, &byte, 1, &fd, 1, &n);
}

static int act_dup2(void) {
        return dup2(CLIENT_FD, CONTROL_FD);
}

static int act_dup3(void) {
        return dup3(CLIENT_FD, CONTROL_FD, O_CLOEXEC);
}

static int act_dup(void) {
        return dup(CLIENT_FD);
}

static int act_dup_by_fcntl(void) {
        return fcntl(CLIENT_FD, F_DUPFD, 0);
}

static int act_close_control(void) {
        return close(CONTROL_FD);
}

/* The kernel sees the lower 32 bits only. */
static int act_close_control_by_another_number(void) {
        return (int)syscall(SYS_close, (uint64_t)1 << 32 | CONTROL_FD);
}

static int act_close_range(void) {
        return close_range(CONTROL_FD, CONTROL_FD, 0);
}

static int act_connect(void) {
        const struct sockaddr address = { .sa_family = AF_UNSPEC };

        return connect(CLIENT_FD, &address, sizeof(address));
}

static int act_send_to(void) {
        const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/run/x" };

        return sendto(CLIENT_FD, "x", 1, 0, (const struct sockaddr *)&address, sizeof(address)) < 0;
}

static int act_get_pidfd(void) {
        int fd;
        socklen_t size = sizeof(fd);

        return getsockopt(CLIENT_FD, SOL_SOCKET, 77 /* SO_PEERPIDFD */, &fd, &size);
}

static int act_set_owner(void) {
        return fcntl(CLIENT_FD, F_SETOWN, 1);
}

static int act_stat_path_with_empty_flag(void) {
        struct stat st;

        return (int)syscall(SYS_newfstatat, AT_FDCWD, "/etc/shadow", &st, AT_EMPTY_PATH);
}

static int act_map_shared(void) {
        return mmap(NULL, 4096, PROT_READ, MAP_SHARED, status_fd, 0) == MAP_FAILED;
}

static int act_listen_to_itself(void) {
        return (int)syscall(SYS_seccomp,
                        SECCOMP_SET_MODE_FILTER,
                        SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        NULL);
}

static int act_add_filter(void) {
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL);
}

static int act_handle_signal(void) {
        return signal(SIGSYS, SIG_IGN) == SIG_ERR;
}

static int act_signal_another(void) {
        return (int)syscall(SYS_tgkill, getpid() + 1, getpid() + 1, SIGABRT);
}

static int act_splice(void) {
        return (int)splice(status_fd, NULL, CLIENT_FD, NULL, 1, 0);
}

static int act_io_uring(void) {
        return (int)syscall(SYS_io_uring_setup, 1, NULL);
}

static int act_memfd(void) {
        return memfd_create("x", 0);
}

static int act_thread(void) {
        pthread_t thread;

        return pthread_create(&thread, NULL, (void *(*)(void *))(uintptr_t)act_dup, NULL);
}

static const struct {
        int (*act)(void);
        const char *call; /* NULL: the C library blocks signals around it, so no handler runs */
} forbidden[] = {
        { act_open, "openat" },
        { act_socket, "socket" },
        { act_exec, "execve" },
        { act_fork, NULL },
        { act_ioctl, "ioctl" },
        { act_set_flags, "fcntl" },
        { act_map_code, "mmap" },
        { act_protect, "mprotect" },
        { act_stat_path, "newfstatat" },
        { act_kill, "getppid" },
        { act_pass_descriptor, "sendmsg" },
        { act_send_many, "sendmmsg" },
        { act_receive, "recvmsg" },
        { act_dup2, DUP2 },
        { act_dup3, "dup3" },
        { act_dup, "dup" },
        { act_dup_by_fcntl, "fcntl" },
        { act_close_control, "close" },
        { act_close_control_by_another_number, "close" },
        { act_close_range, "close_range" },
        { act_connect, "connect" },
        { act_send_to, "sendto" },
        { act_get_pidfd, "getsockopt" },
        { act_set_owner, "fcntl" },
        { act_stat_path_with_empty_flag, "newfstatat" },
        { act_map_shared, "mmap" },
        { act_listen_to_itself, "seccomp" },
        { act_add_filter, "seccomp" },
        { act_handle_signal, "rt_sigaction" },
        { act_signal_another, "tgkill" },
        { act_splice, "splice" },
        { act_io_uring, "io_uring_setup" },
        { act_memfd, "memfd_create" },
        { act_thread, NULL },
};

static void check_text(const char *text, size_t i) {
        g_autofree char *call = g_strdup_printf("forbids system call %s (", forbidden[i].call);

        if (!strstr(text, call))
                g_error("act %zu was reported as \"%s\", which lacks \"%s\"", i, text, call);
}

/* A forbidden call is not executed, ends the process, and is named on stderr and to the daemon. */
static void check_forbidden(SandboxRole role, size_t i) {
        Worker worker = worker_start(role, forbidden[i].act);
        ControlMessage message;
        char line[1024];

        ssize_t n = read(worker.errors, line, sizeof(line) - 1);
        line[MAX_OF(n, (ssize_t)0)] = '\0';
        n = recv(worker.control, &message, sizeof(message), 0);
        if (forbidden[i].call) {
                check_text(line, i);
                g_assert_cmpint(n, ==, sizeof(message));
                g_assert_cmpuint(message.type, ==, CONTROL_REFUSED);
                g_assert_cmpint(message.status.error, ==, EPERM);
                check_text(message.status.text, i);
        }
        g_assert_cmpint(recv(worker.client, line, sizeof(line), 0), ==, 0);
        int status = worker_end(&worker);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
                g_error("act %zu ended with %#x, not with SIGSYS", i, (unsigned)status);
}

static void test_forbidden(void) {
        SKIP_WITHOUT_FILTER();
        for (unsigned role = 0; role < _SANDBOX_ROLE_N; role++)
                for (size_t i = 0; i < ELEMENTSOF(forbidden); i++)
                        /* The reader of a shared instance maps the memory of the viewers. */
                        if (role != SANDBOX_MUX || forbidden[i].act != act_map_shared)
                                check_forbidden(role, i);
}

/* A role that has no sink writes nowhere. */
static int act_write_to_client(void) {
        return write(CLIENT_FD, "x", 1) != 1;
}

static void test_writers(void) {
        static const bool writes[_SANDBOX_ROLE_N] = {
                [SANDBOX_STREAM] = true,
                [SANDBOX_CLIENT_STREAM] = true,
                [SANDBOX_SPOOL_READER] = true,
                [SANDBOX_MUX] = true,     /* the pipes of the viewers */
                [SANDBOX_HISTORY] = true, /* the memfd of an answer */
        };

        SKIP_WITHOUT_FILTER();
        for (unsigned role = 0; role < _SANDBOX_ROLE_N; role++) {
                int status = run_as(role, act_write_to_client);

                g_assert_true(writes[role] ? status == 0
                                           : WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
        }
}

/* The sink of a client comes over the client's socket, after the sandbox was closed. */
static int act_receive_sink(void) {
        char text[256], byte;
        size_t n_fds = 0;
        int fd;

        if (sandbox_enter(user(), text, sizeof(text)) < 0 ||
                        sandbox_close(SANDBOX_CLIENT_STREAM) < 0)
                return NOT_ENTERED;
        if (fd_receive(CLIENT_FD, &byte, 1, &fd, 1, &n_fds) != 1 || n_fds != 1)
                return 1;
        if (sandbox_end_receiving() < 0)
                return 2;
        return send(CLIENT_FD, "y", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : 3;
}

static void test_client_sink(void) {
        char byte = 0;
        int ends[2];

        g_assert_no_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
        g_assert_cmpint(fd_send(ends[0], "x", 1, &ends[0], 1), ==, 0);
        pid_t pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
                dup2(ends[1], CLIENT_FD);
                _exit(act_receive_sink());
        }
        int status;
        g_assert_no_errno(waitpid(pid, &status, 0));
        g_assert_cmpint(status, ==, 0);
        g_assert_cmpint(recv(ends[0], &byte, 1, 0), ==, 1);
        g_assert_cmpint(byte, ==, 'y');
        close(ends[0]);
        close(ends[1]);
}

/* A failed assertion ends with its own signal and its own message. */
static int act_abort(void) {
        abort();
}

static void test_abort(void) {
        for (unsigned role = 0; role < _SANDBOX_ROLE_N; role++) {
                int status = run_as(role, act_abort);

                g_assert_true(WIFSIGNALED(status));
                g_assert_cmpint(WTERMSIG(status), ==, SIGABRT);
        }
}

/* What all roles do: memory, times, random numbers, messages with the daemon. */
static int act_work(void) {
        _cleanup_free_ char *large = malloc(4 << 20), *larger = NULL;
        struct timespec now;
        struct stat st;
        char byte;

        if (!large)
                return 1;
        memset(large, 1, 4 << 20);
        larger = realloc(TAKE_PTR(large), 64 << 20);
        if (!larger || fd_stat(STDERR_FILENO, &st) < 0 || close(CLIENT_FD) < 0)
                return 2;
        if (getrandom(&byte, 1, 0) != 1 || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
                return 3;
        return fd_send(CONTROL_FD, "x", 1, &status_fd, 1) < 0 ? 4 : 0;
}

static void test_allowed(void) {
        for (unsigned role = 0; role < _SANDBOX_ROLE_N; role++)
                g_assert_cmpint(run_as(role, act_work), ==, 0);
}

static sem_t asked, answered;

static void *get_random(void *ret) {
        while (sem_wait(&asked) < 0)
                ;
        ssize_t n = getrandom(ret, 1, 0);
        sem_post(&answered);
        return (void *)n;
}

/* The C library prepares getrandom() in each thread at its first call there. */
static int act_random_elsewhere(void) {
        char text[256], byte;
        pthread_t thread;

        sem_init(&asked, 0, 0);
        sem_init(&answered, 0, 0);
        if (pthread_create(&thread, NULL, get_random, &byte) != 0)
                return 1;
        if (sandbox_enter(user(), text, sizeof(text)) < 0 || sandbox_close(SANDBOX_STREAM) < 0)
                return NOT_ENTERED;
        sem_post(&asked);
        while (sem_wait(&answered) < 0)
                ;
        return 0;
}

static void test_random_elsewhere(void) {
        int status;

        pid_t pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0)
                _exit(act_random_elsewhere());
        g_assert_no_errno(waitpid(pid, &status, 0));
        g_assert_cmpint(status, ==, 0);
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
        g_test_add_func("/sandbox/writers", test_writers);
        g_test_add_func("/sandbox/client-sink", test_client_sink);
        g_test_add_func("/sandbox/abort", test_abort);
        g_test_add_func("/sandbox/allowed", test_allowed);
        g_test_add_func("/sandbox/random-elsewhere", test_random_elsewhere);
        g_test_add_func("/sandbox/identity", test_identity);
        g_test_add_func("/sandbox/broken-pipe", test_broken_pipe);
        g_test_add_func("/sandbox/not-dumpable", test_not_dumpable);
        g_test_add_func("/sandbox/refused", test_refused);
        return g_test_run();
}
