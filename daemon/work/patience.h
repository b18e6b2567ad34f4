/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The times of a process's first thread at one moment, from the kernel. */
typedef struct TaskTimes {
        uint64_t now_nsec;   /* CLOCK_MONOTONIC */
        uint64_t cpu_nsec;   /* time on a CPU */
        uint64_t delay_nsec; /* time it waited for a CPU, up to when it last got one */
        bool is_runnable;    /* it is on a CPU or waits for one */
} TaskTimes;

typedef enum PatienceKind {
        PATIENCE_WITH_CALL, /* counts the time that the process sleeps in a call */
        PATIENCE_WITH_WORK, /* counts its time on a CPU as well */
} PatienceKind;

/* The time that a process has used, without the time in which it waited for a CPU. */
typedef struct Patience {
        PatienceKind kind;
        pid_t pid;
        uint64_t limit_nsec;
        uint64_t begin_nsec;
        uint64_t used_nsec;
        TaskTimes last;
} Patience;

#define PATIENCE_LOOK_USEC    UINT64_C(100000)       /* between two checks */
#define PATIENCE_AT_MOST_NSEC UINT64_C(120000000000) /* by the clock, for any state */

/* pid 0: unknown; then all time counts. */
void patience_begin(Patience *patience, PatienceKind kind, pid_t pid, uint64_t limit_usec);
/* Checks the process again. Returns true when it has reached the limit. */
bool patience_is_over(Patience *patience);

/* For patience_is_over and its tests: adds the time between the last times and these. */
void patience_add(Patience *patience, const TaskTimes *now);
/* Parses the text of /proc/PID/stat and of /proc/PID/schedstat. Fails with -EBADMSG. */
int task_times_parse(const char *stat, const char *schedstat, TaskTimes *ret);
