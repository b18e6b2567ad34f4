/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tracers and CPUs of the fake kernel: its instances have the function tracer, and the functions
 * "vfs_read" and "vfs_write". Both show as options in what fake_kernel_describe() tells. */

#include "kernel/tracer.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "fake-model.h"

static int set(const Instance *instance, const char *name, bool on) {
        return instance_set_option(instance, name, on);
}

int instance_set_cpus(const Instance *instance,
                const CpuList *cpus,
                unsigned n_cpus,
                Reason *reason) {
        if (cpu_list_get_last(cpus) >= n_cpus)
                return reason_set(reason, KT_E_INVALID_SPEC, "cpus: there is no such CPU");
        return set(instance, "cpumask", true);
}

int instance_get_cpus(const Instance *instance, CpuList *ret) {
        (void)instance;
        (void)ret;
        return -ENOENT;
}

int tracer_check_known(const Tracefs *tracefs, const char *tracer, Reason *reason) {
        (void)tracefs;
        return strcmp(tracer, "function") == 0
                               ? 0
                               : reason_set(reason, KT_E_KERNEL_REFUSED, "tracer: no such tracer");
}

int instance_set_tracer(const Instance *instance,
                const char *tracer,
                char *const *globs,
                size_t n_globs,
                Reason *reason) {
        for (size_t i = 0; i < n_globs; i++)
                if (fnmatch(globs[i], "vfs_read", 0) != 0 && fnmatch(globs[i], "vfs_write", 0) != 0)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "functions: %s matches no function",
                                        globs[i]);
        if (strcmp(tracer, "function") != 0)
                return reason_set(reason, KT_E_KERNEL_REFUSED, "tracer: no such tracer");
        return set(instance, "function-tracer", true);
}

bool tracer_needs_tracing_on(const char *tracer) {
        (void)tracer;
        return false;
}

int instance_run_tracer(const Instance *instance, char *const *globs, size_t n_globs, bool on) {
        (void)globs;
        (void)n_globs;
        return set(instance, "functions-patched", on);
}
