/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads processes from /proc, and has the rule for processes that may be traced. Used by arm.c on
 * the worker thread. Every answer may be outdated when it arrives: arm.c reads in an order that
 * makes this harmless.
 *
 * It relies on this behaviour of the kernel: /proc/PID/stat belongs to the process's effective uid
 * only while the process is dumpable. That is the kernel's own test for "this user may ptrace it"
 * (proc(5), PR_SET_DUMPABLE in prctl(2)). */

#include "scope/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/in-cgroup.h"
#include "interfaces/array.h"
#include "interfaces/defence.h"

#define PROC_FILE_MAX       16384
#define PROCESS_THREADS_MAX 65536
#define PROCESSES_MAX       4194304 /* the kernel's limit of pids */

/* From include/linux/sched.h, in field 9 of /proc/PID/stat. */
#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

static int proc_read(const char *path, char **ret) {
        int r = fd_read_file_at(AT_FDCWD, path, PROC_FILE_MAX, ret, NULL);
        /* A task that ends between open and read gives ESRCH, an earlier end gives ENOENT. */
        return r == -ENOENT ? -ESRCH : r;
}

static bool parse_pid(const char *text, pid_t *ret) {
        char *end;

        if (*text < '1' || *text > '9')
                return false;
        unsigned long value = strtoul(text, &end, 10);
        if (*end != '\0' || value > 4194304)
                return false;
        *ret = (pid_t)value;
        return true;
}

int process_read_stat(pid_t pid, pid_t tid, TaskStat *ret) {
        char path[64];
        _cleanup_free_ char *text = NULL;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
        int r = proc_read(path, &text);
        if (r < 0)
                return r;
        /* The name in parentheses may contain any text, also ") ". Its end is the last
         * parenthesis. */
        char *rest = strrchr(text, ')');
        const char *name = strchr(text, '(');
        if (!rest || !name)
                return -EBADMSG;
        name++;
        pid_t parent;
        unsigned flags;
        uint64_t start;
        if (sscanf(rest + 1,
                            " %*c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
                            &parent,
                            &flags,
                            &start) != 3)
                return -EBADMSG;
        *ret = (TaskStat){
                .start_time = start,
                .parent = parent,
                .is_kernel = flags & PF_KTHREAD,
                .is_exiting = flags & PF_EXITING,
        };
        memcpy(ret->comm, name, MIN_OF((size_t)(rest - name), sizeof(ret->comm) - 1));
        return 0;
}

int process_read_start(pid_t pid, pid_t tid, uint64_t *ret) {
        TaskStat stat;

        int r = process_read_stat(pid, tid, &stat);
        if (r == 0)
                *ret = stat.start_time;
        return r;
}

int process_open_threads(pid_t pid, DIR **ret) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/task", pid);
        int r = fd_open_directory(AT_FDCWD, path, ret);
        return r == -ENOENT ? -ESRCH : r;
}

pid_t process_next_thread(DIR *threads) {
        struct dirent *entry;
        pid_t tid;

        while ((entry = readdir(threads)))
                if (parse_pid(entry->d_name, &tid))
                        return tid;
        return 0;
}

int process_list_threads(pid_t pid, Task **ret, size_t *ret_n) {
        _cleanup_(fd_close_directory_cleanup) DIR *dir = NULL;
        _cleanup_free_ Task *tasks = NULL;
        size_t n = 0;
        Task task;

        int r = process_open_threads(pid, &dir);
        if (r < 0)
                return r;
        while ((task.tid = process_next_thread(dir)) != 0) {
                TaskStat stat;

                r = process_read_stat(pid, task.tid, &stat);
                if (r == -ESRCH)
                        continue;
                if (r < 0)
                        return r;
                task.start_time = stat.start_time;
                memcpy(task.comm, stat.comm, sizeof(task.comm));
                r = n < PROCESS_THREADS_MAX ? array_grow(&tasks, n, sizeof(Task)) : -E2BIG;
                if (r < 0)
                        return r;
                tasks[n++] = task;
        }
        if (n == 0)
                return -ESRCH;
        *ret = TAKE_PTR(tasks);
        *ret_n = n;
        return 0;
}

/* Returns the text after "KEY:" at the beginning of a line, or NULL. The kernel escapes line breaks
 * in the task's name, so a task controls only the first line. */
static const char *status_find(const char *text, const char *key) {
        size_t length = strlen(key);

        for (const char *line = strchr(text, '\n'); line; line = strchr(line, '\n')) {
                line++;
                if (strncmp(line, key, length) == 0)
                        return line + length;
        }
        return "";
}

int process_read_status(pid_t pid, pid_t tid, TaskStatus *ret) {
        char path[64];
        _cleanup_free_ char *text = NULL;
        unsigned no_new_privs;
        TaskStatus s;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
        int r = proc_read(path, &text);
        if (r < 0)
                return r;
        if (sscanf(status_find(text, "Uid:"),
                            "%u %u %u %u",
                            &s.uids[0],
                            &s.uids[1],
                            &s.uids[2],
                            &s.uids[3]) != 4 ||
                        sscanf(status_find(text, "Gid:"),
                                        "%u %u %u %u",
                                        &s.gids[0],
                                        &s.gids[1],
                                        &s.gids[2],
                                        &s.gids[3]) != 4 ||
                        sscanf(status_find(text, "CapPrm:"), "%" SCNx64, &s.permitted) != 1 ||
                        sscanf(status_find(text, "CapEff:"), "%" SCNx64, &s.effective) != 1 ||
                        sscanf(status_find(text, "NoNewPrivs:"), "%u", &no_new_privs) != 1 ||
                        sscanf(status_find(text, "Threads:"), "%u", &s.n_threads) != 1 ||
                        sscanf(status_find(text, "Tgid:"), "%u", &s.tgid) != 1)
                return -EBADMSG;
        s.no_new_privs = no_new_privs == 1;
        *ret = s;
        return 0;
}

int process_touch_status(pid_t pid, pid_t tid) {
        char path[64], first;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        return read(fd, &first, 1) < 0 ? -errno : 0;
}

int process_read_namespace_pids(pid_t pid, NamespacePids *ret) {
        char path[64];
        _cleanup_free_ char *text = NULL;
        NamespacePids found = {};

        snprintf(path, sizeof(path), "/proc/%d/status", pid);
        int r = proc_read(path, &text);
        if (r < 0)
                return r;
        const char *at = status_find(text, "NSpid:");
        for (; *at == '\t' && found.n < NAMESPACE_DEPTH_MAX; found.n++) {
                char *end;
                unsigned long number = strtoul(at, &end, 10);

                if (end == at || number > INT32_MAX)
                        return -EBADMSG;
                found.pids[found.n] = (pid_t)number;
                at = end;
        }
        if (found.n == 0)
                return -EBADMSG;
        *ret = found;
        return 0;
}

int process_read_owner(pid_t pid, uid_t *ret) {
        char path[64];
        struct stat st;

        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        if (stat(path, &st) < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        *ret = st.st_uid;
        return 0;
}

/* The directory, unlike the files in it, belongs to the effective uid even if the process is not
 * dumpable. Only root has kernel threads. */
static int process_has_uid(pid_t pid, uid_t uid, bool *ret) {
        char path[64];
        TaskStat stat;
        struct stat st;

        *ret = false;
        snprintf(path, sizeof(path), "/proc/%d", pid);
        if (lstat(path, &st) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (st.st_uid != uid || uid != 0) {
                *ret = st.st_uid == uid;
                return 0;
        }
        int r = process_read_stat(pid, pid, &stat);
        *ret = r == 0 && !stat.is_kernel;
        return r == -ESRCH ? 0 : r;
}

int process_list_all(pid_t **ret, size_t *ret_n) {
        _cleanup_(fd_close_directory_cleanup) DIR *dir = NULL;
        _cleanup_free_ pid_t *pids = NULL;
        size_t n = 0;
        struct dirent *entry;

        int r = fd_open_directory(AT_FDCWD, "/proc", &dir);
        if (r < 0)
                return r;
        while ((entry = readdir(dir))) {
                pid_t pid;

                if (!parse_pid(entry->d_name, &pid))
                        continue;
                r = n < PROCESSES_MAX ? array_grow(&pids, n, sizeof(pid_t)) : -E2BIG;
                if (r < 0)
                        return r;
                pids[n++] = pid;
        }
        *ret = TAKE_PTR(pids);
        *ret_n = n;
        return 0;
}

int process_list_of(uid_t uid, pid_t **ret, size_t *ret_n) {
        _cleanup_free_ pid_t *pids = NULL;
        size_t n_all = 0, n = 0;

        int r = process_list_all(&pids, &n_all);
        for (size_t i = 0; r == 0 && i < n_all; i++) {
                bool is_of;

                r = process_has_uid(pids[i], uid, &is_of);
                if (r == 0 && is_of)
                        pids[n++] = pids[i];
        }
        if (r < 0)
                return r;
        if (n > PROCESS_THREADS_MAX)
                return -E2BIG;
        *ret = TAKE_PTR(pids);
        *ret_n = n;
        return 0;
}

static bool process_is_member(const Subject *owner, gid_t gid) {
        for (size_t i = 0; i < owner->n_gids; i++)
                if (owner->gids[i] == gid)
                        return true;
        return false;
}

bool process_is_of(const TaskStatus *status, uid_t uid) {
        for (size_t i = 0; i < ELEMENTSOF(status->uids); i++)
                if (status->uids[i] != uid)
                        return false;
        return true;
}

static int check_credentials(pid_t pid,
                const TaskStatus *status,
                const Subject *owner,
                Reason *reason) {
        if (!process_is_of(status, owner->uid))
                return reason_set(reason, KT_E_ACCESS_DENIED, "process %d is not yours", pid);
        for (size_t i = 0; i < 4; i++)
                if (status->gids[i] != status->gids[0] ||
                                !process_is_member(owner, status->gids[i]))
                        return reason_set(reason,
                                        KT_E_ACCESS_DENIED,
                                        "process %d runs with a group that is not yours (set-group-id)",
                                        pid);
        if (status->permitted != 0 || status->effective != 0)
                return reason_set(reason, KT_E_ACCESS_DENIED, "process %d has capabilities", pid);
        return 0;
}

int process_check_container(pid_t pid, pid_t tid, const Subject *owner, Reason *reason) {
        char path[64];
        _cleanup_free_ char *text = NULL;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/cgroup", pid, tid);
        int r = proc_read(path, &text);
        if (r < 0 || !defence_is_on("container-member") || in_cgroup(text, owner->cgroup))
                return r;
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "process %d is not in container %s",
                        pid,
                        owner->container);
}

int process_check_status(pid_t pid,
                pid_t tid,
                const TaskStatus *status,
                const ProcessRule *rule,
                Reason *reason) {
        if (!defence_is_on("credentials"))
                return 0;
        int r = check_credentials(pid, status, rule->owner, reason);
        if (r != 0)
                return r;
        if (rule->has_gid && status->gids[0] != rule->gid)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "process %d runs with group %u, the session's processes with %u: trace it in a session "
                                "of its own",
                                pid,
                                status->gids[0],
                                rule->gid);
        if (rule->needs_no_new_privs && !status->no_new_privs)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "process %d (thread %d) may gain privileges: start it with 'ktracectl record -- CMD' or "
                                "'setpriv --no-new-privs CMD'",
                                pid,
                                tid);
        return 0;
}
