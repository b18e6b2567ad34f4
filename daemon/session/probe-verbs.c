/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What callers do with probes: resolve a function, define, remove, list; and what a session's spec
 * makes of their names. Called by the doors and by visible-events.c in the event loop. Who may is
 * policy's, asked here first and answered alike for what exists and what does not. */

#include <errno.h>
#include <string.h>

#include "describe.h"
#include "probe-events.h"
#include "probe-origin.h"
#include "probe.h"
#include "quote.h"
#include "registry.h"

/* Of "[MODULE:]FUNCTION[+OFFSET]", as rules have it. With an offset it may stand in any other. */
static char *get_function(const char *on) {
        const char *colon = strchr(on, ':'), *name = colon ? colon + 1 : on;

        return strdup(strchr(name, '+') ? "" : name);
}

/* event: of a definition on one, else NULL. takes: 0 while that is not known yet. */
static int check_define(Registry *registry,
                const Subject *subject,
                const char *on,
                const char *event,
                unsigned takes,
                const char **ret_action,
                Reason *reason) {
        _cleanup_free_ char *name = get_function(on ?: "");
        const ProbeRequest request = {
                .function = event ? NULL : name, .is_derived = event != NULL, .takes = takes
        };

        if (!name)
                return -ENOMEM;
        return policy_decide_probe(registry->options.policy, subject, &request, ret_action, reason);
}

int registry_resolve_function(Registry *registry,
                const Subject *subject,
                const char *function,
                json_object **ret,
                Reason *reason) {
        const char *action; /* what may be defined is asked for when it is */
        const Tracefs *tracefs;

        int r = check_define(registry, subject, function, NULL, 0, &action, reason);
        r = r ?: registry_get_tracefs(registry, &tracefs, reason);
        return r
                               ?: probes_resolve_function(registry->probes->kernel,
                                                  tracefs,
                                                  function,
                                                  ret,
                                                  reason);
}

/* A definition of the subject's own that is resolved, by the rules of now. KT_E_AUTH_REQUIRED:
 * polkit has not been asked about it. */
static int check_own(Registry *registry,
                const Subject *subject,
                const Probe *probe,
                bool is_authorized,
                Reason *reason) {
        const char *action = NULL;

        int r = check_define(registry,
                        subject,
                        probe->definition->on,
                        probe->definition->event,
                        probe_get_takes(probe),
                        &action,
                        reason);
        if (r == 0 && action && !is_authorized)
                r = reason_set(reason, KT_E_AUTH_REQUIRED, "polkit has to allow this (%s)", action);
        return r;
}

/* The catalogue's by name; one's own while rules grant it, another's never. */
static bool may_use(Registry *registry, const Subject *subject, const Probe *probe) {
        const ProbeRequest request = { .entry = probe->definition->name };
        const char *action;

        if (subject->uid == 0)
                return true;
        if (!probe->source)
                return probe->uid == subject->uid &&
                       check_own(registry, subject, probe, probe->is_approved, NULL) == 0;
        return policy_decide_probe(registry->options.policy, subject, &request, &action, NULL) == 0;
}

static int refuse_absent(const char *name, Reason *reason) {
        return reason_set(reason,
                        KT_E_NO_SUCH_PROBE,
                        "%s: no such probe; 'ktracectl probes list' shows them",
                        quote(name).text);
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
                            ?: check_define(registry,
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
                r = check_own(registry,
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
        r = r ?: check_own(registry, &request->subject, probe, request->is_authorized, reason);
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
                return refuse_absent(name, reason);
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

/* List */

static int describe_fields(json_object *object, const ProbeForm *form) {
        json_object *fields = json_object_new_array();

        int r = describe_put(object, "fields", fields);
        for (size_t i = 0; r == 0 && form && i < form->n_fields; i++) {
                const ProbeField *field = &form->fields[i];
                json_object *entry = json_object_new_object();

                r = describe_append(fields, entry);
                r = r ?: describe_put(entry, "name", json_object_new_string(field->name));
                r = r ?: describe_put(entry, "type", json_object_new_string(field->type));
                r = r ?: describe_put(entry, "c-type", json_object_new_string(field->c_type ?: ""));
        }
        return r;
}

static int describe_counts(json_object *object, const Tracefs *tracefs, const Probe *probe) {
        uint64_t hits, misses;

        if (!probe_is_supported(tracefs, probe->kind) ||
                        probe_read_counts(tracefs, NULL, probe->definition->name, &hits, &misses) <
                                        0)
                return 0;
        int r = describe_put(object, "hits", json_object_new_uint64(hits));
        return r ?: describe_put(object, "misses", json_object_new_uint64(misses));
}

/* Who else uses what is the catalogue's is not everybody's business. */
static bool may_count(const Subject *subject, const Probe *probe) {
        return subject->uid == 0 || !probe->source;
}

/* "ready": its words are right; "defined": it stands in the kernel; "gone": it should. */
static int describe_state(json_object *object,
                const Tracefs *tracefs,
                const Subject *subject,
                const Probe *probe) {
        _cleanup_free_ char *stands = NULL;
        const char *state = "ready";

        if (probe->broken.text[0])
                state = "broken";
        else if (may_count(subject, probe) && probe_is_supported(tracefs, probe->kind)) {
                int r = probe_read(tracefs,
                                probe->kind,
                                probe->group,
                                probe->definition->name,
                                &stands);
                if (r < 0)
                        return r;
                if (stands)
                        state = "defined";
                else if (!probe->source || atomic_load(&probe->n_users) > 0)
                        state = "gone";
        }
        int r = describe_put(object, "state", json_object_new_string(state));
        if (r == 0 && stands && subject->uid == 0) /* they are of everybody's traces */
                r = describe_counts(object, tracefs, probe);
        return r;
}

static int describe_probe(json_object *object,
                const Tracefs *tracefs,
                const Subject *subject,
                Probe *probe) {
        const Definition *d = probe->definition;
        _cleanup_free_ char *event = NULL, *text = NULL;
        int r;

        if (asprintf(&event, "%s:%s", probe->group, d->name) < 0) {
                event = NULL;
                return -ENOMEM;
        }
        r = definition_to_text(d, &text);
        if (r == 0 && probe_resolve(probe, NULL) < 0) /* told by its state */
                r = -ENOMEM;
        r = r ?: describe_put(object, "name", json_object_new_string(d->name));
        r = r ?: describe_put(object, "event", json_object_new_string(event));
        r = r ?: describe_put(object, "about", json_object_new_string(d->about ?: ""));
        r = r ?: describe_put(object, "source", json_object_new_string(probe->source ?: ""));
        if (r == 0 && !probe->source)
                r = describe_put(object, "uid", json_object_new_uint64(probe->uid));
        r = r ?: describe_put(object, "definition", json_object_new_string(text));
        r = r ?: describe_put(object, "resolved", json_object_new_string(probe->line ?: ""));
        r = r ?: describe_put(object, "why", json_object_new_string(probe->broken.text));
        if (r == 0 && may_count(subject, probe))
                r = describe_put(object,
                                "users",
                                json_object_new_uint64(atomic_load(&probe->n_users)));
        r = r ?: describe_fields(object, probe->form);
        return r ?: describe_state(object, tracefs, subject, probe);
}

int registry_list_probes(Registry *registry,
                const Subject *subject,
                json_object **ret,
                Reason *reason) {
        _cleanup_json_ json_object *list = json_object_new_array();
        const Tracefs *tracefs;
        Probe *probe;

        int r = registry_get_tracefs(registry, &tracefs, reason);
        r = r ?: list ? 0 : -ENOMEM;
        TAILQ_FOREACH(probe, &registry->probes->list, probes) {
                json_object *object;

                if (r != 0)
                        break;
                if (probe->is_leaving || !may_use(registry, subject, probe))
                        continue;
                object = json_object_new_object();
                r = describe_append(list, object);
                r = r ?: describe_probe(object, tracefs, subject, probe);
        }
        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}

/* What a session makes of them */

void probe_events_clear(ProbeEvents *events) {
        for (size_t i = 0; i < events->n; i++)
                free(events->events[i].name);
        free(events->events);
        free(events->probes);
        free(events->sources);
        *events = (ProbeEvents){};
}

static int bind(Registry *registry,
                const Subject *subject,
                const char *name,
                Probe **ret_probe,
                char **ret,
                Reason *reason) {
        Probe *probe = probe_set_find(registry->probes, subject->uid, name);

        if (!probe || !may_use(registry, subject, probe))
                return refuse_absent(name, reason);
        int r = probe_resolve(probe, reason);
        if (r != 0)
                return r;
        if (asprintf(ret, "%s:%s", probe->group, probe->definition->name) < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        *ret_probe = probe;
        return 0;
}

int probe_events_bind(Registry *registry,
                const Subject *subject,
                const Spec *spec,
                ProbeEvents *ret,
                Reason *reason) {
        int r = 0;

        *ret = (ProbeEvents){};
        ret->events = calloc(spec->n_events + spec->n_probes + 1, sizeof(SpecEvent));
        ret->probes = calloc(spec->n_probes + 1, sizeof(Probe *));
        ret->sources = calloc(spec->n_probes + 1, sizeof(char *));
        if (!ret->events || !ret->probes || !ret->sources)
                r = -ENOMEM;
        for (size_t i = 0; r == 0 && i < spec->n_probes; i++) {
                SpecEvent *event = &ret->events[ret->n++];

                event->filter = spec->probes[i].filter; /* borrowed */
                r = bind(registry,
                                subject,
                                spec->probes[i].name,
                                &ret->probes[i],
                                &event->name,
                                reason);
                if (r == 0 && ret->probes[i]->origin)
                        ret->sources[ret->n_sources++] = ret->probes[i]->origin->full;
        }
        if (r != 0)
                probe_events_clear(ret);
        return r;
}

int probe_events_hold(Registry *registry, const Grant *grant, Probe ***ret, size_t *ret_n) {
        Probe **held = calloc(grant->n_events + 1, sizeof(Probe *));
        size_t n = 0;

        if (!held)
                return -ENOMEM;
        for (size_t i = 0; i < grant->n_events; i++) {
                const GrantEvent *event = &grant->events[i];
                Probe *probe = probe_set_find_event(registry->probes, event->system, event->name);

                if (!probe || probe_resolve(probe, NULL) != 0)
                        continue;
                probe_hold(probe);
                held[n++] = probe;
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
