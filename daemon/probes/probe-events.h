/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

typedef struct Registry Registry;

/* The probes of a spec as events of the kernel; names are its own, filters the spec's. */
typedef struct ProbeEvents {
        SpecEvent *events; /* with room for those of the spec behind them */
        size_t n;
        Probe **probes;    /* n of them */
        bool *of_programs; /* each of them: does it stand in one? */
        char **sources;    /* plain names of the kernel's events that they are made of */
        size_t n_sources;
        uint64_t *numbers; /* sorted: of the probes, and of the probes that those are made of */
        size_t n_numbers;
} ProbeEvents;

int probe_events_bind(ProbeSet *set,
                const Subject *subject,
                const Spec *spec,
                ProbeEvents *ret,
                Reason *reason);
void probe_events_clear(ProbeEvents *events);
/* Are they all as they were when they were bound? If not, pointers to them may be stale. */
bool probe_events_stand(const ProbeSet *set, const ProbeEvents *events);
/* Those of a grant, until they are released: they stay in the kernel. */
int probe_events_hold(ProbeSet *set, const Grant *grant, Probe ***ret, size_t *ret_n);
void probe_events_release(Probe ***held, size_t *n);
