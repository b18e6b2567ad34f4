/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

typedef enum HistVerb {
        HIST_CLEAR,
        HIST_PAUSE,
        HIST_CONTINUE,
        _HIST_VERB_N,
} HistVerb;

/* One histogram of a trace, for the duration of a request. */
typedef struct TraceHist {
        const Trace *trace;
        size_t trigger; /* index in the grant's triggers */
        HistVerb verb;
        /* The files for the reading process. The plan opens them; their holder closes them. */
        int fds[2];         /* `hist` file; the trigger's line (memfd) */
        uint32_t n_in_file; /* number of tables */
        bool has_fired;     /* the guard has fired */
} TraceHist;

/* Opens the files. KT_E_WRONG_STATE: the histogram is not installed. */
void trace_plan_hist_open(TraceHist *hist, Plan *plan);
/* Call it after the reading: checks that the content belongs to the owner. KT_E_FAILED: it does
 * not. */
void trace_plan_hist_judge(TraceHist *hist, Plan *plan);
/* Performs `verb`. */
void trace_plan_hist_verb(TraceHist *hist, Plan *plan);
