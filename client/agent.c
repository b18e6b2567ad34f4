/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Somebody whom polkit can ask for a password when ktracectl runs in a terminal, over ssh too: runs
 * polkit's pkttyagent beside a call that needs it. Used by proxy.c alone. Owns that process. Never
 * sees a password: the agent reads it from the terminal and hands it to polkit's own helper.
 *
 * pkttyagent closes its notify fd when it is registered, and by dying when it cannot be: both end
 * the wait. It leaves the terminal as it was when it is ended by SIGTERM. */

#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-login.h>

/* polkitd may have to be started first. Longer than this, and the prompt comes late or never. */
#define REGISTER_TIMEOUT_MSEC 10000

struct Agent {
        pid_t pid;
};

/* A desktop's agent asks before ours, if there is one: it belongs to a session. Whoever has no
 * session (su, a unit, a container) has no such agent, and polkit 122 never asks a fallback of
 * theirs. The same order as polkit's: the process's session, else the user's display. */
static bool agent_is_fallback(void) {
        return sd_pid_get_session(0, NULL) >= 0 || sd_uid_get_display(getuid(), NULL) >= 0;
}

/* The other side of the fork. */
static _Noreturn void agent_run(pid_t parent, int notify_fd) {
        char process[16], notify[16];
        sigset_t none;
        int null_fd;

        (void)snprintf(process, sizeof(process), "%d", parent);
        (void)snprintf(notify, sizeof(notify), "%d", notify_fd);
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)signal(SIGPIPE, SIG_DFL);
        /* It would wait for a password that nobody wants any more. */
        if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
                _exit(EXIT_FAILURE);
        /* It talks to the terminal itself. Our stdout may be a recording, and what it has to say
         * when it cannot be registered is said better by ktraced. */
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
                /* Stopped by the terminal, it could not obey. */
                (void)kill(agent->pid, SIGCONT);
                while (waitpid(agent->pid, NULL, 0) < 0 && errno == EINTR)
                        continue;
        }
        free(agent);
        return NULL;
}
