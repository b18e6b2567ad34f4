/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "interfaces/error.h"

/* An output file: a new file that gets its name later, or a FIFO, a device or an
 * open descriptor that is written in place. */
typedef struct Target Target;

/* special_flags: open(2) flags for a FIFO or a device. Gives the file no name yet. Fails with
 * KT_E_FAILED and a reason when it cannot be written. */
int target_open(const char *path, int special_flags, Target **ret, Reason *reason);
int target_get_fd(const Target *target);
bool target_is_new_file(const Target *target); /* false: it is written in place */
/* Opens a separate stdio stream to write to the file. Returns 0 or -errno. */
int target_open_stdio(const Target *target, FILE **ret);
/* Makes another new file in the same directory. It has no name unless it is kept. */
int target_open_draft(Target *target, Reason *reason);
int target_get_draft_fd(const Target *target); /* -1: none */
/* Gives the draft the name PATH.kts. Fails when that file exists. Returns 0 or -errno. */
int target_keep_draft(Target *target, char **ret_path);
/* Checks whether target_publish would be refused now. */
int target_check(const Target *target, Reason *reason);
/* Gives the file its name and replaces an older file of the caller. Does nothing when it already
 * has the name. */
int target_publish(Target *target, Reason *reason);
/* Returns KT_E_FAILED and sets a reason for error. */
int target_refuse(const Target *target, int error, Reason *reason);
/* Removes the published file. */
void target_discard(Target *target);
Target *target_free(Target *target);
DEFINE_CLEANUP(Target, target_free);
