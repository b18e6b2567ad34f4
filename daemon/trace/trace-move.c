/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Moves a trace from one shared instance to another one, so that a session that fills the ring of
 * others gets one of its own. session/session-move.c calls it.
 *
 * For some time both instances record the same. The kernel calls the probes of an event in the
 * order of their registration, so that each event comes first to the earlier instance. Nothing else
 * runs on the CPU between the two, except interrupts. The readers of the two instances rely on
 * that: see MOVE in control.h and consumer/mux/move.c. Since 6.13 it is not so for system calls.
 *
 * The steps run on a copy of the trace with files of its own. So the event loop may read the trace
 * at the same time. The copy shares everything else with the trace, and must not free it. */

#include "trace/trace-move.h"

#include <errno.h>
#include <string.h>

#include "kernel/release.h"
#include "trace/trace-fence.h"

struct TraceMove {
        Trace other; /* in the instance that the trace is not in */
};

/* All members that belong to the instance. */
static void trace_swap_places(Trace *one, Trace *two) {
        const Trace first = *one;

        one->shared = two->shared;
        one->viewer = two->viewer;
        one->instance = two->instance;
        one->stats_fds = two->stats_fds;
        one->pipe_fd = two->pipe_fd;
        one->marker_fd = two->marker_fd;
        one->watch = two->watch;
        one->is_inside = two->is_inside;
        one->n_changes = two->n_changes;
        one->is_wanted = two->is_wanted;
        two->shared = first.shared;
        two->viewer = first.viewer;
        two->instance = first.instance;
        two->stats_fds = first.stats_fds;
        two->pipe_fd = first.pipe_fd;
        two->marker_fd = first.marker_fd;
        two->watch = first.watch;
        two->is_inside = first.is_inside;
        two->n_changes = first.n_changes;
        two->is_wanted = first.is_wanted;
}

static bool is_syscall(const GrantEvent *event) {
        return strcmp(event->system, "syscalls") == 0 || strcmp(event->system, "raw_syscalls") == 0;
}

bool trace_can_move(const Trace *trace) {
        bool has_syscalls = false;

        for (size_t i = 0; i < trace->grant->n_events; i++)
                has_syscalls = has_syscalls || is_syscall(&trace->grant->events[i]);
        return !has_syscalls || !kernel_is_at_least(6, 13);
}

int trace_move_new(const Trace *trace, Shared *to, TraceMove **ret) {
        TraceMove *move = calloc(1, sizeof(*move));

        if (!move)
                return -ENOMEM;
        move->other = *trace;
        Trace nowhere = { .shared = to, .pipe_fd = -1, .marker_fd = -1 };
        trace_swap_places(&move->other, &nowhere);
        move->other.next = 0;
        *ret = move;
        return 0;
}

TraceMove *trace_move_free(TraceMove *move) {
        if (!move)
                return NULL;
        free(move->other.is_wanted);
        free(move);
        return NULL;
}

static int move_step_enter(void *context, Reason *reason) {
        return trace_enter_shared(context, reason);
}

static void undo_enter(void *context) {
        int r = trace_remove_now(context);

        trace_report_undo(context, r, "the move to another instance");
}

/* A handler that began before the events were on writes to the earlier instance only. */
static int move_step_wait(void *context _unused_, Reason *reason) {
        if (instance_wait_for_handlers())
                return 0;
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "this kernel cannot wait until all handlers of events have ended "
                        "(nohz_full)");
}

void trace_plan_enter_next(TraceMove *move, Plan *plan) {
        static const PlanStep steps[] = {
                { "move-enter", move_step_enter, undo_enter },
                { "move-statistics", trace_step_statistics, NULL },
                { "move-marker", trace_step_marker, NULL },
                { "move-watch", trace_step_watch, NULL },
                { "move-events", trace_step_events, NULL },
                { "move-wait", move_step_wait, NULL },
        };

        trace_plan(&move->other, plan, steps, ELEMENTSOF(steps), true);
}

void trace_move_swap(TraceMove *move, Trace *trace) {
        trace_swap_places(&move->other, trace);
        trace->arm.instance = trace->instance;
}

void trace_plan_leave_other(TraceMove *move, Plan *plan) {
        trace_plan_remove(&move->other, plan);
}

int trace_leave_other_now(TraceMove *move) {
        return trace_remove_now(&move->other);
}
