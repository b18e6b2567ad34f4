/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The common part of all children of the daemon: how they start, and how they are reaped without a
 * wait. Used by spawn.c and opener.c. */

#include "work/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interfaces/cleanup.h"

void child_settle(int fd) {
        sigset_t none;

        for (int i = 1; i < _NSIG; i++)
                (void)signal(i, SIG_DFL); /* reset ignored ones; SIGKILL, SIGSTOP fail */
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        int null = open("/dev/null", O_RDWR);
        if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
                _exit(126);
        if (fd == 3) {
                if (fcntl(fd, F_SETFD, 0) < 0)
                        _exit(126);
        } else if (dup2(fd, 3) < 0)
                _exit(126);
        (void)close_range(4, ~0U, 0);
}

static int on_child_exit(sd_event_source *source,
                int fd,
                uint32_t revents _unused_,
                void *userdata _unused_) {
        siginfo_t info;

        (void)waitid((idtype_t)P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG); /* only to reap */
        return sd_event_source_set_floating(source, false); /* the last reference; closes fd */
}

/* Uses the pidfd, because a SIGCHLD handler would also take the exits of the buffer-growing
 * children from the worker thread. */
int child_reap_later(sd_event *event, int pidfd) {
        sd_event_source *source;
        _cleanup_close_ int fd = fcntl(pidfd, F_DUPFD_CLOEXEC, 3);

        if (fd < 0)
                return -errno;
        int r = sd_event_add_io(event, &source, fd, EPOLLIN, on_child_exit, NULL);
        if (r < 0)
                return r;
        (void)sd_event_source_set_io_fd_own(source, true);
        fd = -1; /* owned by the source */
        r = sd_event_source_set_floating(source, true);
        sd_event_source_unref(source);
        return r < 0 ? r : 0;
}
