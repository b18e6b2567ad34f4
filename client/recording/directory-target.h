/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "interfaces/error.h"

/* A directory of files that is published when it is complete. */
typedef struct DirectoryTarget DirectoryTarget;

/* Fails with KT_E_FAILED and a reason when the directory cannot be made, or exists and is not
 * empty. */
int directory_target_open(const char *path, DirectoryTarget **ret, Reason *reason);
/* Reads parts (ctf/part.h) until the end of fd and appends them to the files. Returns 0, -errno
 * for a failed read, or KT_E_FAILED with a reason. */
int directory_target_fill(DirectoryTarget *target, int fd, Reason *reason);
/* Makes a new file. name: without a slash. Fails with KT_E_FAILED and a reason. */
int directory_target_open_file(DirectoryTarget *target,
                const char *name,
                FILE **ret,
                Reason *reason);
/* Removes such a file. */
int directory_target_remove_file(DirectoryTarget *target, const char *name, Reason *reason);
/* Gives the directory its name. */
int directory_target_publish(DirectoryTarget *target, Reason *reason);
/* Removes a directory that was not published. */
DirectoryTarget *directory_target_free(DirectoryTarget *target);
DEFINE_CLEANUP(DirectoryTarget, directory_target_free);
