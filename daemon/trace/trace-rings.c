/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Opens the rings of a trace for a consumer: the live rings of a stream, or the current content of
 * a flight recorder. A part of trace.h. The event loop builds the plans; the worker thread runs
 * them. Owns the fds until they are sent to the consumer. */

#include "trace/trace-rings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "interfaces/defence.h"
#include "kernel/buffer.h"
#include "kernel/ring-files.h"
#include "kernel/statistics.h"
#include "trace/metadata.h"
#include "trace/trace-fence.h"
#include "trace/trace-triggers-look.h"
#include "trace/trace-triggers.h"
#include "trace/trace.h"

void trace_close_rings(Trace *trace) {
        fd_close_all(&trace->ring_fds, trace->n_ring_fds);
        trace->n_ring_fds = 0;
        close_cleanup(&trace->guard_fds[0]);
        close_cleanup(&trace->guard_fds[1]);
}

/* A stream without names is still complete: the reader shows pids instead. */
static int trace_rings_read_names(const Trace *trace, int *fd) {
        close_cleanup(fd);
        if (!trace_has_name_list(trace))
                return 0;
        int r = metadata_make_names(trace, fd);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot read the saved command names");
        return 0;
}

int trace_step_names(void *context, Reason *reason _unused_) {
        Trace *trace = context;

        return trace_rings_read_names(trace, &trace->names_fd);
}

/* The session's own plans run beside a snapshot, so a snapshot has its own names. */
static int step_taken_names(void *context, Reason *reason _unused_) {
        Trace *trace = context;

        return trace_rings_read_names(trace, &trace->taken_names_fd);
}

static int open_rings(Trace *trace, const char *raw) {
        return ring_files_open(trace->instance,
                        trace->n_cpus,
                        raw,
                        O_WRONLY,
                        &trace->ring_fds,
                        &trace->n_ring_fds);
}

static int step_rings(void *context, Reason *reason _unused_) {
        Trace *trace = context;

        int r = open_rings(trace, "trace_pipe_raw");
        return r ?: trace_open_guard(trace);
}

static int read_frozen(Trace *trace) {
        int r = 0;

        free(trace->frozen);
        trace->frozen = calloc(trace->n_cpus, sizeof(*trace->frozen));
        if (!trace->frozen)
                return -ENOMEM;
        for (unsigned i = 0; r == 0 && i < trace->n_cpus; i++)
                r = instance_read_statistics_fd(trace->stats_fds[i], &trace->frozen[i]);
        return r;
}

/* Replaces per_cpu/cpuN/stats, which describes the other buffer after the swap. */
static int freeze_statistics(Trace *trace, int *ret) {
        int r = trace->is_resuming && trace->frozen ? 0 : read_frozen(trace);

        for (unsigned i = 0; r == 0 && i < trace->n_cpus; i++) {
                const CpuStatistics s = trace->frozen[i];
                char text[512];
                int size = snprintf(text,
                                sizeof(text),
                                "entries: 0\noverrun: %" PRIu64 "\ncommit overrun: %" PRIu64
                                "\nbytes: %" PRIu64 "\ndropped events: %" PRIu64
                                "\nread events: %" PRIu64 "\n",
                                s.overrun,
                                s.commit_overrun,
                                s.bytes,
                                s.dropped,
                                s.read + s.entries);
                ret[i] = fd_memfd_sealed("stats", text, (size_t)size);
                if (ret[i] < 0)
                        return ret[i];
        }
        return r;
}

/* If the kernel swaps buffers, the snapshot ends at the same moment on all CPUs: at this call, or
 * earlier if a trigger has already swapped. Newer records belong to the next snapshot. If the
 * kernel does not swap, each ring is read up to the moment of its turn. A snapshot that is resumed
 * was swapped by the one that failed. */
static int step_snapshot(void *context, Reason *reason _unused_) {
        Trace *trace = context;
        int r = trace_is_judged(trace) ? trace_open_guard(trace) : 0;

        if (r < 0)
                return r;
        int *stats = trace->has_snapshot ? malloc(trace->n_cpus * sizeof(int)) : NULL;
        if (trace->has_snapshot && !stats)
                return -ENOMEM;
        for (unsigned i = 0; stats && i < trace->n_cpus; i++)
                stats[i] = -1;
        if (stats)
                r = freeze_statistics(trace, stats);
        bool swaps = stats && !trace->is_resuming;
        if (swaps && r == 0)
                r = trace_look_for_caught(trace);
        bool has_caught = trace->has_caught;
        if (swaps && r == 0 && trace->is_dirty && !has_caught)
                r = instance_clear_snapshot(trace->instance);
        if (swaps && r == 0 && !has_caught)
                r = instance_swap(trace->instance);
        r = r ?: open_rings(trace, stats ? "snapshot_raw" : "trace_pipe_raw");
        for (unsigned i = 0; stats && r == 0 && i < trace->n_cpus; i++) {
                close_cleanup(&trace->ring_fds[2 + 2 * i]);
                trace->ring_fds[2 + 2 * i] = TAKE_FD(stats[i]);
        }
        fd_close_all(&stats, trace->n_cpus);
        trace->has_caught = has_caught && (r < 0 || trace->is_resuming);
        return r;
}

static void undo_rings(void *context) {
        trace_close_rings(context);
}

static const PlanStep rings_steps[] = {
        { "rings", step_rings, undo_rings },
};

static const PlanStep snapshot_steps[] = {
        { "names", step_taken_names, NULL },
        { "snapshot", step_snapshot, undo_rings },
};

ControlMember trace_make_member(const KnownTask *known) {
        ControlMember member = {
                .tid = (uint32_t)known->task.tid,
                .since_nsec = known->since_nsec,
        };

        memcpy(member.comm, known->task.comm, sizeof(member.comm));
        return member;
}

#define KNOWN_MAX 65536 /* tasks that are not known to have ended */

int trace_know(Trace *trace, const KnownTask *known) {
        if (known && trace->n_known >= KNOWN_MAX)
                return -ENOSPC;
        if (!known) {
                trace->n_known = 0;
                trace->n_proof = SIZE_MAX;
                return 0;
        }
        KnownTask *grown = reallocarray(trace->known, trace->n_known + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        trace->known = grown;
        trace->known[trace->n_known++] = *known;
        return 0;
}

int trace_begin_proof(Trace *trace) {
        KnownTask *copy = calloc(trace->n_known + 1, sizeof(*copy));

        if (!copy)
                return -ENOMEM;
        if (trace->n_known > 0)
                memcpy(copy, trace->known, trace->n_known * sizeof(*copy));
        free(trace->proven);
        trace->proven = copy;
        trace->n_proven = trace->n_proof = trace->n_known;
        return 0;
}

void trace_end_proof(Trace *trace) {
        size_t n_later = trace->n_known > trace->n_proof ? trace->n_known - trace->n_proof : 0;

        if (trace->n_proof > trace->n_known) /* restarted since the plan began */
                return;
        if (n_later > 0)
                memmove(trace->known + trace->n_proven,
                                trace->known + trace->n_proof,
                                n_later * sizeof(*trace->known));
        if (trace->n_proven > 0)
                memcpy(trace->known, trace->proven, trace->n_proven * sizeof(*trace->known));
        trace->n_known = trace->n_proven + n_later;
}

static bool is_there(Task *task) {
        TaskStat stat;

        if (!defence_is_on("lifetimes"))
                return true;
        if (process_read_stat(task->tid, task->tid, &stat) < 0 ||
                        stat.start_time != task->start_time)
                return false;
        memcpy(task->comm, stat.comm, sizeof(task->comm));
        return true;
}

static int step_proven(void *context, Reason *reason _unused_) {
        Trace *trace = context;
        size_t n = 0;

        for (size_t i = 0; i < trace->n_proven; i++)
                if (is_there(&trace->proven[i].task))
                        trace->proven[n++] = trace->proven[i];
        trace->n_proven = n;
        return 0;
}

void trace_plan_proven(Trace *trace, Plan *plan) {
        static const PlanStep step = { "proven", step_proven, NULL };

        trace_plan(trace, plan, &step, 1, true);
}

void trace_plan_rings(Trace *trace, Plan *plan) {
        trace_plan(trace, plan, rings_steps, ELEMENTSOF(rings_steps), true);
}

void trace_plan_snapshot(Trace *trace, Plan *plan) {
        trace_plan(trace, plan, snapshot_steps, ELEMENTSOF(snapshot_steps), true);
}
