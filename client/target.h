/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "interfaces/error.h"

/* An output file: a new file that gets its name later, or a FIFO, a device or an
 * open descriptor that is written in place. */
typedef struct Target Target;

/* special_flags: how a FIFO or a device is opened (open(2)). Creates no name.
 * KT_E_FAILED with a reason when it cannot be written. */
int target_open(const char *path, int special_flags, Target **ret, Reason *reason);
int target_get_fd(const Target *target);
bool target_is_new_file(const Target *target); /* false: it is written in place */
/* A stream of its own to write to the file. -errno. */
int target_open_stdio(const Target *target, FILE **ret);
/* Another new file, in the directory of a new file; it has no name unless it is kept. */
int target_open_draft(Target *target, Reason *reason);
int target_get_draft_fd(const Target *target); /* -1: none */
/* Names the draft PATH.kts; fails when there is such a file. -errno. */
int target_keep_draft(Target *target, char **ret_path);
/* Whether target_publish would be refused now. */
int target_check(const Target *target, Reason *reason);
/* Gives the new file its name and replaces an older file of the caller. It keeps the name when it
 * has it already. */
int target_publish(Target *target, Reason *reason);
/* KT_E_FAILED: it cannot be written, and why. */
int target_refuse(const Target *target, int error, Reason *reason);
/* Removes the published file. */
void target_discard(Target *target);
Target *target_free(Target *target);
DEFINE_CLEANUP(Target, target_free);
