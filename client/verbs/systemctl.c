/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs systemctl, for verbs that ask systemd to enable a unit, or about one. Owns nothing. */

#include "verbs/systemctl.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interfaces/cleanup.h"

static int systemctl_spawn(char **argv, int out, pid_t *ret, Reason *reason) {
        posix_spawn_file_actions_t actions;

        (void)posix_spawn_file_actions_init(&actions); /* cannot fail on Linux */
        (void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        int error = posix_spawnp(ret, argv[0], &actions, NULL, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        return error == 0 ? 0
                          : reason_set(reason,
                                            KT_E_FAILED,
                                            "systemctl cannot be run: %s: this requires systemd",
                                            strerror(error));
}

/* Reads all of the output, so that systemctl never waits for a reader. */
static void systemctl_read_line(int from, char *ret_line, size_t size) {
        char buffer[4096];
        size_t length = 0;
        ssize_t n;

        while ((n = read(from, buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR))
                for (ssize_t i = 0; i < n; i++)
                        if (length + 1 < size)
                                ret_line[length++] = buffer[i];
        ret_line[length] = '\0';
        ret_line[strcspn(ret_line, "\n")] = '\0';
}

static int systemctl_wait(pid_t child, char **argv, Reason *reason) {
        int status;

        while (waitpid(child, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return 0;
        return reason_set(reason,
                        KT_E_FAILED,
                        "'systemctl %s' failed with status %d",
                        argv[1],
                        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int systemctl_run(const char *const words[SYSTEMCTL_WORDS_MAX],
                char *ret_line,
                size_t size,
                Reason *reason) {
        char *argv[SYSTEMCTL_WORDS_MAX + 2] = { (char *)"systemctl" };
        int pipe_fds[2];
        pid_t child;

        for (size_t i = 0; i < SYSTEMCTL_WORDS_MAX && words[i]; i++)
                argv[i + 1] = (char *)words[i];
        if (!ret_line) {
                int r = systemctl_spawn(argv, STDERR_FILENO, &child, reason);

                return r ?: systemctl_wait(child, argv, reason);
        }
        if (pipe2(pipe_fds, O_CLOEXEC) < 0)
                return -errno;
        _cleanup_close_ int from = pipe_fds[0];
        int r = systemctl_spawn(argv, pipe_fds[1], &child, reason);

        (void)close(pipe_fds[1]);
        if (r != 0)
                return r;
        systemctl_read_line(from, ret_line, size);
        return systemctl_wait(child, argv, reason);
}
