/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "hosts/manifest.h"
#include "terminal/context.h"

/* Whether the path is a directory. */
bool hosts_is_directory(const char *path);
/* Opens the directory of a recording and reads its manifest. The names of its machines can be
 * printed. Returns 0, -errno, or KT_E_FAILED with a reason. */
int hosts_directory_open(const char *path, int *ret_fd, Manifest **ret, Reason *reason);
/* Whether the machine has events on the time line of all machines. */
bool hosts_directory_has(const Manifest *manifest, size_t machine);
/* Opens the file of a machine that has one. Returns 0, or KT_E_FAILED with a reason. */
int hosts_directory_open_file(int directory_fd,
                const Manifest *manifest,
                size_t machine,
                int *ret,
                Reason *reason);
/* Says what each machine lacks. Returns KT_EXIT_OK, or KT_EXIT_LOST when the recording of a machine
 * is missing or cut. */
int hosts_directory_report(const Manifest *manifest, const Context *context);
