/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

typedef enum HistVerb {
        HIST_CLEAR,
        HIST_PAUSE,
        HIST_CONTINUE,
        _HIST_VERB_N,
} HistVerb;

/* One of a trace's histograms, for as long as somebody asks for it. */
typedef struct TraceHist {
        const Trace *trace;
        size_t trigger; /* of the grant's */
        HistVerb verb;
        /* What the process that reads it needs: made by the plan, closed by whoever has them. */
        int fds[2];         /* the `hist` file; the trigger as the kernel lists it (memfd) */
        uint32_t n_in_file; /* tables */
        bool has_fired;     /* the guard */
} TraceHist;

/* KT_E_WRONG_STATE: it is not laid. */
void trace_plan_hist_open(TraceHist *hist, Plan *plan);
/* After it was read: is what it holds the owner's? KT_E_FAILED. */
void trace_plan_hist_judge(TraceHist *hist, Plan *plan);
/* Does `verb`. */
void trace_plan_hist_verb(TraceHist *hist, Plan *plan);
