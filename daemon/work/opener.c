/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Opens a file of root's choice for the inspector, which has no right to. Opening may wait for ever
 * where a file server keeps silent; so a child does it, which keeps nothing of the daemon's open
 * and ends by itself. Called by the session floor in the event loop. */

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

#define LIFE_SEC 5 /* the daemon has given up by then */

/* Looked at before it is opened: to open a device does things, to open a FIFO waits. */
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

/* Only what is safe after a fork of a process with threads; snprintf() of a number is. */
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
