/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/instance.h"
#include "policy/policy.h"
#include "scope/task-set.h"

/* The listed and the left-out processes, for the caller's receipt. */
typedef struct ArmReport {
        size_t n_processes;
        size_t n_threads;
        size_t n_joined;         /* joined while it ran, except as children */
        size_t n_left_out;       /* may not be listed although in the scope */
        char left_out[256];      /* why the first of them was left out */
        size_t n_unread_cgroups; /* delegated, in the scope: too many, or no access */
} ArmReport;

/* The kernel's PID_MAX_LIMIT: no task ever has it. It ensures that the pid list is never empty,
 * because an empty list means "trace every task". */
#define ARM_SENTINEL 4194304

typedef struct Gather Gather;
typedef struct Round Round;

/* The work between two turns of other users. A write to the list waits for RCU, and the check of a
 * task takes about 30 us. */
typedef struct ArmTurn {
        bool has_written;
        size_t n_tasks; /* checked */
} ArmTurn;

#define ARM_TASKS_PER_TURN 512

/* A session's pid list under construction. The creator fills the first part, these functions fill
 * the rest. First all tasks are listed, then the guard is armed, then all tasks are checked. */
typedef struct Arm {
        const Instance *instance;
        bool is_judged;      /* fenced grants: list only tasks that are fit by `rule` */
        bool needs_sentinel; /* the list is empty: write the sentinel with the first pids */
        bool single_thread;  /* refuse a process with more than one thread */
        ProcessRule rule;    /* has the shared group once a task is listed */

        ArmReport report;
        TaskSet listed;   /* written by the daemon so far */
        TaskSet verified; /* found fit after the listing: their records may pass */
        TaskSet settled;  /* of the current check: no further check needed */
        unsigned n_rounds;
        uint64_t since_nsec; /* taken by arm_prove() */
        bool is_proving;     /* arm_prove is not done yet */
        size_t n_proven;     /* the first n_proven verified tasks are proven */
        bool is_running;     /* events are enabled: unfit tasks are left out, not refused */
        bool has_news;       /* the last search has listed newcomers */
        ArmTurn turn;
        size_t next;               /* the next process to list, when a turn ends */
        Task leader;               /* of the current process */
        unsigned n_process_rounds; /* rounds that list its threads */
        unsigned n_list_rounds;    /* rounds for all processes */
        Gather *gather;            /* NULL unless arm_list_group or arm_list_newcomers is running */
        Round *round;              /* NULL unless arm_check is reading the list */

        TaskSet left_out; /* leaders of the left-out processes */
        TaskSet partial;  /* leaders: some threads could not be listed, so no record may pass */
} Arm;

/* Processes that are not named by their numbers. */
typedef struct ArmGroup {
        char *name;    /* for messages: "unit:x.service" */
        int cgroup_fd; /* -1: every process of the owner */
        bool is_own;   /* of the owner, who is a user, or a container with this cgroup */
} ArmGroup;

void arm_clear(Arm *arm);
/* Drops unfinished work of a cancelled plan, because it must not be continued. */
void arm_forget_turns(Arm *arm);
/* Each function that lists, checks or proves does a part of the work: one write to the list, or
 * ARM_TASKS_PER_TURN tasks. PLAN_AGAIN: not finished, call again with the same arguments. */
/* Lists every thread of each process in the instance's set_event_pid. A process that is unfit now
 * is refused before any of its threads is listed; the later result of arm_check is the one that
 * counts. Events must be disabled. Fails with KT_E_NO_SUCH_PROCESS, KT_E_ACCESS_DENIED,
 * KT_E_LIMIT_REACHED, KT_E_KERNEL_REFUSED (its threads start faster than they can be listed) and
 * the reason. */
int arm_list_processes(Arm *arm, const pid_t *pids, size_t n_pids, Reason *reason);

/* Starts a new turn. */
void arm_begin_turn(Arm *arm);
bool arm_turn_is_over(const Arm *arm);

/* For arm-group.c: arm_list_process lists one process, one round in each call. arm_list writes
 * tasks in one write. arm_check_first checks a process before any of its threads is listed (-ESRCH:
 * it is ending). */
int arm_list_process(Arm *arm, pid_t pid, Reason *reason);
int arm_list(Arm *arm, const Task *tasks, size_t n_tasks);
int arm_check_first(Arm *arm, pid_t pid, Reason *reason);
/* Counts a process that is not traced. Each process is counted only once. */
int arm_leave_out(Arm *arm, Task leader, const Reason *why);
