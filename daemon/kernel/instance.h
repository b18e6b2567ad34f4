/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "interfaces/names.h"
#include "kernel/tracefs.h"

/* Per-CPU counters as the kernel has them in per_cpu/cpuN/stats, from the instance's creation. */
typedef struct CpuStatistics {
        uint64_t entries; /* in the ring, not read yet */
        uint64_t overrun; /* overwritten before anyone read them (flight mode) */
        uint64_t commit_overrun;
        uint64_t bytes;   /* in the ring now */
        uint64_t dropped; /* new events dropped because the ring was full */
        uint64_t read;
        /* When the oldest sub-buffer in the ring begins (0: there is none), and when this was
         * asked: by the trace clock, to the microsecond; 0: the clock counts no time. */
        uint64_t oldest_nsec, now_nsec;
} CpuStatistics;

/* One trace instance, instances/ktrace-<id>. Calls block on the kernel (RCU: 8 to 100 ms) unless
 * said otherwise: they belong on the worker thread. Stateless but for its fd: usable from any
 * thread. */
typedef struct Instance {
        const Tracefs *tracefs;
        char *name; /* "ktrace-0123456789abcdef" */
        int fd;     /* its directory */
} Instance;

/* mkdir. -EEXIST when there is one already. */
int instance_create(const Tracefs *tracefs, const char *id, Instance **ret);
/* Opens one that exists. */
int instance_open(const Tracefs *tracefs, const char *name, Instance **ret);
/* Closes the fd; the kernel's instance stays. */
Instance *instance_free(Instance *instance);
DEFINE_CLEANUP(Instance, instance_free);
/* rmdir. -EBUSY while anyone holds a file of it open. 0 when it is gone already. Static: after the
 * fds of ours are closed, by name. */
int instance_remove(const Tracefs *tracefs, const char *name);
/* Names of all instances that begin with KT_INSTANCE_PREFIX; *ret is NULL-terminated, free with
 * instance_list_free. */
int instance_list(const Tracefs *tracefs, char ***ret);
char **instance_list_free(char **names);
DEFINE_CLEANUP(char *, instance_list_free);

/* KT_E_KERNEL_REFUSED naming the clocks that there are. */
int instance_set_clock(const Instance *instance, const char *clock, Reason *reason);
int instance_set_option(const Instance *instance, const char *option, bool on);
/* Appends one thread id to set_event_pid. -ESRCH is never returned: the kernel does not check. */
int instance_add_pid(const Instance *instance, pid_t tid);
/* The same for many in few writes: each but the first waits for RCU. */
int instance_add_pids(const Instance *instance, const pid_t *tids, size_t n);
/* The whole set_event_pid list. Does not block. */
int instance_read_pids(const Instance *instance, pid_t **ret, size_t *ret_n);
/* False when the list is empty: then the kernel traces everybody. */
int instance_has_pid(const Instance *instance, pid_t tid, bool *ret);

/* tracing_on. Off never blocks and may be called from the event loop. */
int instance_get_tracing(const Instance *instance, bool *ret);
int instance_set_tracing(const Instance *instance, bool on);

int instance_enable_event(const Instance *instance, const char *system, const char *event, bool on);
/* events/SYSTEM/enable */
int instance_enable_system(const Instance *instance, const char *system, bool on);
/* events/enable = 0, then waits until every handler that was running has ended, so that no further
 * record can arrive. */
int instance_disable_all(const Instance *instance);

/* Opens per_cpu/cpuN/FILE (trace_pipe_raw, stats) or any other file of the instance, CLOEXEC.
 * Kernels >= 6.9: once a duplicate of a trace_pipe_raw was closed by anyone (we, after passing it;
 * a child that inherited it), reads of the empty ring return 0 instead of EAGAIN. That is no end.
 */
int instance_open_file(const Instance *instance, const char *path, int flags);
