/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/instance.h"
#include "policy/policy.h"
#include "scope/task-set.h"

/* What was listed and what was left out, for the caller's receipt. */
typedef struct ArmReport {
        size_t n_processes;
        size_t n_threads;
        size_t n_joined;         /* processes that came while it ran, other than as children */
        size_t n_left_out;       /* processes of the scope that may not be listed */
        char left_out[256];      /* why the first of them was */
        size_t n_unread_cgroups; /* of users or containers, in the scope: too many, or closed */
} ArmReport;

/* The kernel's PID_MAX_LIMIT: no task ever has it. It keeps the pid list from ever being empty,
 * since an empty list means "trace everybody". */
#define ARM_SENTINEL 4194304

typedef struct Gather Gather;
typedef struct Round Round;

/* What is done between two turns of other users. A write to the list waits for RCU, and a task
 * takes about 30 us to be looked at. */
typedef struct ArmTurn {
        bool has_written;
        size_t n_tasks; /* looked at */
} ArmTurn;

#define ARM_TASKS_PER_TURN 512

/* A session's pid list as it is made: first part by whoever makes it, the rest by these functions.
 * First all is listed, then the guard armed, then all is checked. */
typedef struct Arm {
        const Instance *instance;
        bool is_judged;      /* only what is fit by `rule`: fenced grants */
        bool needs_sentinel; /* nothing is on the list yet: the sentinel goes first, in the same
                                write */
        bool single_thread;  /* a process of more than one is refused */
        ProcessRule rule;    /* once something is listed, with the group that all of it shares */

        ArmReport report;
        TaskSet listed;   /* written by us so far */
        TaskSet verified; /* found fit after they were listed: whose records may pass */
        TaskSet settled;  /* of the check under way: they need no further look */
        unsigned n_rounds;
        uint64_t since_nsec; /* taken by arm_prove() */
        bool is_proving;     /* arm_prove is not done yet */
        size_t n_proven;     /* of the verified, from the first on */
        bool is_running;     /* events are on: the unfit are left out, nothing can be refused */
        bool has_news;       /* the last look for newcomers has listed some */
        ArmTurn turn;
        size_t next;               /* of the processes to be listed, when a turn is over */
        Task leader;               /* of the process under way */
        unsigned n_process_rounds; /* of listing its threads */
        unsigned n_list_rounds;    /* of all processes */
        Gather *gather; /* arm_list_group or arm_list_newcomers is under way; else NULL */
        Round *round;   /* arm_check is in the middle of a reading; else NULL */

        TaskSet left_out; /* leaders of those in the report */
        TaskSet partial;  /* leaders: not all threads could be listed, so no record may pass */
} Arm;

/* Processes that are not named by their numbers. */
typedef struct ArmGroup {
        char *name;    /* for messages: "unit:x.service" */
        int cgroup_fd; /* -1: every process of the owner */
} ArmGroup;

void arm_clear(Arm *arm);
/* A plan that was cancelled may have left a part undone, which is not to be continued. */
void arm_forget_turns(Arm *arm);
/* All functions that list, check or prove do a part of it: one write to the list, or
 * ARM_TASKS_PER_TURN tasks. PLAN_AGAIN: not done yet, call again with the same arguments. */
/* Lists every thread of each process in the instance's set_event_pid. A process that is unfit now
 * is refused before anything of it is listed; it counts what arm_check says later. Events must be
 * off. KT_E_NO_SUCH_PROCESS, KT_E_ACCESS_DENIED, KT_E_LIMIT_REACHED, KT_E_KERNEL_REFUSED (its
 * threads start faster than they can be listed) with the reason. */
int arm_list_processes(Arm *arm, const pid_t *pids, size_t n_pids, Reason *reason);

/* A new turn begins. */
void arm_begin_turn(Arm *arm);
bool arm_turn_is_over(const Arm *arm);

/* For arm-group.c: one process of those above, a round a call; tasks in one write; what is asked of
 * a process before anything of it is listed (-ESRCH: it is ending). */
int arm_list_process(Arm *arm, pid_t pid, Reason *reason);
int arm_list(Arm *arm, const Task *tasks, size_t n_tasks);
int arm_check_first(Arm *arm, pid_t pid, Reason *reason);
/* Counts a process that is not traced, once. */
int arm_leave_out(Arm *arm, Task leader, const Reason *why);
