/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CheckSession: reports what a spec would get. The judgement is the same as for a new session
 * (create.c). The decision collects every refusal of an entry, so that the caller learns of all
 * problems of the spec and not only of the first. The decision and the description take turns in
 * the event loop with other work. This file reads the formats of events and changes nothing. It
 * does not ask polkit, and it does not look at the processes: the start of a session does. */

#include "session/check.h"

#include <errno.h>
#include <string.h>

#include "base/describe.h"
#include "interfaces/spec-scope.h"
#include "interfaces/spec-trigger.h"
#include "policy/grant-describe.h"
#include "policy/grant-field.h"
#include "session/judgement.h"
#include "session/needs.h"
#include "session/quota.h"
#include "session/registry-idle.h"
#include "session/registry-tracefs.h"
#include "session/registry.h"
#include "session/visible-events.h"
#include "trace/trace-fence.h"
#include "trace/trace-triggers-check.h"
#include "trace/trace-triggers.h"

#define REASONS_MAX 32
/* Events that are described in one turn of the loop. */
#define EVENTS_PER_TURN         512
#define FORMATS_PARSED_PER_TURN 100

/* One call of CheckSession. */
typedef struct Check {
        Registry *registry;
        Request *request;
        Subject subject; /* the user whose rights are checked */
        Spec *spec;
        Judgement judgement;
        int result; /* of the whole judgement */
        Reason why;
        json_object *object, *reasons, *events; /* `reasons` and `events` are parts of `object` */
        json_object *cuts;                      /* see grant_describe_cuts */
        json_object *filter;                    /* of the last event that has one */
        size_t next_event;
        Plan plan;
} Check;

int registry_judge_rest(Registry *registry,
                const Subject *subject,
                const Spec *spec,
                const Grant *grant,
                Reason *reason) {
        size_t next = 0, need = 0;

        int r = trace_check_fence(spec, grant, reason);
        r = r ?: trace_check_triggers(spec, grant, reason);
        r = r ?: registry_check_kernel(registry, spec, grant, &need, reason);
        return r ?: registry_check_quota(registry, subject, spec, grant, &next, reason);
}

/* Adds r and its text. Each text is added once. */
static int add_reason(json_object *reasons, int r, const Reason *reason) {
        const char *text = reason->text[0] ? reason->text : error_get(r)->text;

        for (size_t i = 0; i < json_object_array_length(reasons); i++)
                if (strcmp(text, json_object_get_string(json_object_array_get_idx(reasons, i))) ==
                                0)
                        return 0;
        return describe_append(reasons, json_object_new_string(text));
}

static bool check_on_refusal(int result, const Reason *reason, void *userdata) {
        const Check *check = userdata;

        return add_reason(check->reasons, result, reason) == 0 &&
               json_object_array_length(check->reasons) < REASONS_MAX;
}

static void check_forget_reasons(void *userdata) {
        const Check *check = userdata;

        (void)json_object_array_del_idx(
                        check->reasons, 0, json_object_array_length(check->reasons));
}

/* Adds what this kernel cannot do. */
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

/* Adds the problems that remain after policy has allowed the spec. */
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

/* Most events of a glob have the same filter: they share one object. */
static int check_put_filter(Check *check, const char *filter, json_object *object) {
        if (!check->filter || strcmp(json_object_get_string(check->filter), filter) != 0) {
                json_object_put(check->filter);
                check->filter = json_object_new_string(filter);
        }
        return describe_put_new(object, "filter", json_object_get(check->filter));
}

static int describe_event(Check *check, const GrantEvent *event, json_object *object) {
        const Grant *grant = check->judgement.grant;
        json_object *redacted = json_object_new_array_ext(4);
        const Format *format;
        char name[512];

        int r = describe_put_new(object, "redacted", redacted);
        (void)snprintf(name, sizeof(name), "%s:%s", event->system, event->name);
        r = r ?: describe_put_new(object, "name", json_object_new_string(name));
        if (r == 0 && event->filter)
                r = check_put_filter(check, event->filter, object);
        /* Only root may see it, because the filter may contain data that the caller must not know.
         */
        if (r == 0 && event->policy_filter && check->request->subject.uid == 0)
                r = describe_put_new(object,
                                "policy-filter",
                                json_object_new_string(event->policy_filter));
        if (r < 0 || !(grant->fenced || grant->redacted))
                return r;
        r = registry_get_format(check->registry, event->system, event->name, &format);
        const char *also_of = r == 0 ? grant_get_also_of(grant, event, format) : NULL;
        if (also_of)
                r = describe_put_new(object, "also-of", json_object_new_string(also_of));
        return r ?: grant_describe_cuts(grant, event, format, check->cuts, redacted);
}

/* Describes some of the granted events in each turn. */
static int check_describe_events(Check *check) {
        const Grant *grant = check->judgement.grant;
        EventCache *events = check->registry->events;
        uint64_t n_parsed = event_cache_get_n_parsed(events);
        size_t end = check->next_event + EVENTS_PER_TURN;

        while (check->next_event < grant->n_events) {
                if (check->next_event == end || event_cache_get_n_parsed(events) - n_parsed >=
                                                                FORMATS_PARSED_PER_TURN)
                        return PLAN_AGAIN;
                const GrantEvent *event = &grant->events[check->next_event++];
                if (event->is_unrecorded)
                        continue;
                json_object *object = json_object_new_object();
                int r = describe_append(check->events, object);
                r = r ?: describe_event(check, event, object);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Adds the globs that were narrowed, and the cost. */
static int check_describe_notes(const Grant *grant, json_object *notes) {
        int r = grant_describe_cost(grant, notes);

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

static int check_put_text(json_object *object, const char *key, const char *text) {
        return describe_put(object, key, json_object_new_string(text));
}

/* *ret is owned by the object. */
static int check_put_list(json_object *object, const char *key, json_object **ret) {
        json_object *list = json_object_new_array();
        int r = describe_put(object, key, list);

        if (r == 0)
                *ret = list;
        return r;
}

/* Describes the whole grant except its events. Makes the list for them. */
static int describe_grant(Check *check) {
        json_object *object = check->object, *requests, *notes, *sources, *triggers, *lacks, *sinks,
                    *limits = NULL;
        const Grant *grant = check->judgement.grant;

        int r = check_put_list(object, "events", &check->events);
        r = r ?: check_put_list(object, "requests", &requests);
        r = r ?: check_put_list(object, "notes", &notes);
        r = r ?: check_put_list(object, "sources", &sources);
        r = r ?: check_put_list(object, "triggers", &triggers);
        r = r ?: check_put_list(object, "lacks", &lacks);
        r = r ?: check_put_list(object, "sinks", &sinks);
        r = r ?: grant_describe_sinks(grant, sinks);
        r = r ?: add_lacks(check->registry, check->spec, grant, lacks);
        r = r ?: describe_sources(grant, sources);
        r = r ?: describe_triggers(check->spec, grant, triggers);
        r = r ?: check_put_text(object, "rule", grant->rule);
        r = r ?: check_put_text(object, "polkit", grant->polkit_action ?: "");
        r = r ?: check_put_text(object, "processes", grant->fenced ? "own" : "any");
        r = r ?: grant_describe_requests(grant, requests);
        r = r ?: check_describe_notes(grant, notes);
        r = r ?: limits_describe(&grant->limits, &limits);
        return r ?: describe_put(object, "limits", limits);
}

static int check_decide(void *context, Reason *reason _unused_) {
        Check *check = context;

        int r = judgement_advance(&check->judgement, JUDGEMENT_WORK, &check->why);
        r = judgement_to_plan(&check->judgement, check->plan.uid, r);
        if (r == PLAN_AGAIN || r == PLAN_WAIT)
                return r;
        check->result = r;
        return MIN_OF(check->result, 0); /* a refusal is reported in the description */
}

/* Adds the problems of a spec that policy allows. */
static int check_rest(void *context, Reason *reason _unused_) {
        Check *check = context;
        const Grant *grant = check->judgement.grant;

        if (!grant)
                return 0;
        check->result = registry_judge_rest(
                        check->registry, &check->subject, check->spec, grant, &check->why);
        if (check->result < 0)
                return check->result;
        int r = check->result > 0 ? add_other_reasons(check->registry,
                                                    &check->subject,
                                                    check->spec,
                                                    grant,
                                                    check->reasons)
                                  : 0;
        return r ?: describe_grant(check);
}

static int check_describe(void *context, Reason *reason _unused_) {
        Check *check = context;
        int r = check->judgement.grant ? check_describe_events(check) : 0;

        if (r != 0)
                return r;
        if (check->result > 0)
                r = add_reason(check->reasons, check->result, &check->why);
        return r
                               ?: describe_put(check->object,
                                                  "allowed",
                                                  json_object_new_boolean(check->result == 0));
}

static Check *check_free(Check *check) {
        if (!check)
                return NULL;
        judgement_clear(&check->judgement);
        json_object_put(check->object);
        json_object_put(check->cuts);
        json_object_put(check->filter);
        subject_clear(&check->subject);
        spec_free(check->spec);
        free(check);
        return NULL;
}

DEFINE_CLEANUP(Check, check_free);

static void check_on_over(Plan *plan, int result, const Reason *reason) {
        _cleanup_(check_free_cleanup) Check *check = plan->userdata;
        Registry *registry = check->registry;
        Request *request = check->request;

        if (result == 0)
                request->list = TAKE_PTR(check->object);
        request->done(request, result, reason);
        registry_idle_changed(registry);
}

static int check_begin(Check *check, const Spec *spec) {
        _cleanup_free_ char *scope = NULL;

        check->object = json_object_new_object();
        check->cuts = json_object_new_object();
        if (!check->object || !check->cuts)
                return -ENOMEM;
        int r = check_put_list(check->object, "reasons", &check->reasons);
        r = r ?: spec_format_scope(spec, &scope);
        return r ?: check_put_text(check->object, "scope", scope);
}

int registry_check(Registry *registry,
                Request *request,
                const Subject *subject,
                Spec *spec,
                Reason *reason) {
        static const PlanStep steps[] = {
                { "decide", check_decide, NULL },
                { "rest", check_rest, NULL },
                { "describe", check_describe, NULL },
        };
        _cleanup_(check_free_cleanup) Check *check = calloc(1, sizeof(*check));

        if (!check)
                return -ENOMEM;
        int r = spec_complete(spec, reason);
        r = r ?: registry_get_tracefs(registry, NULL, reason);
        r = r ?: check_begin(check, spec);
        r = r ?: subject_copy(&check->subject, subject);
        if (r != 0)
                return r;
        check->registry = registry;
        check->request = request;
        check->spec = spec;
        judgement_init(&check->judgement, registry, &check->subject, spec);
        check->judgement.on_refusal = check_on_refusal;
        check->judgement.on_begin = check_forget_reasons;
        check->judgement.userdata = check;
        check->plan = (Plan){
                .uid = request->subject.uid,
                .context = check,
                .done = check_on_over,
                .userdata = check,
        };
        plan_init(&check->plan, steps, ELEMENTSOF(steps), NULL);
        turns_submit(registry->turns, &check->plan);
        check = NULL; /* owned by its plan */
        return 0;
}
