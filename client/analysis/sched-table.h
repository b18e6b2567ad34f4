/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "analysis/number-map.h"
#include "analysis/sketch.h"
#include "trace/decode.h"

#define SCHED_NAME_MAX  16 /* TASK_COMM_LEN of the kernel, with its NUL */
#define SCHED_WAITS_MAX 10

typedef enum SchedSleep {
        SCHED_SLEEP_INTERRUPTIBLE,   /* S: waits for an event or a signal */
        SCHED_SLEEP_UNINTERRUPTIBLE, /* D: mostly for a disk or a lock */
        SCHED_SLEEP_OTHER,           /* stopped, traced, idle kernel threads and others */
        _SCHED_SLEEP_N,
} SchedSleep;

typedef enum SchedState {
        SCHED_UNKNOWN,
        SCHED_RUNNING,
        SCHED_WAITING, /* for a CPU */
        SCHED_SLEEPING,
} SchedState;

/* The times of one thread, in nanoseconds. */
typedef struct SchedThread {
        int tid;
        char name[SCHED_NAME_MAX + 1]; /* the last one; any bytes */
        uint64_t running_nsec, waiting_nsec, sleeping_nsec[_SCHED_SLEEP_N];
        uint64_t n_switches; /* to this thread */

        SchedState state;
        SchedSleep sleep;
        uint64_t since;
        uint64_t n_losses; /* of the trace, when the state began */
        bool is_woken;     /* the wait began with a wake-up */
        bool was_seen;     /* some state was known */
} SchedThread;

/* One of the longest waits for a CPU. */
typedef struct SchedWait {
        uint64_t nsec, start;
        uint32_t cpu;
        int tid, other_tid; /* other: the thread that ran on the CPU until then */
        char name[SCHED_NAME_MAX + 1], other_name[SCHED_NAME_MAX + 1];
} SchedWait;

/* What the scheduler did with each thread. All zeros: nothing yet. */
typedef struct SchedTable {
        const Decode *decode;  /* borrowed; set by the caller */
        NumberMap threads;     /* of SchedThread */
        NumberMap events;      /* private */
        SchedThread **running; /* private: by CPU; NULL: unknown, or the idle thread */
        size_t n_cpus;
        Sketch waits;                       /* for a CPU, in nanoseconds */
        Sketch wakeups;                     /* from wake-up to CPU, in nanoseconds */
        SchedWait longest[SCHED_WAITS_MAX]; /* by falling duration */
        size_t n_longest;
        uint64_t n_losses;
        uint64_t n_switches; /* 0: the recording has no sched_switch */
        bool has_wakeups;
} SchedTable;

/* Takes any record, in time order. Returns 0 or -ENOMEM. */
int sched_table_record(SchedTable *table, const Record *record);
/* Events were lost: the states of all threads are unknown until their next events. */
void sched_table_loss(SchedTable *table);
/* Adds the times up to the end of the trace. */
void sched_table_finish(SchedTable *table, uint64_t end);
/* The same, but the trace goes on. */
void sched_table_advance(SchedTable *table, uint64_t now);
/* All numbers begin again. The states of the threads stay. */
void sched_table_reset(SchedTable *table);
/* Returns the threads by falling time on a CPU; free() the list. NULL: memory is short. */
SchedThread **sched_table_sort(const SchedTable *table, size_t *ret_n);
uint64_t sched_thread_get_sleep(const SchedThread *thread);
void sched_table_clear(SchedTable *table);
