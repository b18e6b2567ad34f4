/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pager for a listing on a terminal. main opens it for verbs with `paged`. Owns the pager's
 * process and the saved standard output. The shell runs the command in SYSTEMD_PAGER or PAGER, as
 * for systemctl. The default is less without -r, so it shows control characters as ^X. ktracectl is
 * never installed set-uid, so the environment is the caller's own. */

#include "terminal/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interfaces/cleanup.h"

static const char *pager_find_command(void) {
        const char *command = getenv("SYSTEMD_PAGER");

        if (!command)
                command = getenv("PAGER");
        if (!command)
                return "if command -v less >/dev/null; then exec less; else exec cat; fi";
        if (*command == '\0' || strcmp(command, "cat") == 0)
                return NULL;
        return command;
}

/* This only looks for words. The verb parses the options itself. */
static bool pager_is_unwanted(int argc, char **argv) {
        static const char *const words[] = { "--no-pager", "--help", "-h", "--version" };

        for (int i = 1; i < argc; i++)
                for (size_t j = 0; j < ELEMENTSOF(words); j++)
                        if (strcmp(argv[i], words[j]) == 0)
                                return true;
        return false;
}

void pager_open(Pager *pager, int argc, char **argv) {
        const char *command = pager_find_command();
        int fds[2];

        if (!command || pager_is_unwanted(argc, argv) || !isatty(STDOUT_FILENO))
                return;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return;
        pager->pid = fork();
        if (pager->pid == 0) {
                (void)dup2(fds[0], STDIN_FILENO);
                (void)setenv("LESS", "FSXMK", 0);
                (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
                _exit(127);
        }
        close(fds[0]);
        if (pager->pid < 0) {
                close(fds[1]);
                pager->pid = 0;
                return;
        }
        pager->stdout_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        (void)dup2(fds[1], STDOUT_FILENO);
        close(fds[1]);
        /* ^C is for the pager. When the pager ends, SIGPIPE ends this process. */
        (void)signal(SIGINT, SIG_IGN);
}

bool pager_is_open(const Pager *pager) {
        return pager->pid > 0;
}

void pager_close(Pager *pager) {
        if (!pager_is_open(pager))
                return;
        (void)fflush(stdout);
        /* The pager gets end-of-file only when all copies of the pipe are closed. */
        if (pager->stdout_fd >= 0)
                (void)dup2(pager->stdout_fd, STDOUT_FILENO);
        else
                (void)close(STDOUT_FILENO);
        while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
                continue;
        if (pager->stdout_fd >= 0)
                close(pager->stdout_fd);
        *pager = PAGER_INIT;
}
