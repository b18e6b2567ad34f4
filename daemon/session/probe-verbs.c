/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What callers do with probes: resolve a function, define, remove. Called by the doors in the event
 * loop. Who may is probe-access.c's, asked first and answered alike for what exists and what does
 * not. */

#include <errno.h>
#include <string.h>

#include "probe-access.h"
#include "probe-origin.h"
#include "registry.h"

int registry_resolve_function(Registry *registry,
                const Subject *subject,
                const char *function,
                json_object **ret,
                Reason *reason) {
        const char *action; /* what may be defined is asked for when it is */
        const Tracefs *tracefs;

        int r = probe_check_define(registry, subject, function, NULL, 0, &action, reason);
        r = r ?: registry_get_tracefs(registry, &tracefs, reason);
        return r
                               ?: probes_resolve_function(registry->probes->kernel,
                                                  tracefs,
                                                  function,
                                                  ret,
                                                  reason);
}

static size_t count_own(const ProbeSet *set, uid_t uid) {
        const Probe *probe;
        size_t n = 0;

        TAILQ_FOREACH(probe, &set->list, probes)
        n += !probe->source && probe->uid == uid;
        return n;
}

static Probe *find_own(ProbeSet *set, uid_t uid, const char *name) {
        Probe *probe = probe_set_find(set, uid, name);

        /* root may name anybody's by its group. */
        return probe && !probe->source && (probe->uid == uid || uid == 0) ? probe : NULL;
}

/* One that is there already: the same is shared, another of its name is not taken. */
static int add_again(Probe *probe, Request *request, Definition *definition, Reason *reason) {
        if (!definition_is_same(probe->definition, definition))
                return reason_set(reason,
                                KT_E_NAME_TAKEN,
                                "probe %s is defined otherwise: remove it first, or choose another "
                                "name",
                                definition->name);
        if (probe->in_plan)
                return reason_set(reason,
                                KT_E_BUSY,
                                "probe %s: another call about it is under way",
                                definition->name);
        definition_free(definition);
        probe_submit_define(probe, request);
        return 0;
}

static int check_event(Registry *registry,
                const Tracefs *tracefs,
                const Subject *subject,
                const char *event,
                Reason *reason) {
        PolicyView view = policy_get_view(registry->options.policy, subject);

        return probe_origin_check_view(tracefs, &view, event, reason);
}

int registry_add_probe(Registry *registry,
                Request *request,
                Definition *definition,
                Reason *reason) {
        ProbeSet *set = registry->probes;
        uid_t uid = request->subject.uid;
        const Tracefs *tracefs = NULL;
        const char *action;
        Probe *probe;

        /* Before anything is looked up: what is refused is so whether it exists or not. */
        int r = definition_complete(definition, reason);
        r = r
                            ?: probe_check_define(registry,
                                               &request->subject,
                                               definition->on,
                                               definition->event,
                                               0,
                                               &action,
                                               reason);
        r = r ?: registry_get_tracefs(registry, &tracefs, reason);
        if (r == 0 && definition->event)
                r = check_event(registry, tracefs, &request->subject, definition->event, reason);
        if (r != 0)
                return r;
        probe = find_own(set, uid, definition->name);
        if (probe)
                r = probe_check_own(registry,
                                &request->subject,
                                probe,
                                request->is_authorized || probe->is_approved,
                                reason);
        if (r != 0)
                return r;
        if (probe)
                return add_again(probe, request, definition, reason);
        if (count_own(set, uid) >= PROBE_SET_MAX)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "you have %d probes, which is the most: remove some",
                                PROBE_SET_MAX);
        r = probe_set_add(set, definition, uid, NULL, &probe);
        r = r ?: probe_resolve(probe, reason);
        r = r
                            ?: probe_check_own(registry,
                                               &request->subject,
                                               probe,
                                               request->is_authorized,
                                               reason);
        if (r != 0) {
                probe->definition = NULL; /* the caller's still */
                probe_free(probe);
                return r;
        }
        probe->is_approved = request->is_authorized;
        probe_submit_define(probe, request);
        return 0;
}

int registry_remove_probe(Registry *registry, Request *request, const char *name, Reason *reason) {
        Probe *probe = find_own(registry->probes, request->subject.uid, name);
        if (!probe)
                return probe_refuse_absent(name, reason);
        unsigned n = atomic_load(&probe->n_users);
        if (n > 0 || probe->in_plan)
                return reason_set(reason,
                                KT_E_BUSY,
                                "probe %s: %u session%s it, whose records would be lost: end %s first",
                                probe->definition->name,
                                n,
                                n == 1 ? " has" : "s have",
                                n == 1 ? "that" : "them");
        probe_submit_remove(probe, request);
        return 0;
}
