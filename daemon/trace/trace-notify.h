/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/control.h"
#include "trace/trace.h"

/* What the process that counts the hits of a trace's notify triggers is given: made by the plan,
 * closed by whoever has it. */
typedef struct TraceNotify {
        const Trace *trace;
        size_t n;

        struct {
                size_t trigger;     /* of the spec's */
                int fds[2];         /* the event's `hist`; the trigger as it lists it (memfd) */
                uint32_t n_in_file; /* histograms */
        } tables[CONTROL_TABLES_MAX];

        int tracing_fd; /* of a judged trace: its latch; else -1 */
} TraceNotify;

void trace_notify_init(TraceNotify *notify, const Trace *trace);
/* Does the spec have any? */
bool trace_notify_is_wanted(const Spec *spec);
/* Opens the files of those that are laid. */
void trace_plan_notify(TraceNotify *notify, Plan *plan);
void trace_notify_close_tables(TraceNotify *notify);
void trace_notify_clear(TraceNotify *notify);
