/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes a decision as JSON, with parts that only the daemon may know. It is a part of the state of
 * a session that survives a restart. Then it is compared with the rules of that time. Limits are
 * left out: those of the current rules count. A member that is added to Grant must be added here,
 * as in policy/same.c. */

#include "session/keep-grant.h"

#include <errno.h>

#include "base/describe.h"
#include "interfaces/defence.h"
#include "interfaces/json.h"
#include "policy/grant-describe.h"
#include "session/keep.h"

static int keep_grant_add_text(json_object *object, const char *key, const char *text) {
        return text ? describe_put(object, key, json_object_new_string(text)) : 0;
}

static int add_texts(json_object *object, const char *key, char *const *texts, size_t n) {
        json_object *list = json_object_new_array();

        int r = describe_put(object, key, list);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = describe_append(list, json_object_new_string(texts[i]));
        return r;
}

static int append_member(json_object *list, const GrantMember *member) {
        json_object *object = json_object_new_object();

        int r = describe_append(list, object);
        r = r ?: keep_grant_add_text(object, "pid", member->pid_field);
        return r ?: add_texts(object, "fields", member->fields, member->n_fields);
}

static int keep_grant_append_event(json_object *list, const GrantEvent *event) {
        json_object *object = json_object_new_object(), *members;

        int r = describe_append(list, object);
        r = r ?: keep_grant_add_text(object, "system", event->system);
        r = r ?: keep_grant_add_text(object, "name", event->name);
        r = r ?: keep_grant_add_text(object, "filter", event->filter);
        r = r ?: keep_grant_add_text(object, "policy-filter", event->policy_filter);
        r = r ?: describe_put(object, "off", json_object_new_boolean(event->is_off));
        r = r ?: describe_put(object, "unrecorded", json_object_new_boolean(event->is_unrecorded));
        r = r ?: describe_put(object, "others", json_object_new_boolean(event->speaks_of_others));
        r = r ?: describe_put(object, "program", json_object_new_boolean(event->is_of_program));
        r = r ?: add_texts(object, "keep", event->keep, event->n_keep);
        r = r ?: add_texts(object, "cut", event->cut, event->n_cut);
        if (r == 0 && event->n_keys > 0)
                r = add_texts(object, "keys", event->keys, event->n_keys);
        if (r == 0) {
                members = json_object_new_array();
                r = describe_put(object, "members", members);
        }
        for (size_t i = 0; r == 0 && i < event->n_members; i++)
                r = append_member(members, &event->members[i]);
        return r ?: keep_grant_add_text(object, "also-of", event->also_of);
}

static int keep_grant_add_events(json_object *object,
                const char *key,
                const GrantEvent *events,
                size_t n) {
        json_object *list = json_object_new_array();

        int r = describe_put(object, key, list);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = keep_grant_append_event(list, &events[i]);
        return r;
}

static int keep_grant_add_triggers(json_object *object, const Grant *grant) {
        json_object *list = json_object_new_array();

        int r = describe_put(object, "triggers", list);
        for (size_t i = 0; r == 0 && i < grant->n_triggers; i++) {
                const GrantTrigger *trigger = &grant->triggers[i];
                json_object *entry = json_object_new_object();

                r = describe_append(list, entry);
                r = r ?: describe_put(entry, "event", json_object_new_uint64(trigger->event));
                r = r ?: describe_put(entry, "target", json_object_new_uint64(trigger->target));
                r = r ?: keep_grant_add_text(entry, "filter", trigger->filter);
                r = r ?: keep_grant_add_text(entry, "hist", trigger->hist.command);
        }
        return r;
}

/* A session of an earlier version, which has no such member, has all sinks. */
static int keep_grant_add_sinks(json_object *object, const Grant *grant) {
        json_object *list = json_object_new_array();

        int r = describe_put(object, "sinks", list);
        return r ?: grant_describe_sinks(grant, list);
}

int keep_make_grant(const Grant *grant, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *requests = NULL;

        if (!object)
                return -ENOMEM;
        int r = keep_grant_add_text(object, "rule", grant->rule);
        r = r ?: describe_put(object, "fenced", json_object_new_boolean(grant->fenced));
        r = r ?: describe_put(object, "redacted", json_object_new_boolean(grant->redacted));
        r = r ?: describe_put(object, "addresses", json_object_new_int(grant->addresses));
        r = r ?: describe_put(object, "allow-setuid", json_object_new_boolean(grant->allow_setuid));
        r = r ?: keep_grant_add_text(object, "polkit", grant->polkit_action);
        if (r == 0 && grant->sinks != GRANT_SINKS_ALL && defence_is_on("sinks"))
                r = keep_grant_add_sinks(object, grant);
        r = r ?: keep_grant_add_events(object, "events", grant->events, grant->n_events);
        r = r ?: keep_grant_add_events(object, "sources", grant->sources, grant->n_sources);
        r = r ?: keep_grant_add_triggers(object, grant);
        if (r == 0) {
                requests = json_object_new_array();
                r = describe_put(object, "requests", requests);
        }
        r = r ?: grant_describe_requests(grant, requests);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}
