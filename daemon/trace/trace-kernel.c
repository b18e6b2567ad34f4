/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a session records besides events, and on which CPUs: a tracer on chosen functions, and a CPU
 * mask. A part of trace.h, on the worker thread. The policy check has already allowed it. The
 * session owns the instance, so only the tracer must be reset: it patches the kernel while it is
 * set. */

#include "trace/trace-kernel.h"

#include "kernel/tracer.h"
#include "trace/trace-triggers-check.h"

int trace_step_cpus(void *context, Reason *reason) {
        const Trace *trace = context;
        CpuList cpus;

        if (!trace->spec->cpus)
                return 0;
        int r = cpu_list_parse("cpus", trace->spec->cpus, &cpus, reason);
        return r ?: instance_set_cpus(trace->instance, &cpus, trace->n_cpus, reason);
}

int trace_step_tracer(void *context, Reason *reason) {
        const Trace *trace = context;
        const Spec *spec = trace->spec;

        if (!spec->tracer)
                return 0;
        return instance_set_tracer(
                        trace->instance, spec->tracer, spec->functions, spec->n_functions, reason);
}

bool trace_tracer_needs_tracing_on(const Trace *trace) {
        return trace->spec->tracer && tracer_needs_tracing_on(trace->spec->tracer);
}

int trace_run_tracer(Trace *trace, bool on) {
        const Spec *spec = trace->spec;

        if (!spec->tracer)
                return 0;
        /* A window that begins closed stays closed. */
        if (trace_tracer_needs_tracing_on(trace))
                return instance_set_tracing(trace->instance, on && !trace_begins_closed(spec));
        return instance_run_tracer(trace->instance, spec->functions, spec->n_functions, on);
}

int trace_step_run_tracer(void *context, Reason *reason _unused_) {
        return trace_run_tracer(context, true);
}
