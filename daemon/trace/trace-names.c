/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The names of all tasks at a start, for the histograms by command name that the consumer counts in
 * a trace without a fence: a part of trace.h, on the worker thread. A fenced trace gets the names
 * of its members with the members (arm-check.c).
 *
 * It is called when the records of forks and renames are on. So each later name is in a record,
 * and no event of the trace was recorded before the names were read. A task that ends or is renamed
 * while names are read harms nothing: its records are newer than the name that was read. */

#include "trace/trace-names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scope/process.h"
#include "trace/metadata.h"
#include "trace/trace-borrow.h"

#define TASKS_PER_TURN 256 /* reading a task takes about 20 us */

struct TraceNames {
        pid_t *pids;
        size_t n_pids, next; /* next: the first process that was not read yet */
        ControlMember *tasks;
        size_t n, n_room;
        uint64_t since_nsec; /* the names are valid from here on */
};

void trace_clear_names(Trace *trace) {
        if (!trace->names)
                return;
        free(trace->names->pids);
        free(trace->names->tasks);
        free(trace->names);
        trace->names = NULL;
}

/* After a stop, renames in between were not recorded. So the names of a later start count from that
 * start on. The times of some clocks cannot be read; there the first names stay valid. */
static uint64_t get_since(const Trace *trace) {
        struct timespec now;
        clockid_t clock;

        if (!trace->is_armed || !metadata_get_clock(trace_get_clock(trace), &clock) ||
                        clock_gettime(clock, &now) < 0)
                return 0;
        return control_nsec(&now);
}

static int trace_names_begin(Trace *trace) {
        trace->names = calloc(1, sizeof(*trace->names));
        if (!trace->names)
                return -ENOMEM;
        trace->names->since_nsec = get_since(trace);
        return process_list_all(&trace->names->pids, &trace->names->n_pids);
}

static int trace_names_reserve(TraceNames *names, size_t n) {
        if (names->n + n <= names->n_room)
                return 0;
        size_t n_room = 2 * (names->n + n);
        ControlMember *bigger = reallocarray(names->tasks, n_room, sizeof(*bigger));
        if (!bigger)
                return -ENOMEM;
        names->tasks = bigger;
        names->n_room = n_room;
        return 0;
}

static ControlMember make_name(const Task *task, uint64_t since_nsec) {
        ControlMember name = { .tid = (uint32_t)task->tid, .since_nsec = since_nsec };

        memcpy(name.comm, task->comm, sizeof(name.comm));
        return name;
}

static int trace_names_add_process(TraceNames *names, pid_t pid, size_t *ret_n) {
        _cleanup_free_ Task *tasks = NULL;

        *ret_n = 0;
        int r = process_list_threads(pid, &tasks, ret_n);
        if (r == -ESRCH)
                return 0;
        r = r ?: trace_names_reserve(names, *ret_n);
        for (size_t i = 0; r == 0 && i < *ret_n; i++)
                names->tasks[names->n++] = make_name(&tasks[i], names->since_nsec);
        return r;
}

int trace_read_names(Trace *trace) {
        size_t n, n_read = 0;

        int r = trace->names ? 0 : trace_names_begin(trace);
        TraceNames *names = trace->names;
        while (r == 0 && names->next < names->n_pids && n_read < TASKS_PER_TURN) {
                r = trace_names_add_process(names, names->pids[names->next++], &n);
                n_read += n;
        }
        return r ?: names->next < names->n_pids ? PLAN_AGAIN : 0;
}

const ControlMember *trace_get_names(const Trace *trace, size_t *ret_n) {
        *ret_n = trace->names ? trace->names->n : 0;
        return trace->names ? trace->names->tasks : NULL;
}
