/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Facts about a peer that rules may look at and that change: does its user have the active session
 * of a seat, and of which systemd unit is its process? Read by auth.c before each request, from
 * files only: logind's in /run/systemd/users and the process's in /proc, no bus call that could
 * block; 15 us a request. Where there is no logind and no systemd they are false and unknown, which
 * no rule that asks for them matches.
 *
 * A pid is a number that somebody else may have by now. So the process is the one that had it when
 * the peer was first seen (same start time, before and after its unit is read), and it belongs to
 * the peer's user. What this cannot see: a process that ended before the first call, whose
 * connection a child kept, and whose pid another process of the same user got. So a rule's unit
 * only narrows what the rule gives to a user, never more. */
#include "facts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-login.h>

#include "fd.h"

#define STAT_MAX 4096

uint64_t facts_read_start(pid_t pid, uid_t uid) {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -1;
        uint64_t start;
        struct stat st;
        char path[32];

        if (pid <= 0)
                return 0;
        snprintf(path, sizeof(path), "/proc/%d", pid);
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        /* Another user's, as that of a set-user-ID program: not known then. */
        if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != uid)
                return 0;
        if (fd_read_file_at(fd, "stat", STAT_MAX, &text, NULL) < 0)
                return 0;
        /* Field 22; the name in parentheses may hold anything, the last ')' ends it. */
        const char *rest = strrchr(text, ')');
        if (!rest || sscanf(rest + 1,
                                     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d"
                                     " %" SCNu64,
                                     &start) != 1)
                return 0;
        return start;
}

static char *read_unit(pid_t pid, uid_t uid, uint64_t start) {
        _cleanup_free_ char *unit = NULL;

        if (start == 0 || facts_read_start(pid, uid) != start)
                return NULL;
        if (sd_pid_get_unit(pid, &unit) < 0 || facts_read_start(pid, uid) != start)
                return NULL;
        return TAKE_PTR(unit);
}

void facts_read(Subject *subject, pid_t pid, uint64_t start) {
        subject->is_active = sd_uid_get_seats(subject->uid, 1, NULL) > 0;
        free(subject->unit);
        subject->unit = read_unit(pid, subject->uid, start);
}
