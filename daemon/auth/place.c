/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads whether a peer is in a container: in another user or pid namespace than the daemon.
 * credentials.c calls this once for each peer, and the doors refuse a peer that is not here. A
 * container that got our socket or the bus's then has nothing: its uids are the host's, so its root
 * would be the host's root, and its user 1000 the host's user 1000.
 *
 * Only a process with the right to ptrace can read the namespaces of another process, and the
 * daemon has no capability. But these files of /proc/PID can be read without it:
 * - status has the numbers of the process in each of its pid namespaces, ours first (NSpid, since
 *   Linux 4.1). A process in our namespace has one number.
 * - uid_map, gid_map and projid_map are the maps of its user namespace. The maps of the first
 *   namespace cover all ids. A new namespace has empty maps, and only a process with CAP_SETUID
 *   outside of it can map all ids. Then the projid_map still differs, until a process in the
 *   namespace writes that. A user namespace with all ids that does so counts as ours.
 *
 * All reads go through one descriptor of /proc/PID, which the kernel never gives to another
 * process. What cannot be read counts as unknown, and is refused. */
#include "auth/place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "interfaces/defence.h"
#include "interfaces/names.h"

#define STATUS_MAX 16384
#define MAP_MAX    16384 /* 340 lines, the kernel's limit */

/* A process in our pid namespace has one number in this line. */
static Place place_read_numbers(int process) {
        _cleanup_free_ char *text = NULL;
        unsigned first, second;

        if (fd_read_file_at(process, "status", STATUS_MAX, &text, NULL) < 0)
                return PLACE_UNKNOWN;
        /* The kernel escapes line breaks in the name of the task. */
        const char *line = strstr(text, "\nNSpid:");
        int n = line ? sscanf(line, "\nNSpid: %u %u", &first, &second) : 0;
        if (n <= 0)
                return PLACE_UNKNOWN;
        /* sscanf() also skips the end of the line, but the next line begins with a letter. */
        return n == 1 ? PLACE_HERE : PLACE_PID_NAMESPACE;
}

static Place place_compare_map(int process, const char *name) {
        _cleanup_free_ char *ours = NULL, *theirs = NULL;
        char path[32];

        snprintf(path, sizeof(path), "/proc/self/%s", name);
        if (fd_read_file_at(AT_FDCWD, path, MAP_MAX, &ours, NULL) < 0 ||
                        fd_read_file_at(process, name, MAP_MAX, &theirs, NULL) < 0)
                return PLACE_UNKNOWN;
        return strcmp(ours, theirs) == 0 ? PLACE_HERE : PLACE_USER_NAMESPACE;
}

Place place_read(pid_t pid) {
        static const char *const maps[] = { "uid_map", "gid_map", "projid_map" };
        _cleanup_close_ int process = -1;
        char path[32];

        if (!defence_is_on("place"))
                return PLACE_HERE;
        if (pid <= 0)
                return PLACE_UNKNOWN;
        snprintf(path, sizeof(path), "/proc/%d", pid);
        process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        Place place = process < 0 ? PLACE_UNKNOWN : place_read_numbers(process);
        for (size_t i = 0; place == PLACE_HERE && i < ELEMENTSOF(maps); i++)
                place = place_compare_map(process, maps[i]);
        return place;
}

int place_check(Place place, Reason *reason) {
        static const char *const others[] = {
                [PLACE_PID_NAMESPACE] = "pid",
                [PLACE_USER_NAMESPACE] = "user",
        };

        switch (place) {
        case PLACE_HERE:
        case PLACE_CONTAINER:
                return 0;
        case PLACE_OUTSIDE:
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "this is the socket of a container, and your process is not in the "
                                "cgroup that its file in " KT_CONFIG_DIR "/" KT_CONTAINER_SUBDIR
                                " names");
        case PLACE_UNSET:
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "this is the socket of a container, but no valid file in " KT_CONFIG_DIR
                                "/" KT_CONTAINER_SUBDIR " names its cgroup");
        case PLACE_PID_NAMESPACE:
        case PLACE_USER_NAMESPACE:
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "your process is in another %s namespace than ktraced, as in a "
                                "container: use 'ktracectl -M CONTAINER' outside of it",
                                others[place]);
        default:
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "the process that opened this connection has ended, so ktraced "
                                "cannot tell whether it was in a container: connect again, and "
                                "stay until the answer");
        }
}
