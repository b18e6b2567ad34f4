/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks features of a session that not every kernel has: histograms, snapshots, probes, tracers.
 * check.c calls it after policy has allowed the session, in the event loop. Therefore CheckSession
 * can report a missing feature, and CreateSession fails before it makes anything or asks for a
 * password. This file checks whether files exist, which does not block, and reads the list of
 * tracers if the spec requests one. It cannot find every problem: only the steps of trace.c find a
 * feature that only an instance has, or a value that the kernel rejects.
 *
 * To add a feature that not every kernel has: check for it here; tests/session/test-check.c. */

#include "session/needs.h"

#include <errno.h>

#include "interfaces/spec-trigger.h"
#include "kernel/pair.h"
#include "kernel/probe-group.h"
#include "kernel/tracer.h"
#include "session/registry-tracefs.h"
#include "session/registry.h"
#include "trace/trace-counts.h"
#include "trace/trace-triggers-check.h"
#include "trace/trace-triggers.h"

typedef struct Needs {
        Registry *registry;
        const Tracefs *tracefs;
        const Spec *spec;
        const Grant *grant;
} Needs;

static const Probe *find_probe(const Needs *needs, const GrantEvent *event) {
        return probe_set_find_event(needs->registry->probes, event->system, event->name);
}

/* A trigger on a probe cannot be checked, because the probe may not exist in the kernel yet. Only
 * the probe's own requirements are checked. */
static int check_trigger(const Needs *needs, size_t i, Reason *reason) {
        const GrantEvent *event = &needs->grant->events[needs->grant->triggers[i].event];
        const Instance top = { .tracefs = needs->tracefs, .fd = needs->tracefs->fd };

        const Trace trace = {
                .tracefs = needs->tracefs, .spec = needs->spec, .grant = needs->grant
        };

        int r = needs->spec->triggers[i].action == ACTION_HIST ? trace_check_sink(&trace, i, reason)
                                                               : 0;
        if (r != 0)
                return r;
        if (spec_trigger_is_counter(&needs->spec->triggers[i]) && trace_counts(&trace))
                return trace_check_counted(&trace, i, reason);
        if (find_probe(needs, event))
                return 0;
        return trace_check_trigger_known(
                        &top, &needs->spec->triggers[i], event->system, event->name, reason);
}

static int check_event(const Needs *needs, size_t i, Reason *reason) {
        const Probe *probe = find_probe(needs, &needs->grant->events[i]);
        Reason inner = {};

        if (!probe)
                return 0;
        int r = probe_is_pair(probe) ? pair_check_supported(needs->tracefs, &inner)
                                     : probe_check_supported(needs->tracefs, probe->kind, &inner);
        return r <= 0 ? r
                      : reason_set(reason, r, "probe %s: %s", probe->definition->name, inner.text);
}

static int check_need(const Needs *needs, size_t i, Reason *reason) {
        if (i < needs->grant->n_triggers)
                return check_trigger(needs, i, reason);
        i -= needs->grant->n_triggers;
        if (i < needs->grant->n_events)
                return check_event(needs, i, reason);
        return needs->spec->tracer ? tracer_check_known(needs->tracefs, needs->spec->tracer, reason)
                                   : 0;
}

int registry_check_kernel(Registry *registry,
                const Spec *spec,
                const Grant *grant,
                size_t *next,
                Reason *reason) {
        Needs needs = { .registry = registry, .spec = spec, .grant = grant };

        int r = registry_get_tracefs(registry, &needs.tracefs, reason);
        while (r == 0 && *next <= grant->n_triggers + grant->n_events)
                r = check_need(&needs, (*next)++, reason);
        return r;
}
