/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a spec would get: CheckSession. The judgement is registry_judge's, by which sessions are
 * made; here it is only told. Where it says no, its parts are asked again one by one, so that the
 * caller learns of everything that stands against the spec and not of the first thing alone. Reads
 * formats of events, changes nothing, asks neither polkit nor after the processes: those are looked
 * at when a session starts. */

#include <errno.h>
#include <string.h>

#include "describe.h"
#include "event.h"
#include "registry.h"
#include "spec-trigger.h"
#include "trace-triggers.h"

/* A spec may have 4096 entries, and each is a decision of its own. */
#define REASONS_MAX 32
#define ENTRIES_MAX 256

int registry_judge(Registry *registry,
                const Subject *subject,
                const Spec *spec,
                Grant **ret,
                Reason *reason) {
        _cleanup_(grant_free_cleanup) Grant *grant = NULL;
        size_t next = 0, need = 0;

        int r = registry_decide(registry, subject, spec, &grant, reason);
        r = r ?: trace_check_fence(spec, grant, reason);
        r = r ?: trace_check_triggers(spec, grant, reason);
        r = r ?: registry_check_kernel(registry, spec, grant, &need, reason);
        r = r ?: registry_check_quota(registry, subject, spec, grant, &next, reason);
        if (r == 0)
                *ret = TAKE_PTR(grant);
        return r;
}

/* r and what went with it; each text once. */
static int add_reason(json_object *reasons, int r, const Reason *reason) {
        const char *text = reason->text[0] ? reason->text : error_get(r)->text;

        for (size_t i = 0; i < json_object_array_length(reasons); i++)
                if (strcmp(text, json_object_get_string(json_object_array_get_idx(reasons, i))) ==
                                0)
                        return 0;
        return describe_append(reasons, json_object_new_string(text));
}

/* What policy has against each entry of events, were it alone. */
static int add_entry_reasons(Registry *registry,
                const Subject *subject,
                const Spec *spec,
                json_object *reasons) {
        for (size_t i = 0; i < MIN_OF(spec->n_events, (size_t)ENTRIES_MAX); i++) {
                _cleanup_(grant_free_cleanup) Grant *grant = NULL;
                Reason reason = {};
                Spec one = *spec; /* shares all it points to, and is not freed */

                one.events = &spec->events[i];
                one.n_events = 1;
                one.n_probes = 0;
                one.n_triggers = 0;
                int r = registry_decide(registry, subject, &one, &grant, &reason);
                if (r > 0)
                        r = add_reason(reasons, r, &reason);
                if (r < 0)
                        return r;
                if (json_object_array_length(reasons) >= REASONS_MAX)
                        break;
        }
        return 0;
}

/* What this kernel cannot do. */
static int add_lacks(Registry *registry, const Spec *spec, const Grant *grant, json_object *lacks) {
        size_t next = 0;

        for (;;) {
                Reason reason = {};
                int r = registry_check_kernel(registry, spec, grant, &next, &reason);

                if (r > 0)
                        r = add_reason(lacks, r, &reason);
                else
                        return r;
                if (r < 0)
                        return r;
        }
}

/* What stands beside policy's yes. */
static int add_other_reasons(Registry *registry,
                const Subject *subject,
                const Spec *spec,
                const Grant *grant,
                json_object *reasons) {
        Reason reason = {};
        size_t next = 0;

        int r = trace_check_fence(spec, grant, &reason);
        if (r > 0)
                r = add_reason(reasons, r, &reason);
        reason = (Reason){};
        r = r ?: trace_check_triggers(spec, grant, &reason);
        if (r > 0)
                r = add_reason(reasons, r, &reason);
        r = r ?: add_lacks(registry, spec, grant, reasons);
        while (r == 0) {
                reason = (Reason){};
                r = registry_check_quota(registry, subject, spec, grant, &next, &reason);
                if (r == 0)
                        break;
                if (r > 0)
                        r = add_reason(reasons, r, &reason);
        }
        return r;
}

static int describe_event(Registry *registry,
                const Subject *subject,
                const Grant *grant,
                const GrantEvent *event,
                json_object *object) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        json_object *redacted = json_object_new_array();
        _cleanup_free_ char *name = NULL, *text = NULL;
        size_t size;

        int r = describe_put(object, "redacted", redacted);
        if (r == 0 && asprintf(&name, "%s:%s", event->system, event->name) < 0) {
                name = NULL;
                r = -ENOMEM;
        }
        r = r ?: describe_put(object, "name", json_object_new_string(name));
        if (r == 0 && event->filter)
                r = describe_put(object, "filter", json_object_new_string(event->filter));
        /* It may tell what a caller must not know. */
        if (r == 0 && event->policy_filter && subject->uid == 0)
                r = describe_put(object,
                                "policy-filter",
                                json_object_new_string(event->policy_filter));
        if (r < 0 || !(grant->fenced || grant->redacted))
                return r;
        r = registry_read_format(registry, event->system, event->name, &text, &size);
        r = r ?: format_parse(text, size, &format, NULL);
        return r ?: describe_cuts(grant, event, format, redacted);
}

static int describe_events(Registry *registry,
                const Subject *asker,
                const Grant *grant,
                json_object *events) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < grant->n_events; i++) {
                if (grant->events[i].is_unrecorded)
                        continue;
                json_object *object = json_object_new_object();

                r = describe_append(events, object);
                r = r ?: describe_event(registry, asker, grant, &grant->events[i], object);
        }
        return r;
}

/* Globs that were narrowed, and what it costs. */
static int describe_notes(const Grant *grant, json_object *notes) {
        int r = describe_cost(grant, notes);

        for (size_t i = 0; r == 0 && i < grant->n_requests; i++) {
                const GrantRequest *request = &grant->requests[i];
                Reason note;

                if (request->n_granted == request->n_matched)
                        continue;
                reason_set(&note,
                                0,
                                "%s: %zu of %zu events granted",
                                request->pattern,
                                request->n_granted,
                                request->n_matched);
                r = describe_append(notes, json_object_new_string(note.text));
        }
        return r;
}

static int describe_sources(const Grant *grant, json_object *sources) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < grant->n_sources; i++) {
                char name[512];

                (void)snprintf(name,
                                sizeof(name),
                                "%s:%s",
                                grant->sources[i].system,
                                grant->sources[i].name);
                r = describe_append(sources, json_object_new_string(name));
        }
        return r;
}

static int describe_trigger(const Spec *spec, const Grant *grant, size_t i, json_object *object) {
        const GrantTrigger *trigger = &grant->triggers[i];
        const SpecTrigger *wanted = &spec->triggers[i];

        int r = describe_put(object, "when", json_object_new_string(wanted->event));
        r = r
                            ?: describe_put(object,
                                               "do",
                                               json_object_new_string(spec_action_to_string(
                                                               wanted->action)));
        if (r == 0 && wanted->target)
                r = describe_put(object, "event", json_object_new_string(wanted->target));
        if (r == 0 && trigger->hist.command)
                r = describe_put(object, "hist", json_object_new_string(trigger->hist.command));
        if (r == 0 && trigger->filter)
                r = describe_put(object, "filter", json_object_new_string(trigger->filter));
        if (r == 0 && wanted->count > 0)
                r = describe_put(object, "count", json_object_new_uint64(wanted->count));
        return r;
}

static int describe_triggers(const Spec *spec, const Grant *grant, json_object *triggers) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < grant->n_triggers; i++) {
                json_object *object = json_object_new_object();

                r = describe_append(triggers, object);
                r = r ?: describe_trigger(spec, grant, i, object);
        }
        return r;
}

static int describe_grant(Registry *registry,
                const Subject *asker,
                const Spec *spec,
                const Grant *grant,
                json_object *object) {
        json_object *events = json_object_new_array(), *requests = json_object_new_array(),
                    *notes = json_object_new_array(), *sources = json_object_new_array(),
                    *triggers = json_object_new_array(), *lacks = json_object_new_array(),
                    *limits = NULL;

        int r = describe_put(object, "events", events);
        int r2 = describe_put(object, "requests", requests);
        int r3 = describe_put(object, "notes", notes);
        int r4 = describe_put(object, "sources", sources);
        int r5 = describe_put(object, "triggers", triggers);
        int r6 = describe_put(object, "lacks", lacks);
        r = r ?: r2 ?: r3 ?: r4 ?: r5 ?: r6;
        r = r ?: add_lacks(registry, spec, grant, lacks);
        r = r ?: describe_sources(grant, sources);
        r = r ?: describe_triggers(spec, grant, triggers);
        r = r ?: describe_put(object, "rule", json_object_new_string(grant->rule));
        r = r ?: describe_put(object, "polkit", json_object_new_string(grant->polkit_action ?: ""));
        r = r
                            ?: describe_put(object,
                                               "processes",
                                               json_object_new_string(
                                                               grant->fenced ? "own" : "any"));
        r = r ?: describe_events(registry, asker, grant, events);
        r = r ?: describe_requests(grant, requests);
        r = r ?: describe_notes(grant, notes);
        r = r ?: describe_limits(&grant->limits, &limits);
        return r ?: describe_put(object, "limits", limits);
}

static int describe_refusal(Registry *registry,
                const Subject *subject,
                const Spec *spec,
                const Grant *grant,
                json_object *reasons) {
        return grant ? add_other_reasons(registry, subject, spec, grant, reasons)
                     : add_entry_reasons(registry, subject, spec, reasons);
}

int registry_check(Registry *registry,
                const Subject *asker,
                const Subject *subject,
                const Spec *spec,
                json_object **ret,
                Reason *reason) {
        _cleanup_(grant_free_cleanup) Grant *grant = NULL, *judged = NULL;
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *reasons = json_object_new_array();
        _cleanup_free_ char *scope = NULL;
        const Tracefs *tracefs;
        Reason why = {};

        if (!object)
                return -ENOMEM;
        int r = describe_put(object, "reasons", reasons);
        r = r ?: spec_complete(spec, reason);
        r = r ?: registry_get_tracefs(registry, &tracefs, reason);
        r = r ?: spec_format_scope(spec, &scope);
        r = r ?: describe_put(object, "scope", json_object_new_string(scope));
        if (r != 0)
                return r;
        int judgement = registry_judge(registry, subject, spec, &judged, &why);
        if (judgement < 0)
                return judgement;
        /* What a refusal by a limit would have had. */
        r = registry_decide(registry, subject, spec, &grant, NULL);
        if (r < 0)
                return r;
        r = describe_put(object, "allowed", json_object_new_boolean(judgement == 0));
        if (r == 0 && grant)
                r = describe_grant(registry, asker, spec, grant, object);
        if (r == 0 && judgement != 0)
                r = describe_refusal(registry, subject, spec, grant, reasons);
        if (r == 0 && judgement != 0)
                r = add_reason(reasons, judgement, &why);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}
