/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Translates process numbers of a caller in a container that has a socket of its own. Called by the
 * create plan on the worker thread.
 *
 * Only a process with the right to ptrace can read the namespace of another process, and the daemon
 * has no capability. But /proc/P/status lists the numbers that P has in each of its namespaces,
 * outermost first (NSpid, since Linux 4.1). So the depth of the caller is known, and the wanted
 * process is one that has the wanted number at that depth. Two containers at the same depth inside
 * of the container may give the same number to different processes. Then the call fails instead of
 * guessing.
 *
 * It only chooses among processes of the container's cgroup, and each is judged later
 * (arm-check.c). So a wrong choice is a nuisance, not a security hole. */

#include "scope/pid-namespace.h"

#include <errno.h>
#include <sys/stat.h>

#include "scope/cgroup.h"
#include "scope/process.h"

/* PROC_PID_INIT_INO of include/linux/proc_ns.h, the same since Linux 3.8. */
#define FIRST_NAMESPACE 0xEFFFFFFCU

int pid_namespace_is_first(void) {
        struct stat st;

        return stat("/proc/self/ns/pid", &st) < 0 ? -errno : st.st_ino == FIRST_NAMESPACE;
}

/* Returns whether the calling process still exists. */
static bool caller_is_there(const Caller *caller) {
        uint64_t start;

        return caller->pid > 0 && caller->start_time > 0 &&
               process_read_start(caller->pid, caller->pid, &start) == 0 &&
               start == caller->start_time;
}

/* The depth is 1 if the caller is in our namespace. */
static int read_depth(const Caller *caller, size_t *ret, Reason *reason) {
        NamespacePids own;

        int r = caller_is_there(caller) ? process_read_namespace_pids(caller->pid, &own) : -ESRCH;
        if (r == -ESRCH || (r == 0 && !caller_is_there(caller)))
                return reason_set(reason,
                                KT_E_NO_SUCH_PROCESS,
                                "the process that named the pids has ended, so ktraced cannot tell "
                                "which processes they are");
        if (r == 0)
                *ret = own.n;
        return r;
}

typedef struct Match {
        pid_t wanted, found;
        size_t n_found;
} Match;

static int pid_namespace_list(const char *cgroup, CgroupProcesses *ret, Reason *reason) {
        _cleanup_close_ int root = -1, fd = -1;

        int r = cgroup_open_root(&root, reason);
        r = r ?: cgroup_open(root, cgroup, &fd);
        r = r ?: cgroup_list_processes(fd, ret);
        return r == -ENOENT ? 0 : r; /* none */
}

static int pid_namespace_match_all(const CgroupProcesses *list,
                size_t depth,
                Match *matches,
                size_t n_matches) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < list->n; i++) {
                NamespacePids seen;

                r = process_read_namespace_pids(list->pids[i], &seen);
                if (r == -ESRCH) {
                        r = 0;
                        continue;
                }
                for (size_t j = 0; r == 0 && j < n_matches && seen.n >= depth; j++)
                        if (seen.pids[depth - 1] == matches[j].wanted) {
                                matches[j].found = list->pids[i];
                                matches[j].n_found++;
                        }
        }
        return r;
}

static int match_check(const Match *match, Reason *reason) {
        if (match->n_found == 0)
                return reason_set(reason,
                                KT_E_NO_SUCH_PROCESS,
                                "process %d: the container has no process with this number in "
                                "a pid namespace like yours",
                                match->wanted);
        if (match->n_found > 1)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "scope: process %d: %zu processes of the container have this number, in "
                                "different pid namespaces: name it from outside",
                                match->wanted,
                                match->n_found);
        return 0;
}

int pid_namespace_translate(const Caller *caller,
                const char *cgroup,
                const pid_t *pids,
                size_t n,
                pid_t **ret,
                Reason *reason) {
        _cleanup_(cgroup_processes_clear) CgroupProcesses list = {};
        size_t depth = 0;

        *ret = NULL;
        int r = read_depth(caller, &depth, reason);
        if (r != 0 || depth == 1)
                return r;
        _cleanup_free_ Match *matches = calloc(n + 1, sizeof(Match));
        _cleanup_free_ pid_t *translated = calloc(n + 1, sizeof(pid_t));
        if (!matches || !translated)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                matches[i].wanted = pids[i];
        r = pid_namespace_list(cgroup, &list, reason);
        r = r ?: pid_namespace_match_all(&list, depth, matches, n);
        for (size_t i = 0; r == 0 && i < n; i++) {
                r = match_check(&matches[i], reason);
                translated[i] = matches[i].found;
        }
        if (r == 0)
                *ret = TAKE_PTR(translated);
        return r;
}
