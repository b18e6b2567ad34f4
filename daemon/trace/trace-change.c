/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Changes to a trace while it exists: enabling and disabling events, resizing and clearing the
 * buffer. A part of trace.h. The event loop builds the plans; the worker thread runs them.
 *
 * The kernel records nothing while the size of a buffer changes, and a guard that fires during the
 * change stops nothing. So a judged trace changes its size only before its first start. */

#include "trace/trace-change.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <inttypes.h>

#include "base/log.h"
#include "kernel/buffer.h"
#include "trace/trace-borrow.h"
#include "trace/trace-counts.h"
#include "trace/trace-fence.h"
#include "trace/trace-locate.h"
#include "trace/trace-mark.h"
#include "trace/trace-pairs.h"
#include "trace/trace-triggers-check.h"
#include "trace/trace-triggers-look.h"
#include "trace/trace-triggers.h"
#include "trace/trace.h"

int trace_begin_switch(Trace *trace) {
        size_t n = trace->grant->n_events;

        trace->wants_off = calloc(n + 1, sizeof(bool));
        trace->is_asked = calloc(n + 1, sizeof(bool));
        if (!trace->wants_off || !trace->is_asked) {
                trace_forget_switch(trace);
                return -ENOMEM;
        }
        if (trace->is_off)
                memcpy(trace->wants_off, trace->is_off, n * sizeof(bool));
        return 0;
}

/* An event that a trigger starts is disabled at first. An event that only serves triggers is never
 * enabled. */
static bool begins_off(const Trace *trace, const GrantEvent *event) {
        bool is_closed = trace_windows_are_switches(trace) && trace_begins_closed(trace->spec);
        bool is_counted = trace_counts_event(trace, event);

        if (trace_needs_event(trace, event))
                return false;
        if (event->is_unrecorded)
                return !is_counted;
        return is_closed || (event->is_off && !is_counted);
}

int trace_step_off(void *context, Reason *reason _unused_) {
        Trace *trace = context;
        const Grant *grant = trace->grant;

        trace->is_off = calloc(grant->n_events + 1, sizeof(bool));
        for (size_t i = 0; trace->is_off && i < grant->n_events; i++)
                trace->is_off[i] = begins_off(trace, &grant->events[i]);
        return trace->is_off ? 0 : -ENOMEM;
}

void trace_forget_switch(Trace *trace) {
        free(trace->wants_off);
        free(trace->was_off);
        free(trace->is_asked);
        trace->wants_off = trace->was_off = trace->is_asked = NULL;
}

static int set_event(Trace *trace, size_t i, bool off, Reason *reason) {
        return trace->is_live ? trace_enable(trace, i, !off, reason) : 0;
}

static int trace_change_switch_event(Trace *trace, size_t i, bool off, Reason *reason) {
        const char *system, *name;

        trace_locate(trace, &trace->grant->events[i], &system, &name);
        /* A trigger may have changed the event's state since it was set. */
        if (trace->is_off[i] == off &&
                        !(trace->is_asked[i] && trace_event_has_window(trace, system, name)))
                return 0;
        int r = set_event(trace, i, off, reason);
        if (r == 0)
                trace->is_off[i] = off;
        return r;
}

static int remember_switch(Trace *trace) {
        size_t n = trace->grant->n_events;

        if (!trace->is_off)
                trace->is_off = calloc(n + 1, sizeof(bool));
        trace->was_off = calloc(n + 1, sizeof(bool));
        if (!trace->is_off || !trace->was_off)
                return -ENOMEM;
        memcpy(trace->was_off, trace->is_off, n * sizeof(bool));
        trace->next = 0;
        return 0;
}

static int step_switch(void *context, Reason *reason) {
        Trace *trace = context;

        int r = trace->was_off ? 0 : remember_switch(trace);
        if (r < 0)
                return r;
        if (trace->next == trace->grant->n_events) {
                trace->next = 0;
                trace_forget_switch(trace);
                return 0;
        }
        size_t i = trace->next++;
        r = trace_change_switch_event(trace, i, trace->wants_off[i], reason);
        return r ?: PLAN_AGAIN;
}

static void undo_switch(void *context) {
        Trace *trace = context;
        Reason ignored;

        trace->next = 0;
        for (size_t i = 0; trace->was_off && trace->is_off && i < trace->grant->n_events; i++)
                (void)trace_change_switch_event(trace,
                                i,
                                trace->was_off[i],
                                &ignored); /* it may be removed or unchanged */
        trace_forget_switch(trace);
}

int trace_step_switched_back(void *context, Reason *reason) {
        Trace *trace = context;

        if (!trace->is_asked || trace->next == trace->grant->n_events) {
                trace->next = 0;
                trace_forget_switch(trace);
                return 0;
        }
        size_t i = trace->next++;
        int r = trace->is_asked[i] ? set_event(trace, i, trace->is_off && trace->is_off[i], reason)
                                   : 0;
        return r ?: PLAN_AGAIN;
}

static const PlanStep switch_steps[] = {
        { "switch", step_switch, undo_switch },
};

/* The kernel rounds the size to whole pages; some kernels round to whole sub-buffers. */
void trace_read_size(Trace *trace) {
        trace->size_kb = 0;
        (void)tracefs_read_u64(trace->instance->fd, "buffer_size_kb", &trace->size_kb);
}

int trace_set_size(Trace *trace, uint64_t kb) {
        int r = instance_set_buffer_kb(trace->instance, kb);

        r = r == 0 && trace->has_snapshot ? instance_resize_snapshot(trace->instance) : r;
        trace_read_size(trace);
        return r;
}

/* The kernel does not count records that are missing because of a resize. So a line of the daemon
 * in the stream reports the gap. */
static void report_gap(const Trace *trace, const char *what, uint64_t kb) {
        char text[128];

        if (!trace->is_live || trace->marker_fd < 0)
                return;
        int size = snprintf(text, sizeof(text), "ktraced: %s %" PRIu64 " kB a CPU\n", what, kb);
        int r = trace_mark(trace, text, (size_t)size);
        if (r < 0)
                log_errno(r,
                                LOG_WARNING,
                                &(LogContext){ trace->id,
                                                trace->instance->name,
                                                trace->owner->uid },
                                "cannot report the buffer's size in the stream");
}

static int trace_change_step_size(void *context, Reason *reason) {
        Trace *trace = context;

        report_gap(trace, "nothing is recorded while the buffer becomes", trace->wants_kb);
        int r = trace_set_size(trace, trace->wants_kb);
        report_gap(trace,
                        "recording goes on, the buffer is of",
                        r == 0 ? trace->wants_kb : trace->spec->buffer_kb);
        if (r == -ENOMEM)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "buffer-kb: the kernel has no memory for %" PRIu64
                                " kB on each CPU: ask for less",
                                trace->wants_kb);
        return r;
}

static void undo_size(void *context) {
        Trace *trace = context;

        int r = trace_set_size(trace, trace->spec->buffer_kb);
        trace_report_undo(trace, r, "the buffer's size");
}

static const PlanStep resize_steps[] = {
        { "size", trace_change_step_size, undo_size },
};

static int step_clear(void *context, Reason *reason _unused_) {
        Trace *trace = context;

        int r = trace_look_for_caught(trace);
        trace->has_caught = false;
        if (r == 0 && trace->has_snapshot)
                r = instance_clear_snapshot(trace->instance);
        return r ?: instance_clear(trace->instance);
}

static const PlanStep clear_steps[] = {
        { "clear", step_clear, NULL },
};

void trace_plan_switch(Trace *trace, Plan *plan) {
        trace_plan(trace, plan, switch_steps, ELEMENTSOF(switch_steps), false);
}

void trace_plan_resize(Trace *trace, Plan *plan) {
        trace_plan(trace, plan, resize_steps, ELEMENTSOF(resize_steps), false);
}

void trace_plan_clear(Trace *trace, Plan *plan) {
        trace_plan(trace, plan, clear_steps, ELEMENTSOF(clear_steps), false);
}
