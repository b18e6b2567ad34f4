/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts ssh for near-link.c, without a shell. The command that runs on the host is fixed: ssh
 * joins its arguments with blanks for the shell there, so the command line travels in packets. "--"
 * ends the options of ssh, and a Host never begins with '-'. KTRACE_SSH names another program, as
 * SYSTEMD_SSH does for systemd's tools; ktracectl is never installed set-uid, so the environment is
 * the caller's own.
 *
 * ssh asks for passwords on the terminal, so it stays in the foreground group. There ^C also comes
 * to ssh, which would end it before the far side has ended the recording. It keeps ignoring
 * signals that are ignored at its start (ssh's clientloop.c). Owns the process and three pipes. */

#include "remote/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* After ssh was hung up. */
#define SSH_TERM_USEC ((uint64_t)200 * 1000) /* SIGTERM: ssh may have to restore the terminal */
#define SSH_KILL_USEC ((uint64_t)1000 * 1000)

static const char *ssh_get_program(void) {
        const char *program = getenv("KTRACE_SSH");

        return program && *program ? program : "ssh";
}

static _Noreturn void ssh_run(const Host *host,
                const sigset_t *mask,
                const int fds[static 3],
                int outcome_fd) {
        const char *argv[10] = { ssh_get_program(), "-axT" };
        size_t n = 2;
        int error = 0;

        if (host->is_one_of_many)
                argv[n++] = "-oBatchMode=yes";
        if (host->port) {
                argv[n++] = "-p";
                argv[n++] = host->port;
        }
        argv[n++] = "--";
        argv[n++] = host->target;
        argv[n++] = "ktracectl";
        argv[n++] = "serve";
        for (int i = 0; i < 3; i++)
                if (dup2(fds[i], i) < 0)
                        error = errno;
        (void)signal(SIGINT, SIG_IGN);
        (void)signal(SIGQUIT, SIG_IGN);
        if (sigprocmask(SIG_SETMASK, mask, NULL) < 0)
                error = errno;
        if (error == 0) {
                (void)execvp(argv[0], (char **)argv);
                error = errno;
        }
        (void)!write(outcome_fd, &error, sizeof(error));
        _exit(KT_EXIT_NOT_FOUND);
}

/* Returns the errno of the exec, 0 when ssh runs. */
static int ssh_await(int outcome_fd) {
        int error = 0;
        ssize_t n;

        do
                n = read(outcome_fd, &error, sizeof(error));
        while (n < 0 && errno == EINTR);
        return n == sizeof(error) ? error : 0;
}

int ssh_start(const Host *host, const sigset_t *mask, Ssh *ret, Reason *reason) {
        int pipes[4][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } };
        Ssh ssh = { .in_fd = -1, .out_fd = -1, .errors_fd = -1 };
        int error = 0;

        for (size_t i = 0; i < ELEMENTSOF(pipes); i++)
                if (error == 0 && pipe2(pipes[i], O_CLOEXEC) < 0)
                        error = errno;
        if (error == 0) {
                ssh.pid = fork();
                if (ssh.pid == 0)
                        ssh_run(host,
                                        mask,
                                        (const int[3]){ pipes[0][0], pipes[1][1], pipes[2][1] },
                                        pipes[3][1]);
                if (ssh.pid < 0)
                        error = errno;
        }
        /* The ends of ssh. */
        const int theirs[] = { pipes[0][0], pipes[1][1], pipes[2][1], pipes[3][1] };
        for (size_t i = 0; i < ELEMENTSOF(theirs); i++)
                if (theirs[i] >= 0)
                        close(theirs[i]);
        if (error == 0)
                error = ssh_await(pipes[3][0]);
        if (pipes[3][0] >= 0)
                close(pipes[3][0]);
        ssh.in_fd = pipes[0][1];
        ssh.out_fd = pipes[1][0];
        ssh.errors_fd = pipes[2][0];
        if (error == 0) {
                *ret = ssh;
                return 0;
        }
        (void)ssh_end(&ssh);
        return reason_set(reason,
                        KT_E_FAILED,
                        "-H: cannot run '%s': %s",
                        ssh_get_program(),
                        strerror(error));
}

static void ssh_close(int *fd) {
        if (*fd >= 0)
                close(TAKE_FD(*fd));
}

static uint64_t ssh_now(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Returns whether the process has ended at this time. */
static bool ssh_await_end(int pid_fd, uint64_t usec) {
        struct pollfd pollfd = { .fd = pid_fd, .events = POLLIN };
        int r;

        do {
                uint64_t now = ssh_now();

                r = poll(&pollfd, 1, now < usec ? (int)((usec - now) / 1000) : 0);
        } while (r < 0 && errno == EINTR);
        return r > 0;
}

void ssh_hang_up(Ssh *ssh) {
        ssh_close(&ssh->in_fd);
        ssh_close(&ssh->out_fd);
        ssh_close(&ssh->errors_fd);
        if (ssh->hung_up_usec == 0)
                ssh->hung_up_usec = ssh_now();
}

bool ssh_has_left(const Ssh *ssh) {
        siginfo_t info = {};

        if (ssh->pid <= 0 || ssh_now() >= ssh->hung_up_usec + SSH_KILL_USEC)
                return true;
        return waitid(P_PID, (id_t)ssh->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
               info.si_pid != 0;
}

int ssh_end(Ssh *ssh) {
        _cleanup_close_ int pid_fd = -1;
        int status = 0;

        ssh_hang_up(ssh);
        if (ssh->pid <= 0)
                return 0;
        pid_fd = (int)syscall(SYS_pidfd_open, ssh->pid, 0);
        if (pid_fd < 0 || !ssh_await_end(pid_fd, ssh->hung_up_usec + SSH_TERM_USEC)) {
                (void)kill(ssh->pid, SIGTERM);
                if (pid_fd < 0 || !ssh_await_end(pid_fd, ssh->hung_up_usec + SSH_KILL_USEC))
                        (void)kill(ssh->pid, SIGKILL);
        }
        while (waitpid(ssh->pid, &status, 0) < 0 && errno == EINTR)
                continue;
        ssh->pid = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
