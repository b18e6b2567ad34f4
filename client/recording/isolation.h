/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "interfaces/error.h"

/* Runs work(argument) in a child process and returns its exit status. name: of the file, for a
 * message. If a signal of the user ended the child, such as SIGINT or SIGPIPE, the caller ends with
 * the same signal. */
int isolation_run(const char *name, int (*work)(void *argument), void *argument);
/* The two steps of isolation_run(). isolation_start() returns KT_EXIT_OK, or KT_EXIT_FAILED after a
 * message. */
int isolation_start(const char *name,
                int (*work)(void *argument),
                void *argument,
                pid_t *ret_child);
int isolation_wait(const char *name, pid_t child);
/* The same, but a signal of watch_block_signals() ends the child, and not the caller. Returns
 * -EINTR then. */
int isolation_wait_or_signal(const char *name, pid_t child);
/* Ends the child, instead of isolation_wait(). */
void isolation_stop(pid_t child);
/* Called by the child when all files are open and no byte of untrusted data has been parsed. From
 * then on it can only compute, make threads, and use the files that it has open. Returns 0, or
 * KT_E_FAILED with a reason. */
int isolation_seal(Reason *reason);
