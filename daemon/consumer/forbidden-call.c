/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reports the system call that ended a worker. Called by sandbox.c, before it loads the filter.
 *
 * The filter traps a forbidden call: the kernel does not execute it and sends SIGSYS. The handler
 * writes one line to stderr, which is the journal under systemd, and sends it to the daemon. Then
 * it makes another forbidden call. The kernel blocks SIGSYS while the handler runs, and a trapped
 * call whose signal is blocked kills the process (kernel/signal.c: force_sig_info_to_task()). So
 * the worker always dies of SIGSYS, and a program that blocks or restores the signal gains nothing:
 * no forbidden call is ever executed.
 *
 * The C library blocks all signals for some calls, such as fork(). A call that is trapped there
 * kills the process before the handler runs. The filter asks the kernel to log what it traps, so
 * the kernel's log still has the number of the call, unless audit is off (audit=0).
 *
 * The call may come from malloc() with the heap's lock held, so the handler allocates nothing. All
 * names are looked up beforehand; this takes 0.13 ms. */

#include "consumer/forbidden-call.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "interfaces/control.h"

#define N_CALLS 512 /* Linux 6.18 has 470 */

static char *names[N_CALLS];
static const char *worker_role = "";

static void on_forbidden_call(int number _unused_, siginfo_t *info, void *context _unused_) {
        ControlMessage message = {
                .type = CONTROL_REFUSED,
                .version = CONTROL_VERSION,
                .status = { .error = EPERM },
        };
        char line[sizeof(message.status.text) + 32];
        int call = info->si_syscall;
        const char *name = call >= 0 && call < N_CALLS ? names[call] : NULL;

        snprintf(message.status.text,
                        sizeof(message.status.text),
                        "worker ended: its seccomp filter forbids system call %s (%d) to a %s",
                        name ?: "unknown",
                        call,
                        worker_role);
        snprintf(line, sizeof(line), "ktrace-consumer: %s\n", message.status.text);
        (void)fd_write_all(STDERR_FILENO, line, strlen(line)); /* no other way to report exists */
        (void)fd_send(CONTROL_FD, &message, sizeof(message), NULL, 0); /* the daemon may be gone */
        (void)syscall(SYS_getppid);
        _exit(127); /* only where the filter was not loaded */
}

int forbidden_call_watch(const char *role) {
        struct sigaction action = { .sa_sigaction = on_forbidden_call, .sa_flags = SA_SIGINFO };

        worker_role = role;
        for (int i = 0; i < N_CALLS; i++)
                names[i] = names[i] ?: seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, i);
        return sigaction(SIGSYS, &action, NULL) < 0 ? -errno : 0;
}
