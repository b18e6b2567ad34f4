/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Translates process numbers of a caller in a container. Called by the create plan on the worker
 * thread.
 *
 * Only a process with the right to ptrace can read the namespace of another process, and the daemon
 * has no capability. But /proc/P/status lists the numbers that P has in each of its namespaces,
 * outermost first (NSpid, since Linux 4.1). So the depth of the caller is known, and the wanted
 * process is one that has the wanted number at that depth. Two containers of one user at the same
 * depth may give the same number to different processes. Then the call fails instead of guessing.
 *
 * It only chooses among processes of the caller's own uid, and each is judged later like a process
 * that was named by its number on the host. So a wrong choice is a nuisance, not a security
 * hole. */

#include "scope/pid-namespace.h"

#include <errno.h>
#include <sys/stat.h>

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

/* The depth is 1 if the caller is in our namespace, or if its namespace is unknown. */
static int read_depth(const Caller *caller, size_t *ret) {
        NamespacePids own;

        *ret = 1;
        if (!caller_is_there(caller))
                return 0;
        int r = process_read_namespace_pids(caller->pid, &own);
        if (r < 0)
                return r == -ESRCH ? 0 : r;
        if (caller_is_there(caller))
                *ret = own.n;
        return 0;
}

typedef struct Match {
        pid_t wanted, found;
        size_t n_found;
} Match;

static int pid_namespace_match_all(uid_t uid, size_t depth, Match *matches, size_t n_matches) {
        _cleanup_free_ pid_t *pids = NULL;
        size_t n = 0;

        int r = process_list_of(uid, &pids, &n);
        for (size_t i = 0; r == 0 && i < n; i++) {
                NamespacePids seen;

                r = process_read_namespace_pids(pids[i], &seen);
                if (r == -ESRCH) {
                        r = 0;
                        continue;
                }
                for (size_t j = 0; r == 0 && j < n_matches && seen.n >= depth; j++)
                        if (seen.pids[depth - 1] == matches[j].wanted) {
                                matches[j].found = pids[i];
                                matches[j].n_found++;
                        }
        }
        return r;
}

static int match_check(const Match *match, Reason *reason) {
        if (match->n_found == 0)
                return reason_set(reason,
                                KT_E_NO_SUCH_PROCESS,
                                "process %d: you have no process with this number in a pid "
                                "namespace like yours",
                                match->wanted);
        if (match->n_found > 1)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "scope: process %d: %zu of your processes have this number, in different pid "
                                "namespaces: name it from outside",
                                match->wanted,
                                match->n_found);
        return 0;
}

int pid_namespace_translate(const Caller *caller,
                uid_t uid,
                const pid_t *pids,
                size_t n,
                pid_t **ret,
                Reason *reason) {
        size_t depth;

        int r = read_depth(caller, &depth);
        if (r < 0 || depth == 1) {
                *ret = NULL;
                return r;
        }
        _cleanup_free_ Match *matches = calloc(n + 1, sizeof(Match));
        _cleanup_free_ pid_t *translated = calloc(n + 1, sizeof(pid_t));
        if (!matches || !translated)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                matches[i].wanted = pids[i];
        r = pid_namespace_match_all(uid, depth, matches, n);
        for (size_t i = 0; r == 0 && i < n; i++) {
                r = match_check(&matches[i], reason);
                translated[i] = matches[i].found;
        }
        if (r == 0)
                *ret = TAKE_PTR(translated);
        return r;
}
