/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "interfaces/names.h"
#include "kernel/tracefs.h"

/* Per-CPU counters from per_cpu/cpuN/stats, counted since the creation of the instance. */
typedef struct CpuStatistics {
        uint64_t entries; /* in the ring, unread */
        uint64_t overrun; /* overwritten before they were read (flight mode) */
        uint64_t commit_overrun;
        uint64_t bytes;   /* in the ring now */
        uint64_t dropped; /* new events dropped because the ring was full */
        uint64_t read;
        /* Start of the oldest sub-buffer in the ring (0: the ring is empty) and time of this query,
         * by the trace clock, in microsecond resolution; 0: the clock does not count time. */
        uint64_t oldest_nsec, now_nsec;
} CpuStatistics;

/* One trace instance, instances/ktrace-<id>. Calls block on the kernel (RCU: 8 to 100 ms) unless
 * documented otherwise, so they belong on the worker thread. Has no state except its fd: may be
 * used from any thread. */
typedef struct Instance {
        const Tracefs *tracefs;
        char *name; /* "ktrace-0123456789abcdef" */
        int fd;     /* its directory */
} Instance;

/* Makes the instance (mkdir). -EEXIST: it already exists. */
int instance_create(const Tracefs *tracefs, const char *id, Instance **ret);
/* Opens an existing instance. */
int instance_open(const Tracefs *tracefs, const char *name, Instance **ret);
/* Closes the fd; the instance in the kernel stays. */
Instance *instance_free(Instance *instance);
DEFINE_CLEANUP(Instance, instance_free);
/* Removes the instance (rmdir). -EBUSY: one of its files is open in any process. Returns 0 if it
 * does not exist. Takes the name, because our own fds must be closed first. */
int instance_remove(const Tracefs *tracefs, const char *name);
/* Lists the names of all instances that begin with KT_INSTANCE_PREFIX; *ret is NULL-terminated,
 * free with instance_list_free. */
int instance_list(const Tracefs *tracefs, char ***ret);
char **instance_list_free(char **names);
DEFINE_CLEANUP(char *, instance_list_free);

/* KT_E_KERNEL_REFUSED: the reason lists the available clocks. */
int instance_set_clock(const Instance *instance, const char *clock, Reason *reason);
int instance_set_option(const Instance *instance, const char *option, bool on);
/* Appends one thread id to set_event_pid. Never returns -ESRCH: the kernel does not check the
 * id. */
int instance_add_pid(const Instance *instance, pid_t tid);
/* The same for many ids in few writes: each write except the first waits for RCU. */
int instance_add_pids(const Instance *instance, const pid_t *tids, size_t n);
/* Reads the whole set_event_pid list. Does not block. */
int instance_read_pids(const Instance *instance, pid_t **ret, size_t *ret_n);
/* False if the list is empty; the kernel then traces all tasks. */
int instance_has_pid(const Instance *instance, pid_t tid, bool *ret);

/* Reads and writes tracing_on. Turning it off never blocks and is allowed in the event loop. */
int instance_get_tracing(const Instance *instance, bool *ret);
int instance_set_tracing(const Instance *instance, bool on);

int instance_enable_event(const Instance *instance, const char *system, const char *event, bool on);
/* events/SYSTEM/enable */
int instance_enable_system(const Instance *instance, const char *system, bool on);
/* Waits until each handler of an event that runs now has ended. Returns false if the kernel has no
 * such call: it has nohz_full CPUs, or a sandbox refuses it. Since 6.13 a thread can be preempted
 * in the few instructions between a syscall's tracepoint and its handler, and this does not wait
 * for it. A record that it writes later is counted and read like any other. */
bool instance_wait_for_handlers(void);
/* Writes 0 to events/enable, then waits until every running handler has ended, so that no further
 * record can arrive. */
int instance_disable_all(const Instance *instance);

/* Opens per_cpu/cpuN/FILE (trace_pipe_raw, stats) or any other file of the instance, CLOEXEC. On
 * kernels >= 6.9, after any process has closed a duplicate of a trace_pipe_raw (we, after passing
 * it; a child that inherited it), reads of the empty ring return 0 instead of EAGAIN. That is not
 * the end of the data. */
int instance_open_file(const Instance *instance, const char *path, int flags);
