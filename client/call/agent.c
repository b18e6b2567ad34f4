/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs polkit's pkttyagent during a call that may need a password, if ktracectl runs in a terminal
 * (also over ssh). polkit can then ask the user there. Used by proxy.c only. Owns that process.
 * Never sees a password: the agent reads it from the terminal and passes it to polkit's own helper.
 *
 * Relies on pkttyagent closing its notify fd when it is registered. If it cannot register, it
 * exits, which closes the fd too. Either ends the wait. pkttyagent restores the terminal when it
 * receives SIGTERM. */

#include "call/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-login.h>

/* polkitd may have to start first. If it takes longer, the call continues, and the prompt may
 * come late or never. */
#define REGISTER_TIMEOUT_MSEC 10000

struct Agent {
        pid_t pid;
};

/* A desktop's agent belongs to a session and has precedence over ours. A process without a
 * session (su, a unit, a container) has no such agent, and polkit 122 never uses a fallback
 * agent for it. polkit looks up the session in the same order: that of the process, else the
 * user's display. */
static bool agent_is_fallback(void) {
        return sd_pid_get_session(0, NULL) >= 0 || sd_uid_get_display(getuid(), NULL) >= 0;
}

/* Runs in the child. */
static _Noreturn void agent_run(pid_t parent, int notify_fd) {
        char process[16], notify[16];
        sigset_t none;
        int null_fd;

        (void)snprintf(process, sizeof(process), "%d", parent);
        (void)snprintf(notify, sizeof(notify), "%d", notify_fd);
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)signal(SIGPIPE, SIG_DFL);
        /* Without us its prompt has no purpose: the kernel must end it when we die. */
        if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
                _exit(EXIT_FAILURE);
        /* pkttyagent opens the terminal itself. Our stdout may be a recording. Its messages are
         * not needed: if it cannot register, ktraced reports the error better. */
        null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0 ||
                        dup2(null_fd, STDERR_FILENO) < 0)
                _exit(EXIT_FAILURE);
        if (fcntl(notify_fd, F_SETFD, 0) < 0)
                _exit(EXIT_FAILURE);
        (void)execlp("pkttyagent",
                        "pkttyagent",
                        "--process",
                        process,
                        "--notify-fd",
                        notify,
                        agent_is_fallback() ? "--fallback" : NULL,
                        NULL);
        _exit(EXIT_FAILURE);
}

static void agent_await(int fd) {
        struct pollfd wait = { .fd = fd };

        while (poll(&wait, 1, REGISTER_TIMEOUT_MSEC) < 0 && errno == EINTR)
                continue;
}

int agent_open(Agent **ret) {
        _cleanup_(agent_free_cleanup) Agent *agent = NULL;
        _cleanup_close_ int wait_fd = -1, notify_fd = -1;
        pid_t self = getpid();
        int fds[2];

        if (geteuid() == 0 || !isatty(STDIN_FILENO)) {
                *ret = NULL;
                return 0;
        }
        agent = calloc(1, sizeof(*agent));
        if (!agent)
                return -ENOMEM;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        wait_fd = fds[0];
        notify_fd = fds[1];
        agent->pid = fork();
        if (agent->pid < 0)
                return -errno;
        if (agent->pid == 0)
                agent_run(self, notify_fd);
        close(TAKE_FD(notify_fd));
        agent_await(wait_fd);
        *ret = TAKE_PTR(agent);
        return 0;
}

Agent *agent_free(Agent *agent) {
        if (!agent)
                return NULL;
        if (agent->pid > 0) {
                (void)kill(agent->pid, SIGTERM);
                /* A process that the terminal has stopped handles SIGTERM only after SIGCONT. */
                (void)kill(agent->pid, SIGCONT);
                while (waitpid(agent->pid, NULL, 0) < 0 && errno == EINTR)
                        continue;
        }
        free(agent);
        return NULL;
}
