/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The keys of a session spec that hold the kernel's own words for a whole instance: the CPUs, the
 * tracer and its functions, the instance. Policy reserves most of them for administrators. The
 * checks here prevent a word from acting as a command: the kernel reads "schedule:traceoff" in
 * set_ftrace_filter as an order, and a name with a slash as a path.
 *
 * To add such a key: the rules for it are in policy/grant-kernel.c, its effect is in
 * trace/trace-kernel.c and kernel/tracer.c; tests/e2e/kernel-keys.sh. */

#include "interfaces/spec-kernel.h"

#include <errno.h>
#include <string.h>

#include "interfaces/ascii.h"
#include "interfaces/cpu-list.h"
#include "interfaces/quote.h"
#include "interfaces/spec.h"

static int spec_kernel_copy(char **target, const char *value) {
        *target = strdup(value);
        return *target ? 0 : -ENOMEM;
}

int spec_set_cpus(Spec *spec, const char *value, Reason *reason) {
        CpuList list;

        int r = cpu_list_parse("cpus", value, &list, reason);
        return r ?: spec_kernel_copy(&spec->cpus, value);
}

int spec_set_tracer(Spec *spec, const char *value, Reason *reason) {
        static const char *const tracers[] = { "nop", "function", "function_graph" };

        for (size_t i = 0; i < ELEMENTSOF(tracers); i++)
                if (strcmp(value, tracers[i]) == 0)
                        return i == 0 ? 0 : spec_kernel_copy(&spec->tracer, value);
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "tracer: %s is not known: write nop, function or function_graph",
                        quote(value).text);
}

int spec_set_instance(Spec *spec, const char *value, Reason *reason) {
        for (const char *p = value; *p; p++)
                if (!ascii_is_alphanumeric(*p) && !strchr("._-", *p))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "instance: %s contains characters other than letters, "
                                        "digits, '.', '_', '-'",
                                        quote(value).text);
        if (strspn(value, ".") == strlen(value))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "instance: %s is a directory: write the name of an instance",
                                quote(value).text);
        if (strncmp(value, KT_INSTANCE_PREFIX, strlen(KT_INSTANCE_PREFIX)) == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "instance: %s belongs to ktraced: name an instance that the "
                                "kernel or a module has made",
                                quote(value).text);
        return spec_kernel_copy(&spec->instance, value);
}

int spec_add_function(Spec *spec, const char *glob, Reason *reason) {
        char **grown;

        if (spec->n_functions >= SPEC_FUNCTIONS_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "functions: more than %d entries: use globs",
                                SPEC_FUNCTIONS_MAX);
        size_t size = strlen(glob);
        bool fits = size > 0 && size <= SPEC_FUNCTION_MAX && !ascii_is_digit(*glob);
        for (const char *p = glob; *p && fits; p++)
                fits = ascii_is_alphanumeric(*p) || strchr("_.*?[]-", *p);
        if (!fits)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "functions[%zu]: %s is neither the name of a function nor a "
                                "glob: write letters, digits, '_', '.', '*', '?', '[…]', at "
                                "most %d",
                                spec->n_functions,
                                quote(glob).text,
                                SPEC_FUNCTION_MAX);
        grown = reallocarray(spec->functions, spec->n_functions + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        spec->functions = grown;
        int r = spec_kernel_copy(&grown[spec->n_functions], glob);
        spec->n_functions += r == 0;
        return r;
}

void spec_free_functions(Spec *spec) {
        for (size_t i = 0; i < spec->n_functions; i++)
                free(spec->functions[i]);
        free(spec->functions);
}

/* Checks a spec for an instance that another user made and also reads. */
static int spec_kernel_check_instance(const Spec *spec, Reason *reason) {
        static const char *const theirs[] = { "buffer-kb", "clock" };

        for (size_t i = 0; i < ELEMENTSOF(theirs); i++)
                if (spec_is_given(spec, theirs[i]))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: cannot be set with 'instance', because a change "
                                        "would drop what the instance contains: leave it out",
                                        theirs[i]);
        if (spec->scope != SCOPE_SYSTEM)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "instance: it records all processes: write scope system");
        if (spec->mode != MODE_STREAM)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "instance: it can only be read as a stream: write mode stream");
        if (spec->n_probes > 0 || spec->n_triggers > 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: not possible with 'instance': ktraced could not remove all "
                                "of them from an instance that it does not own",
                                spec->n_probes > 0 ? "probes" : "triggers");
        if (spec->tracer || spec->stacktrace || spec->cpus)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: would change what others record in the instance: leave it "
                                "away",
                                spec->tracer ? "tracer"
                                : spec->cpus ? "cpus"
                                             : "stacktrace");
        return 0;
}

int spec_check_kernel(const Spec *spec, Reason *reason) {
        int r = spec->instance ? spec_kernel_check_instance(spec, reason) : 0;

        if (r != 0)
                return r;
        if (spec->tracer && spec->n_functions == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "functions: missing: name the functions to record, or write "
                                "\"*\" for all, which slows down the whole machine");
        if (spec->n_functions > 0 && !spec->tracer)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "functions: require a tracer: write tracer function or "
                                "function_graph, or leave functions out");
        if (spec->tracer && spec->scope != SCOPE_SYSTEM)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "tracer: records functions of every process: write scope system");
        return 0;
}
