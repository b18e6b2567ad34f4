/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the counters of the ring of a CPU: how many records are in it, were read, overwritten or
 * dropped, and how old they are. Called by trace and by statistics-total.c. Owns nothing.
 *
 * It relies on this behaviour of the kernel: per_cpu/cpuN/stats names its counters "entries",
 * "overrun", "commit overrun", "bytes", "dropped events" and "read events", and has "oldest event
 * ts" and "now ts" in seconds with six decimals where the clock counts nanoseconds, else as the
 * bare number. */

#include "kernel/statistics.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/cleanup.h"

static const struct {
        const char *name;
        size_t offset;
} counters[] = {
        { "entries", offsetof(CpuStatistics, entries) },
        { "overrun", offsetof(CpuStatistics, overrun) },
        { "commit overrun", offsetof(CpuStatistics, commit_overrun) },
        { "bytes", offsetof(CpuStatistics, bytes) },
        { "dropped events", offsetof(CpuStatistics, dropped) },
        { "read events", offsetof(CpuStatistics, read) },
};

/* "oldest event ts: 17.000123". If the clock does not count time, the number has no dot. */
static uint64_t statistics_parse_time(const char *text, const char *name) {
        uint64_t sec, usec;
        const char *line = strstr(text, name);

        if (!line || sscanf(line + strlen(name), ": %" SCNu64 ".%6" SCNu64, &sec, &usec) != 2)
                return 0;
        return sec * 1000000000 + usec * 1000;
}

static int statistics_parse(const char *text, CpuStatistics *ret) {
        CpuStatistics statistics = {};
        size_t n_found = 0;

        for (const char *line = text; *line;) {
                size_t size = strcspn(line, "\n");
                size_t name_size = strcspn(line, ":\n");
                for (size_t i = 0; i < ELEMENTSOF(counters); i++) {
                        if (strlen(counters[i].name) != name_size ||
                                        memcmp(counters[i].name, line, name_size) != 0)
                                continue;
                        uint64_t *value = (uint64_t *)((char *)&statistics + counters[i].offset);
                        if (sscanf(line + name_size, ": %" SCNu64, value) != 1)
                                return -EBADMSG;
                        n_found++;
                }
                line += size + (line[size] == '\n');
        }

        if (n_found != ELEMENTSOF(counters))
                return -EBADMSG;
        if (statistics.entries > 0)
                statistics.oldest_nsec = statistics_parse_time(text, "oldest event ts");
        statistics.now_nsec = statistics_parse_time(text, "now ts");
        *ret = statistics;
        return 0;
}

int instance_read_statistics(const Instance *instance, unsigned cpu, CpuStatistics *ret) {
        _cleanup_free_ char *text = NULL;
        char path[40];

        snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", cpu);
        int r = tracefs_read(instance->fd, path, &text, NULL);
        if (r < 0)
                return r;
        return statistics_parse(text, ret);
}

int instance_read_statistics_fd(int stats_fd, CpuStatistics *ret) {
        char text[1024];
        ssize_t n;

        /* Each read at offset 0 makes the kernel read the counters again. */
        do
                n = pread(stats_fd, text, sizeof(text) - 1, 0);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        text[n] = '\0';
        return statistics_parse(text, ret);
}
