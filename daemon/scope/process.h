/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "interfaces/task-names.h"
#include "policy/policy.h"

/* A task in /proc. */
typedef struct Task {
        pid_t tid;
        uint64_t start_time;      /* clock ticks since boot; identifies the task with tid */
        char comm[TASK_NAME_MAX]; /* its name when it was read; "": unknown */
} Task;

typedef struct TaskStatus {
        uid_t uids[4]; /* real, effective, saved, file system */
        gid_t gids[4];
        uint64_t permitted, effective; /* capabilities */
        bool no_new_privs;
        unsigned n_threads;
        unsigned tgid;
} TaskStatus;

typedef struct TaskStat {
        uint64_t start_time;
        char comm[TASK_NAME_MAX]; /* its name: any bytes except NUL */
        pid_t parent;             /* tgid of its parent, or of the process that has inherited it */
        bool is_kernel;           /* a kernel thread */
        bool is_exiting;          /* it can no longer fork */
} TaskStat;

/* The conditions that a task must meet. If the owner is a container: to be in its cgroup. Else: */
typedef struct ProcessRule {
        const Subject *owner;
        bool needs_no_new_privs; /* no other mechanism prevents new privileges */
        bool has_gid;            /* all tasks share the group in the guard's condition */
        gid_t gid;
} ProcessRule;

/* Lists the current threads of a process with their names, sorted by tid. -ESRCH: it has ended. */
int process_list_threads(pid_t pid, Task **ret, size_t *ret_n);
/* The same, one at a time. process_next_thread() returns 0 after the last one. -ESRCH as above. */
int process_open_threads(pid_t pid, DIR **ret);
pid_t process_next_thread(DIR *threads);
/* -ESRCH: it has ended. tid must be a thread of pid. */
int process_read_status(pid_t pid, pid_t tid, TaskStatus *ret);
/* Only makes the kernel write the status of the thread, whatever its size. -ESRCH as above. */
int process_touch_status(pid_t pid, pid_t tid);
/* -ESRCH as above. */
int process_read_stat(pid_t pid, pid_t tid, TaskStat *ret);
/* Reads the start time of a thread. -ESRCH as above. */
int process_read_start(pid_t pid, pid_t tid, uint64_t *ret);
#define NAMESPACE_DEPTH_MAX 33 /* the kernel's MAX_PID_NS_LEVEL, and the outermost */

/* The numbers of a process in each of its pid namespaces, ours first. */
typedef struct NamespacePids {
        pid_t pids[NAMESPACE_DEPTH_MAX];
        size_t n;
} NamespacePids;

int process_read_namespace_pids(pid_t pid, NamespacePids *ret);
/* Reads the owner of /proc/PID/stat: the process's uid if it is dumpable, otherwise root.
 * -ESRCH. */
int process_read_owner(pid_t pid, uid_t *ret);
/* Lists every process of the machine, also kernel threads. */
int process_list_all(pid_t **ret, size_t *ret_n);
/* Lists every process whose effective uid is uid, except kernel threads. It needs one stat(2) for
 * each process of the machine. */
int process_list_of(uid_t uid, pid_t **ret, size_t *ret_n);
bool process_is_of(const TaskStatus *status, uid_t uid);
/* Returns 0 if the task is in the cgroup of the container, otherwise KT_E_ACCESS_DENIED with the
 * reason. -ESRCH. */
int process_check_container(pid_t pid, pid_t tid, const Subject *owner, Reason *reason);
/* Returns 0 if the caller may list this task, otherwise KT_E_ACCESS_DENIED with the reason. For
 * users. Pure. */
int process_check_status(pid_t pid,
                pid_t tid,
                const TaskStatus *status,
                const ProcessRule *rule,
                Reason *reason);
