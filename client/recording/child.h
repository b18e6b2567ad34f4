/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "interfaces/error.h"

/* A command whose process waits before its exec until it is released. */
typedef struct Child Child;

typedef struct ChildOptions {
        sigset_t mask;     /* the signal mask it gets */
        bool allow_setuid; /* it may gain privileges; else only root's command may */
        bool has_group;    /* no terminal signals its group: it gets one, for child_signal() */
} ChildOptions;

/* Forks the child. argv is needed only during the call. Returns when the child has given up new
 * privileges and waits. */
int child_new(char *const *argv, const ChildOptions *options, Child **ret, Reason *reason);
/* Ends and reaps a child that was never released. A released child continues. */
Child *child_free(Child *child);
DEFINE_CLEANUP(Child, child_free);
pid_t child_get_pid(const Child *child);
/* Lets the child exec. child_get_fd reports the result. */
int child_release(Child *child);
/* Sends a signal to the command, and to its children when it has a group. */
void child_signal(const Child *child, int number);
/* Readable once the exec was attempted; child_read_outcome does not block then. */
int child_get_fd(const Child *child);
/* 0: the command runs; else the errno of its exec. */
int child_read_outcome(Child *child);
/* As in shells: 127 for "no such file", else 126. */
int child_exec_status(int exec_errno);
/* The command's own status, or 128+N for signal N. */
int child_exit_status(int code, int status);
