/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Policy's decision on a spec, with the events that the kernel has now. create.c, check.c and
 * reload.c call it with a part of the work in each turn of the event loop. adopt.c calls it for an
 * immediate answer.
 *
 * The rules, and the probes of the spec, may change between two parts. Then the judgement begins
 * again. Changes by other users to their own probes do not matter to it. Events and their formats
 * may also change, as they may after the decision. A probe of the spec may require the kernel's
 * functions, which are read in the worker thread. Then the judgement begins again after that. */

#include "session/judgement.h"

#include <errno.h>
#include <string.h>

#include "kernel/event.h"
#include "kernel/release.h"
#include "policy/grant.h"
#include "probes/probe-origin.h"
#include "session/registry-tracefs.h"
#include "session/registry.h"
#include "session/visible-events.h"

static int judgement_compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Joins the probes of the spec to the names of the kernel's events. The probes are defined in the
 * kernel only when its instance is made. */
static int judgement_join_probes(Judgement *judgement) {
        const ProbeEvents *probes = &judgement->probes;
        const EventList *list = judgement->known->list;
        size_t n = list->n_names;

        const char **names = judgement->names = calloc(n + probes->n + 1, sizeof(char *));
        if (!names)
                return -ENOMEM;
        memcpy(names, list->names, n * sizeof(char *));
        for (size_t i = 0; i < probes->n; i++)
                if (!event_list_has(list, probes->events[i].name))
                        names[n++] = probes->events[i].name; /* borrowed */
        if (n > list->n_names)
                qsort(names, n, sizeof(char *), judgement_compare_names);
        judgement->events.names = names;
        judgement->events.n_names = n;
        return 0;
}

static int get_format(const char *system, const char *name, const Format **ret, void *userdata) {
        const Judgement *judgement = userdata;
        EventCache *events = judgement->registry->events;
        uint64_t n_parsed = event_cache_get_n_parsed(events);

        int r = registry_get_format(judgement->registry, system, name, ret);
        return r ?: event_cache_get_n_parsed(events) > n_parsed;
}

static bool judgement_on_refusal(int result, const Reason *reason, void *userdata) {
        const Judgement *judgement = userdata;

        return judgement->on_refusal(result, reason, judgement->userdata);
}

void judgement_init(Judgement *judgement,
                Registry *registry,
                const Subject *subject,
                const Spec *spec) {
        *judgement = (Judgement){ .registry = registry, .subject = subject, .spec = spec };
        TAILQ_INSERT_TAIL(&registry->judgements, judgement, others);
}

static void judgement_forget(Judgement *judgement) {
        judgement->decision = decision_free(judgement->decision);
        judgement->known = known_events_unref(judgement->known);
        free(judgement->names);
        judgement->names = NULL;
        probe_events_clear(&judgement->probes);
        judgement->grant = grant_free(judgement->grant);
}

void judgement_clear(Judgement *judgement) {
        if (!judgement->registry)
                return;
        TAILQ_REMOVE(&judgement->registry->judgements, judgement, others);
        judgement_forget(judgement);
        judgement->registry = NULL;
}

void judgement_restart_all(Registry *registry) {
        Judgement *judgement;

        TAILQ_FOREACH(judgement, &registry->judgements, others)
                if (!judgement->grant)
                        judgement_forget(judgement);
}

static int judgement_bind_probes(Judgement *judgement, Reason *reason) {
        ProbeEvents *probes = &judgement->probes;
        const Spec *spec = judgement->spec;

        int r = probe_events_bind(
                        judgement->registry->probes, judgement->subject, spec, probes, reason);
        if (r != 0)
                return r;
        for (size_t i = 0; i < spec->n_events; i++)
                probes->events[probes->n + i] = spec->events[i];
        judgement->whole = *spec; /* shares all pointers, and is not freed */
        judgement->whole.events = probes->events;
        judgement->whole.n_events = probes->n + spec->n_events;
        return 0;
}

static int judgement_begin(Judgement *judgement, Reason *reason) {
        Registry *registry = judgement->registry;
        const Tracefs *tracefs;
        KnownEvents *known;

        judgement_forget(judgement);
        if (judgement->on_begin)
                judgement->on_begin(judgement->userdata);
        int r = registry_get_tracefs(registry, &tracefs, reason);
        r = r ?: judgement_bind_probes(judgement, reason);
        r = r ?: event_cache_refresh(registry->events, tracefs, &known);
        if (r != 0)
                return r;
        judgement->known = known_events_ref(known);
        judgement->events = (PolicyEvents){
                .names = known->list->names,
                .n_names = known->list->n_names,
                .get_format = get_format,
                .on_refusal = judgement->on_refusal ? judgement_on_refusal : NULL,
                .userdata = judgement,
                .n_probes = judgement->probes.n,
                .probes = judgement->probes.sorts,
                .sources = (const char *const *)judgement->probes.sources,
                .n_sources = judgement->probes.n_sources,
                .n_cpus = kernel_is_at_least(6, 6) ? (unsigned)registry->n_cpus : 0,
                .has_functions = kernel_is_at_least(6, 3),
                .limits = &registry->options.limits,
        };
        r = judgement->probes.n > 0 ? judgement_join_probes(judgement) : 0;
        return r
                               ?: decision_new(registry->options.policy,
                                                  judgement->subject,
                                                  &judgement->whole,
                                                  &judgement->events,
                                                  &judgement->decision);
}

int judgement_advance(Judgement *judgement, int64_t work, Reason *reason) {
        if (!probe_events_stand(judgement->registry->probes, &judgement->probes))
                judgement_forget(judgement);
        int r = judgement->decision ? 0 : judgement_begin(judgement, reason);

        r = r ?: decision_advance(judgement->decision, work, reason);
        if (r != 0)
                return r;
        judgement->grant = decision_take_grant(judgement->decision);
        for (size_t i = 0; r == 0 && i < judgement->probes.n; i++)
                r = probe_origin_judge(judgement->registry->tracefs,
                                judgement->grant,
                                judgement->probes.probes[i],
                                reason);
        r = r ?: probe_events_prepare(judgement->registry->probes, judgement->grant);
        if (r == PROBES_ABSENT)
                judgement_forget(judgement);
        else if (r != 0)
                judgement->grant = grant_free(judgement->grant);
        return r;
}

int judgement_to_plan(const Judgement *judgement, uid_t uid, int r) {
        return r == DECISION_AGAIN ? PLAN_AGAIN
                                   : probe_set_await(judgement->registry->probes, uid, r);
}

int registry_decide(Registry *registry,
                const Subject *subject,
                const Spec *spec,
                Grant **ret,
                Reason *reason) {
        _cleanup_(judgement_clear) Judgement judgement;

        judgement_init(&judgement, registry, subject, spec);
        int r = judgement_advance(&judgement, INT64_MAX, reason);
        if (r == PROBES_ABSENT) {
                probes_load_now(registry->probes->kernel, registry->tracefs);
                r = judgement_advance(&judgement, INT64_MAX, reason);
        }
        if (r == 0)
                *ret = TAKE_PTR(judgement.grant);
        return r;
}
