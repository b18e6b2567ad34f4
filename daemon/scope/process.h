/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/task-names.h"
#include "policy/policy.h"

/* One task as /proc shows it. */
typedef struct Task {
        pid_t tid;
        uint64_t start_time;      /* clock ticks since boot: with the tid, its identity */
        char comm[TASK_NAME_MAX]; /* its name when it was looked at; "": it is not known */
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
        char comm[TASK_NAME_MAX]; /* its name: any bytes but NUL */
        pid_t parent;             /* tgid of the process that made it, or that has inherited it */
        bool is_kernel;           /* a kernel thread */
        bool is_exiting;          /* it forks no more */
} TaskStat;

/* For whom a task must be fit. */
typedef struct ProcessRule {
        const Subject *owner;
        bool needs_no_new_privs; /* nothing else would stop it from gaining privileges */
        bool has_gid;            /* one group for all: the guard's condition names it */
        gid_t gid;
} ProcessRule;

/* Threads of a process now, sorted by tid. -ESRCH when it is gone. */
int process_list_threads(pid_t pid, Task **ret, size_t *ret_n);
/* -ESRCH when it is gone; tid must be a thread of pid. */
int process_read_status(pid_t pid, pid_t tid, TaskStatus *ret);
/* -ESRCH like the above. */
int process_read_stat(pid_t pid, pid_t tid, TaskStat *ret);
/* Start time of a thread; -ESRCH. */
int process_read_start(pid_t pid, pid_t tid, uint64_t *ret);
#define NAMESPACE_DEPTH_MAX 33 /* the kernel's MAX_PID_NS_LEVEL, and the outermost */

/* The numbers of a process in each pid namespace that it lives in, ours first. */
typedef struct NamespacePids {
        pid_t pids[NAMESPACE_DEPTH_MAX];
        size_t n;
} NamespacePids;

int process_read_namespace_pids(pid_t pid, NamespacePids *ret);
/* Owner of /proc/PID/stat: the process's uid when it is dumpable, else root. -ESRCH. */
int process_read_owner(pid_t pid, uid_t *ret);
/* Every process whose effective uid is uid, kernel threads left out. A stat(2) for each process of
 * the machine. */
int process_list_of(uid_t uid, pid_t **ret, size_t *ret_n);
bool process_is_of(const TaskStatus *status, uid_t uid);
/* 0 when the caller may list this task; else KT_E_ACCESS_DENIED and why. Pure. */
int process_check_status(pid_t pid,
                pid_t tid,
                const TaskStatus *status,
                const ProcessRule *rule,
                Reason *reason);
