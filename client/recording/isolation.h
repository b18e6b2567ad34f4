/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"

/* Runs work(argument) in a child process and returns its exit status. name: of the file, for a
 * message. If a signal of the user ended the child, such as SIGINT or SIGPIPE, the caller ends with
 * the same signal. */
int isolation_run(const char *name, int (*work)(void *argument), void *argument);
/* Called by the child when all files are open and no byte of untrusted data has been parsed. From
 * then on it can only compute, make threads, and use the files that it has open. Returns 0, or
 * KT_E_FAILED with a reason. */
int isolation_seal(Reason *reason);
