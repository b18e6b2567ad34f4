/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads facts about a peer that rules may use and that can change: whether its user has the active
 * session of a seat, and the systemd unit of its process. auth.c calls this before each request. It
 * reads only files, logind's in /run/systemd/users and the process's in /proc, and makes no bus
 * call that could block; this takes 15 us per request. Without logind and systemd the facts are
 * false and unknown, and rules that require them do not match.
 *
 * A pid may have been reused. So the process must have the start time recorded when the peer was
 * first seen, both before and after its unit is read, and must belong to the peer's user. One case
 * is not detected: a process ended before the first call, a child kept its connection, and another
 * process of the same user got its pid. So a rule's unit can only narrow what the rule grants to a
 * user, never extend it. */
#include "auth/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-login.h>

#include "base/fd.h"

#define STAT_MAX   4096
#define STATUS_MAX 16384

/* Contents of /proc/PID/stat; start 0: not known. */
typedef struct Stat {
        uint64_t start;
        char command[sizeof(((Subject *)NULL)->command)];
} Stat;

/* Escapes quotes, backslashes, control characters and non-ASCII bytes in the name. */
static void escape(const char *name, size_t size, char *ret, size_t ret_size) {
        size_t used = 0;

        for (size_t i = 0; i < size && used + sizeof("\\xNN") <= ret_size; i++) {
                unsigned char c = (unsigned char)name[i];
                bool is_plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';

                used += (size_t)snprintf(
                                ret + used, ret_size - used, is_plain ? "%c" : "\\x%02x", c);
        }
        ret[used] = '\0';
}

/* Returns a file of /proc/PID, or NULL. A process of another user, such as a set-user-ID program,
 * counts as not known. */
static char *facts_read_file(pid_t pid, uid_t uid, const char *name, size_t max) {
        _cleanup_close_ int fd = -1;
        char path[32], *text;
        struct stat st;

        if (pid <= 0)
                return NULL;
        snprintf(path, sizeof(path), "/proc/%d", pid);
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != uid)
                return NULL;
        return fd_read_file_at(fd, name, max, &text, NULL) < 0 ? NULL : text;
}

bool facts_read_group(pid_t pid, uid_t uid, gid_t *ret) {
        _cleanup_free_ char *text = facts_read_file(pid, uid, "status", STATUS_MAX);
        const char *line = text ? strstr(text, "\nGid:") : NULL;

        return line && sscanf(line, "\nGid: %*u %u", ret) == 1;
}

static Stat read_stat(pid_t pid, uid_t uid) {
        _cleanup_free_ char *text = facts_read_file(pid, uid, "stat", STAT_MAX);
        Stat result = {};

        if (!text)
                return result;
        /* The start time is field 22. The name in parentheses may contain any character, so the
         * last ')' ends it. */
        const char *name = strchr(text, '('), *rest = strrchr(text, ')');
        if (!name || !rest || rest < name ||
                        sscanf(rest + 1,
                                        " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d"
                                        " %" SCNu64,
                                        &result.start) != 1)
                return (Stat){};
        escape(name + 1, (size_t)(rest - name - 1), result.command, sizeof(result.command));
        return result;
}

uint64_t facts_read_start(pid_t pid, uid_t uid) {
        return read_stat(pid, uid).start;
}

static char *facts_read_unit(pid_t pid, uid_t uid, uint64_t start) {
        _cleanup_free_ char *unit = NULL;

        if (sd_pid_get_unit(pid, &unit) < 0 || facts_read_start(pid, uid) != start)
                return NULL;
        return TAKE_PTR(unit);
}

void facts_read(Subject *subject, pid_t pid, uint64_t start) {
        Stat now = start > 0 ? read_stat(pid, subject->uid) : (Stat){};
        bool is_same = start > 0 && now.start == start;

        subject->is_active = sd_uid_get_seats(subject->uid, 1, NULL) > 0;
        free(subject->unit);
        subject->unit = is_same ? facts_read_unit(pid, subject->uid, start) : NULL;
        memcpy(subject->command,
                        is_same ? now.command : (char[sizeof(now.command)]){},
                        sizeof(now.command));
}
