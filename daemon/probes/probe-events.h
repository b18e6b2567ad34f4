/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

typedef struct Registry Registry;

/* The probes of a spec as events of the kernel. This struct owns the names; the spec owns the
 * filters. */
typedef struct ProbeEvents {
        SpecEvent *events; /* with room for the spec's own events at the end */
        size_t n;
        Probe **probes;     /* n of them */
        PolicyProbe *sorts; /* of each probe */
        char **sources;     /* plain names of the kernel events that they use */
        size_t n_sources;
        uint64_t *numbers; /* sorted: numbers of the probes and of their origins */
        size_t n_numbers;
} ProbeEvents;

int probe_events_bind(ProbeSet *set,
                const Subject *subject,
                const Spec *spec,
                ProbeEvents *ret,
                Reason *reason);
void probe_events_clear(ProbeEvents *events);
/* Returns whether all of them are unchanged since they were bound. If not, pointers to them may be
 * stale. */
bool probe_events_stand(const ProbeSet *set, const ProbeEvents *events);
/* Resolves the probes among the events of a grant, which include probes that the spec names as
 * events. Returns 0 or PROBES_ABSENT. Called before probe_events_hold, in the same turn. */
int probe_events_prepare(ProbeSet *set, const Grant *grant);
/* Holds the probes of a grant: they stay in the kernel until they are released. */
int probe_events_hold(ProbeSet *set, const Grant *grant, Probe ***ret, size_t *ret_n);
void probe_events_release(Probe ***held, size_t *n);
