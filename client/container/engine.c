/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks podman or docker for the id of a container, for container.c: `podman container inspect
 * --format {{.Id}} -- NAME`, which docker has too. It runs as the caller, without a shell, and
 * finds the caller's containers. An answer that is not an id is ignored. An engine that does not
 * answer in time is killed: the daemon of docker may hang. */

#include "container/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "container/cgroup-tree.h"

#define ENGINE_TIME_MSEC   5000
#define ENGINE_ABSENT      127
#define ENGINE_ANSWER_SIZE (CONTAINER_ID_SIZE + 2) /* newline and one byte too many */

static _Noreturn void engine_run(const char *program, const char *name, int out_fd) {
        const char *const argv[] = {
                program, "container", "inspect", "--format", "{{.Id}}", "--", name, NULL
        };
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0 &&
                        dup2(out_fd, STDOUT_FILENO) >= 0)
                (void)execvp(program, (char *const *)argv);
        _exit(ENGINE_ABSENT);
}

static int64_t engine_now_msec(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns the number of bytes, or -ETIMEDOUT. */
static ssize_t engine_read(int fd, char answer[static ENGINE_ANSWER_SIZE]) {
        int64_t end = engine_now_msec() + ENGINE_TIME_MSEC;
        size_t size = 0;

        while (size < ENGINE_ANSWER_SIZE) {
                struct pollfd pollfd = { .fd = fd, .events = POLLIN };
                int64_t left = end - engine_now_msec();
                int r = left > 0 ? poll(&pollfd, 1, (int)left) : 0;

                if (r == 0)
                        return -ETIMEDOUT;
                ssize_t n = r > 0 ? read(fd, answer + size, ENGINE_ANSWER_SIZE - size) : -1;
                if (n == 0)
                        break;
                if (n > 0)
                        size += (size_t)n;
                else if (errno != EINTR)
                        return -errno;
        }
        return (ssize_t)size;
}

/* Returns the exit status. */
static int engine_end(pid_t pid, bool is_killed) {
        int status = 0;

        if (is_killed)
                (void)kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                continue;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *engine_take_id(char answer[static ENGINE_ANSWER_SIZE], ssize_t size) {
        if (size != CONTAINER_ID_SIZE + 1 || answer[CONTAINER_ID_SIZE] != '\n')
                return NULL;
        answer[CONTAINER_ID_SIZE] = '\0';
        return cgroup_tree_is_id(answer) ? answer : NULL;
}

int engine_find_id(const char *program, const char *name, char **ret, Reason *note) {
        char answer[ENGINE_ANSWER_SIZE];
        int fds[2];

        *ret = NULL;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        pid_t pid = fork();
        if (pid == 0)
                engine_run(program, name, fds[1]);
        int r = pid < 0 ? -errno : 0;
        close(fds[1]);
        if (r < 0) {
                close(fds[0]);
                return r;
        }
        ssize_t size = engine_read(fds[0], answer);
        /* One that has said too much may wait for a reader. It must not end by a closed pipe, which
         * would look like its own failure. */
        int status = engine_end(pid, size < 0 || size == ENGINE_ANSWER_SIZE);
        close(fds[0]);
        const char *id = engine_take_id(answer, size);

        if (size < 0)
                (void)reason_set(note, KT_E_FAILED, "%s", strerror((int)-size));
        else if (status == ENGINE_ABSENT)
                (void)reason_set(note, KT_E_FAILED, "not installed");
        else if (status > 0)
                (void)reason_set(note, KT_E_FAILED, "no such container");
        else if (!id)
                (void)reason_set(note, KT_E_FAILED, "its answer is not an id");
        else
                *ret = strdup(id);
        return id && status == 0 && !*ret ? -ENOMEM : 0;
}
