/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files of an instance's rings, which the daemon opens for a consumer. Called on the worker
 * thread by trace/trace-rings.c, trace/shared.c and history/history.c. */

#include "kernel/ring-files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

int ring_files_open(const Instance *instance,
                unsigned n_cpus,
                const char *raw,
                int percent_flags,
                int **ret_fds,
                size_t *ret_n) {
        size_t n = 1 + 2 * (size_t)n_cpus;
        int *fds = malloc(n * sizeof(int));

        if (!fds)
                return -ENOMEM;
        *ret_fds = fds;
        *ret_n = n;
        for (size_t i = 0; i < n; i++)
                fds[i] = -1;
        for (size_t i = 0; i < n; i++) {
                char path[64] = "buffer_percent";

                if (i > 0)
                        (void)snprintf(path,
                                        sizeof(path),
                                        "per_cpu/cpu%zu/%s",
                                        (i - 1) / 2,
                                        i % 2 ? raw : "stats");
                fds[i] = instance_open_file(
                                instance, path, i == 0 ? percent_flags : O_RDONLY | O_NONBLOCK);
                if (fds[i] < 0)
                        return fds[i];
        }
        return 0;
}
