/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/instance.h"

/* Opens what a consumer needs to read the rings of an instance: buffer_percent, then the raw file
 * and the counters of each CPU. percent_flags: of open(2). On failure *ret_fds has those that are
 * open. */
int ring_files_open(const Instance *instance,
                unsigned n_cpus,
                const char *raw,
                int percent_flags,
                int **ret_fds,
                size_t *ret_n);
