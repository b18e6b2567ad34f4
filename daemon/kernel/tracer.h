/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cpu-list.h"
#include "kernel/instance.h"

/* What records besides events, and where. All block as instance.h says. */

/* Only these CPUs record. KT_E_INVALID_SPEC: there is no such CPU. */
int instance_set_cpus(const Instance *instance,
                const CpuList *cpus,
                unsigned n_cpus,
                Reason *reason);
/* Those that record. -ENOENT: the kernel tells them not. */
int instance_get_cpus(const Instance *instance, CpuList *ret);
/* Has this kernel such a tracer, and can it be told what to trace? Whether instances may have it
 * only instance_set_tracer() finds out. KT_E_KERNEL_REFUSED: no. */
int tracer_check_known(const Tracefs *tracefs, const char *tracer, Reason *reason);
/* Sets a tracer that is to record these functions, by names or globs; "*": all. It records nothing
 * before instance_run_tracer(), and drops what is in the ring. KT_E_INVALID_SPEC: a glob matches
 * none. KT_E_KERNEL_REFUSED: this kernel has no such tracer for instances, or would trace other
 * functions than these. */
int instance_set_tracer(const Instance *instance,
                const char *tracer,
                char *const *globs,
                size_t n_globs,
                Reason *reason);
/* Patches those functions, or puts them back. */
int instance_run_tracer(const Instance *instance, char *const *globs, size_t n_globs, bool on);
