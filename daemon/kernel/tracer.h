/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cpu-list.h"
#include "kernel/instance.h"

/* Tracers, and the CPUs that record. All functions block as documented in instance.h. */

/* Restricts recording to these CPUs. KT_E_INVALID_SPEC: no such CPU. */
int instance_set_cpus(const Instance *instance,
                const CpuList *cpus,
                unsigned n_cpus,
                Reason *reason);
/* Reads the CPUs that record. -ENOENT: the kernel does not provide them. */
int instance_get_cpus(const Instance *instance, CpuList *ret);
/* Checks whether this kernel has the tracer and can select its functions. Only
 * instance_set_tracer() finds out whether instances can use it. KT_E_KERNEL_REFUSED: no. */
int tracer_check_known(const Tracefs *tracefs, const char *tracer, Reason *reason);
/* Sets a tracer for these functions, given by names or globs; "*": all. It records nothing before
 * instance_run_tracer(), and clears the ring. KT_E_INVALID_SPEC: a glob matches no function.
 * KT_E_KERNEL_REFUSED: instances of this kernel do not support the tracer, or it would trace other
 * functions. */
int instance_set_tracer(const Instance *instance,
                const char *tracer,
                char *const *globs,
                size_t n_globs,
                Reason *reason);
/* True if instance_run_tracer() has no effect on the tracer. Then its functions stay patched, and
 * tracing_on, which instance_set_tracer() sets to 0, decides whether it records. */
bool tracer_needs_tracing_on(const char *tracer);
/* Patches those functions, or restores them. */
int instance_run_tracer(const Instance *instance, char *const *globs, size_t n_globs, bool on);
