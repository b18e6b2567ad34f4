/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The limit of open files, for work on the files of many machines. The default limit is low for
 * programs that use select(2), which this is not. Owns nothing. */

#include "hosts/file-limit.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>

/* What a program has open without any machine. */
#define FILE_LIMIT_OTHERS 64

int file_limit_raise(size_t n_files, size_t n_machines, Reason *reason) {
        rlim_t wanted = (rlim_t)n_files + FILE_LIMIT_OTHERS;
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return -errno;
        if (limit.rlim_cur >= wanted)
                return 0;
        if (limit.rlim_max < wanted)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%zu machines need %ju open files, and the limit is %ju: raise it with 'ulimit -n'",
                                n_machines,
                                (uintmax_t)wanted,
                                (uintmax_t)limit.rlim_max);
        limit.rlim_cur = wanted;
        return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}
