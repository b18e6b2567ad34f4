/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Turns the probes of a session's spec into events, and holds them. Called by visible-events.c and
 * session.c in the event loop. */

#include "probes/probe-events.h"

#include <errno.h>
#include <string.h>

#include "probes/probe-access.h"
#include "probes/probe-origin.h"

void probe_events_clear(ProbeEvents *events) {
        for (size_t i = 0; i < events->n; i++)
                free(events->events[i].name);
        free(events->events);
        free(events->probes);
        for (size_t i = 0; i < events->n_sources; i++)
                free(events->sources[i]);
        free(events->sources);
        free(events->sorts);
        free(events->numbers);
        *events = (ProbeEvents){};
}

static int bind(ProbeSet *set,
                const Subject *subject,
                const char *name,
                Probe **ret_probe,
                char **ret,
                Reason *reason) {
        Probe *probe = probe_set_find(set, subject->uid, name);

        if (probe && !probe->source && probe->uid == subject->uid && probe->look_failed.text[0])
                return probe_resolve(probe, reason);
        if (!probe || !probe_may_use(set, subject, probe))
                return probe_refuse_absent(set, subject, name, reason);
        int r = probe_resolve(probe, reason);
        r = r ?: probe_check_origins(set, subject, probe, reason);
        if (r != 0)
                return r;
        if (asprintf(ret, "%s:%s", probe->group, probe->definition->name) < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        *ret_probe = probe;
        return 0;
}

/* Returns whether the probe is in a program, or is made only of probes in programs. */
static bool is_of_program(const Probe *probe) {
        for (size_t i = 0; i < probe->n_origins; i++)
                if (!probe_origin_is_in_program(&probe->origins[i]))
                        return false;
        return probe->kind == PROBE_USER || probe->n_origins > 0;
}

static PolicyProbe describe_sort(const Probe *probe) {
        return (PolicyProbe){ .is_of_program = is_of_program(probe),
                .is_of_catalogue = probe->source != NULL,
                .is_derived = probe->kind == PROBE_EVENT };
}

static int probe_events_add_sources(ProbeEvents *events, const Probe *probe) {
        for (size_t i = 0; i < probe->n_origins; i++) {
                if (probe->origins[i].probe)
                        continue;
                events->sources[events->n_sources] = strdup(probe->origins[i].full);
                if (!events->sources[events->n_sources])
                        return -ENOMEM;
                events->n_sources++;
        }
        return 0;
}

static int probe_events_compare_numbers(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
}

static void add_numbers(ProbeEvents *events, const Probe *probe) {
        events->numbers[events->n_numbers++] = probe->number;
        for (size_t i = 0; i < probe->n_origins; i++)
                if (probe->origins[i].probe)
                        events->numbers[events->n_numbers++] = probe->origins[i].probe->number;
}

bool probe_events_stand(const ProbeSet *set, const ProbeEvents *events) {
        if (!probe_set_has_all(set, events->numbers, events->n_numbers))
                return false;
        for (size_t i = 0; i < events->n; i++)
                if (probe_is_pair(events->probes[i]) && events->probes[i]->n_origins == 0)
                        return false;
        return true;
}

int probe_events_bind(ProbeSet *set,
                const Subject *subject,
                const Spec *spec,
                ProbeEvents *ret,
                Reason *reason) {
        int r = 0;

        *ret = (ProbeEvents){};
        ret->events = calloc(spec->n_events + spec->n_probes + 1, sizeof(SpecEvent));
        ret->probes = calloc(spec->n_probes + 1, sizeof(Probe *));
        ret->sources = calloc(PROBE_ORIGINS_MAX * spec->n_probes + 1, sizeof(char *));
        ret->sorts = calloc(spec->n_probes + 1, sizeof(PolicyProbe));
        ret->numbers = calloc((1 + PROBE_ORIGINS_MAX) * spec->n_probes + 1, sizeof(uint64_t));
        if (!ret->events || !ret->probes || !ret->sources || !ret->sorts || !ret->numbers)
                r = -ENOMEM;
        for (size_t i = 0; r == 0 && i < spec->n_probes; i++) {
                SpecEvent *event = &ret->events[ret->n++];

                event->filter = spec->probes[i].filter; /* borrowed */
                event->is_off = spec->probes[i].is_off;
                r = bind(set, subject, spec->probes[i].name, &ret->probes[i], &event->name, reason);
                if (r == 0)
                        ret->sorts[i] = describe_sort(ret->probes[i]);
                if (r == 0)
                        add_numbers(ret, ret->probes[i]);
                r = r ?: probe_events_add_sources(ret, ret->probes[i]);
        }
        if (r != 0)
                probe_events_clear(ret);
        else
                qsort(ret->numbers, ret->n_numbers, sizeof(uint64_t), probe_events_compare_numbers);
        return r;
}

int probe_events_prepare(ProbeSet *set, const Grant *grant) {
        for (size_t i = 0; i < grant->n_events; i++) {
                const GrantEvent *event = &grant->events[i];
                Probe *probe;

                if (strncmp(event->system, PROBE_GROUP_PREFIX, strlen(PROBE_GROUP_PREFIX)) != 0)
                        continue;
                probe = probe_set_find_event(set, event->system, event->name);
                if (probe && probe_resolve(probe, NULL) == PROBES_ABSENT)
                        return PROBES_ABSENT;
        }
        return 0;
}

static void probe_events_hold_one(Probe *probe, Probe **held, size_t *n) {
        for (size_t i = 0; i < *n; i++)
                if (held[i] == probe)
                        return;
        probe_hold(probe);
        held[(*n)++] = probe;
}

int probe_events_hold(ProbeSet *set, const Grant *grant, Probe ***ret, size_t *ret_n) {
        Probe **held = calloc((1 + PROBE_ORIGINS_MAX) * grant->n_events + 1, sizeof(Probe *));
        size_t n = 0;

        if (!held)
                return -ENOMEM;
        for (size_t i = 0; i < grant->n_events; i++) {
                const GrantEvent *event = &grant->events[i];
                Probe *probe = probe_set_find_event(set, event->system, event->name);

                if (!probe || probe_resolve(probe, NULL) != 0)
                        continue;
                probe_events_hold_one(probe, held, &n);
                for (size_t k = 0; k < probe->n_origins; k++)
                        if (probe->origins[k].probe)
                                probe_events_hold_one(probe->origins[k].probe, held, &n);
        }
        *ret = held;
        *ret_n = n;
        return 0;
}

void probe_events_release(Probe ***held, size_t *n) {
        for (size_t i = 0; i < *n; i++)
                probe_release((*held)[i]);
        free(*held);
        *held = NULL;
        *n = 0;
}
