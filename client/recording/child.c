/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command of `record`, held back until tracing is armed: a single-threaded process that blocks
 * on a pipe and execs when a byte arrives. The trace then contains the first system call of the new
 * program. `record` creates it before it connects to the bus, so the child shares no connection. If
 * ktracectl dies, the pipe ends, and the child exits without exec.
 *
 * It sets no_new_privs: a set-uid program then runs without its privilege. The daemon requires
 * this, except from root or where a rule lets the command gain privileges. All our descriptors
 * are close-on-exec. On the far side of -H no terminal sends ^C to the command and its children, so
 * they have a group that ktracectl signals. Signals are as ktracectl found them (ignored ones stay
 * ignored). Owns the process until it is released, and the two pipes. Does not reap a released
 * child: the event loop's child source does. */

#include "recording/child.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct Child {
        pid_t pid;
        int go_fd;      /* we write; closing it makes the child exit */
        int outcome_fd; /* we read: 0 when it waits, then an errno, or the end at the exec */
        bool released, has_group;
};

/* Runs in the child. After the byte it does only what execvp needs. */
static _Noreturn void child_run(char *const *argv,
                const ChildOptions *options,
                int go_fd,
                int outcome_fd) {
        int outcome = 0;
        char go;

        if (!options->allow_setuid && geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                outcome = errno;
        if (sigprocmask(SIG_SETMASK, &options->mask, NULL) < 0)
                outcome = errno;
        if (options->has_group && setpgid(0, 0) < 0)
                outcome = errno;
        if (write(outcome_fd, &outcome, sizeof(outcome)) != sizeof(outcome) || outcome != 0)
                _exit(KT_EXIT_NOT_EXECUTABLE);
        if (read(go_fd, &go, 1) != 1)
                _exit(KT_EXIT_NOT_EXECUTABLE);
        (void)execvp(argv[0], argv);
        outcome = errno;
        if (write(outcome_fd, &outcome, sizeof(outcome)) != sizeof(outcome))
                _exit(KT_EXIT_NOT_EXECUTABLE);
        _exit(child_exec_status(outcome));
}

/* The caller has closed the child's end of the pipe; else the child's death would not end the
 * read. */
static int child_await_ready(Child *child, Reason *reason) {
        int outcome;
        ssize_t n;

        do
                n = read(child->outcome_fd, &outcome, sizeof(outcome));
        while (n < 0 && errno == EINTR);
        if (n != sizeof(outcome))
                return reason_set(reason,
                                KT_E_FAILED,
                                "the command's process ended before its start");
        if (outcome != 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "the command's process cannot be prepared: %s",
                                strerror(outcome));
        return 0;
}

int child_new(char *const *argv, const ChildOptions *options, Child **ret, Reason *reason) {
        _cleanup_(child_free_cleanup) Child *child = malloc(sizeof(*child));
        _cleanup_close_ int go_read = -1, outcome_write = -1;
        int fds[2], r;

        if (!child)
                return -ENOMEM;
        *child = (Child){ .go_fd = -1, .outcome_fd = -1, .has_group = options->has_group };
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        go_read = fds[0];
        child->go_fd = fds[1];
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        child->outcome_fd = fds[0];
        outcome_write = fds[1];

        child->pid = fork();
        if (child->pid < 0)
                return -errno;
        if (child->pid == 0) {
                /* With its own copy of the write end, the child would not notice the end of
                 * ktracectl. */
                close(child->go_fd);
                close(child->outcome_fd);
                child_run(argv, options, go_read, outcome_write);
        }
        close(TAKE_FD(outcome_write));
        r = child_await_ready(child, reason);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(child);
        return 0;
}

Child *child_free(Child *child) {
        if (!child)
                return NULL;
        if (child->pid > 0 && !child->released) {
                (void)kill(child->pid, SIGKILL);
                while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
                        continue;
        }
        if (child->go_fd >= 0)
                close(child->go_fd);
        if (child->outcome_fd >= 0)
                close(child->outcome_fd);
        free(child);
        return NULL;
}

pid_t child_get_pid(const Child *child) {
        return child->pid;
}

void child_signal(const Child *child, int number) {
        (void)kill(child->has_group ? -child->pid : child->pid, number);
}

int child_get_fd(const Child *child) {
        return child->outcome_fd;
}

int child_release(Child *child) {
        /* EPIPE: the child was killed while it waited. Its exit status reports that. */
        if (write(child->go_fd, "", 1) < 0 && errno != EPIPE)
                return -errno;
        close(TAKE_FD(child->go_fd));
        child->released = true;
        return 0;
}

int child_read_outcome(Child *child) {
        int outcome;
        ssize_t n;

        do
                n = read(child->outcome_fd, &outcome, sizeof(outcome));
        while (n < 0 && errno == EINTR);
        return n == sizeof(outcome) ? outcome : 0;
}

int child_exec_status(int exec_errno) {
        return exec_errno == ENOENT ? KT_EXIT_NOT_FOUND : KT_EXIT_NOT_EXECUTABLE;
}

int child_exit_status(int code, int status) {
        return code == CLD_EXITED ? status : 128 + status;
}
