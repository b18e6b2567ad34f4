/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads memory and CPU time of a process from /proc/PID/stat, for registry-status.c: of the daemon
 * itself and of its stream workers. A name may contain any character, so fields are counted from
 * its last parenthesis on (proc(5)). */

#include "scope/process-cost.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "interfaces/cleanup.h"

#define USEC_PER_SEC 1000000ULL
#define STAT_MAX     4096

/* Indexes after the name: state is field 0. */
enum { FIELD_UTIME = 12, FIELD_STIME, FIELD_START = 20, FIELD_RSS = 22, FIELDS };

static int process_cost_parse(const char *text, uint64_t fields[static FIELDS]) {
        const char *at = strrchr(text, ')');

        for (unsigned i = 1; at && i < FIELDS; i++) {
                at = strchr(at + 1, ' ');
                if (at && i > 1 && sscanf(at, " %" SCNu64, &fields[i]) != 1)
                        fields[i] = 0; /* a negative field, which is not used */
        }
        return at ? 0 : -EBADMSG;
}

int process_cost_read(pid_t pid, ProcessCost *ret) {
        _cleanup_free_ char *text = NULL;
        uint64_t fields[FIELDS] = {};
        char path[32];
        size_t size;

        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        int r = fd_read_all(fd, STAT_MAX, &text, &size);
        r = r < 0 ? r : process_cost_parse(text, fields);
        if (r < 0)
                return r;
        uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK), page = (uint64_t)sysconf(_SC_PAGESIZE);
        *ret = (ProcessCost){
                .memory_kb = fields[FIELD_RSS] * page / 1024,
                .cpu_usec = (fields[FIELD_UTIME] + fields[FIELD_STIME]) * USEC_PER_SEC / ticks,
                .begun_usec = fields[FIELD_START] * USEC_PER_SEC / ticks,
        };
        return 0;
}
