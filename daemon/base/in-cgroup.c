/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds whether a task is in a cgroup. auth asks about the callers on the socket of a container,
 * and scope about the tasks that they want to trace.
 *
 * It relies on cgroups(7): /proc/PID/cgroup has the line "0::PATH" for the unified hierarchy, also
 * beside v1 hierarchies. PATH begins at the root of the reader's cgroup namespace; a task outside
 * of it has a path that begins with "/..". A name cannot contain a line break. The kernel adds
 * " (deleted)" to the path of a removed cgroup. None of these matches a cgroup by mistake. */

#include "base/in-cgroup.h"

#include <string.h>

bool in_cgroup(const char *text, const char *cgroup) {
        static const char mark[] = "0::";
        size_t size = strlen(cgroup);

        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (strncmp(line, mark, strlen(mark)) != 0)
                        continue;
                line += strlen(mark);
                return strncmp(line, cgroup, size) == 0 &&
                       (line[size] == '\n' || line[size] == '/' || line[size] == '\0');
        }
        return false;
}
