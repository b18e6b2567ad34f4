/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Opens a file that root has named, because the inspector has no right to open it. The open may
 * block for ever if a file server does not respond. So a child does it, which inherits no
 * descriptor of the daemon and ends by itself. Called by the session floor in the event loop. */

#include "work/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "work/child.h"

#define LIFE_SEC 5 /* shorter than START_TIMEOUT_USEC of inspection.c */

/* Checks the file before it opens it: opening a device has side effects, and opening a FIFO
 * blocks. */
static int open_regular(const char *path, int *ret) {
        char name[32];
        struct stat status;

        int fd = open(path, O_PATH | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &status) < 0)
                return -errno;
        if (!S_ISREG(status.st_mode))
                return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        *ret = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        return *ret < 0 ? -errno : 0;
}

/* Calls only functions that are safe after a fork of a process with threads. snprintf() of a number
 * is. */
static _Noreturn void opener_run_child(const char *path, int sock) {
        int fd = -1;

        child_settle(sock);
        (void)alarm(LIFE_SEC);
        int r = open_regular(path, &fd);
        char byte = (char)-r;
        _exit(fd_send(3, &byte, 1, &fd, r == 0 ? 1 : 0) < 0);
}

int opener_start(sd_event *event, const char *path, int sock) {
        pid_t pid = fork();

        if (pid == 0)
                opener_run_child(path, sock);
        if (pid < 0)
                return -errno;
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        return pidfd < 0 ? -errno : child_reap_later(event, pidfd);
}
