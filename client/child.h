/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "interfaces/error.h"

/* A command that exists as a process but waits before its exec until it is released. */
typedef struct Child Child;

typedef struct ChildOptions {
        sigset_t mask;     /* the signal mask it gets */
        bool allow_setuid; /* it keeps the right to gain privileges; else only root's does */
} ChildOptions;

/* Forks it. argv must outlive the call only. Returns once it has given up new privileges and
 * waits. */
int child_new(char *const *argv, const ChildOptions *options, Child **ret, Reason *reason);
/* Ends and reaps one that was never released; a released one goes on. */
Child *child_free(Child *child);
DEFINE_CLEANUP(Child, child_free);
pid_t child_get_pid(const Child *child);
/* Lets it go. The exec's outcome comes by child_get_fd. */
int child_release(Child *child);
/* Readable once the exec was tried; child_read_outcome does not block then. */
int child_get_fd(const Child *child);
/* 0: it runs; else the errno of its exec. */
int child_read_outcome(Child *child);
/* The shell's: 127 for "no such file", else 126. */
int child_exec_status(int exec_errno);
/* Its own status, or 128+N by signal. */
int child_exit_status(int code, int status);
