/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/control.h"
#include "trace/trace.h"

/* The files for the process that counts the hits of a trace's notify triggers. The plan opens them;
 * their holder closes them. */
typedef struct TraceNotify {
        const Trace *trace;
        size_t n;

        struct {
                size_t trigger;     /* index in the spec's triggers */
                int fds[2];         /* event's `hist`; trigger's line (memfd) */
                uint32_t n_in_file; /* number of histograms */
        } tables[CONTROL_TABLES_MAX];

        int tracing_fd; /* tracing_on, if judged; else -1 */
} TraceNotify;

void trace_notify_init(TraceNotify *notify, const Trace *trace);
/* True if the spec has a notify trigger. */
bool trace_notify_is_wanted(const Spec *spec);
/* Opens the files of the installed triggers. */
void trace_plan_notify(TraceNotify *notify, Plan *plan);
void trace_notify_close_tables(TraceNotify *notify);
void trace_notify_clear(TraceNotify *notify);
