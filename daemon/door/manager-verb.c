/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs of the table of methods that are about no single session, except those about probes and
 * recordings: read the parameters and ask the session floor. */
#include "door/manager-verb.h"

#include <errno.h>

#include "door/admission.h"
#include "door/parameter.h"
#include "door/privilege.h"
#include "interfaces/defence.h"
#include "session/check.h"
#include "session/quota.h"
#include "session/registry-status.h"
#include "session/registry.h"
#include "session/session-state.h"
#include "session/visible-events.h"

int verb_create_session(MethodCall *call, Reason *reason) {
        _cleanup_spec_ Spec *spec = NULL;

        int r = method_call_wait(call, reason);
        r = r ?: parameter_read_spec(method_call_get(call, "spec"), &spec, reason);
        r = r ?: admission_create(call->desk, call->request, spec, reason);
        if (r == 0)
                spec = NULL; /* the session floor owns it now */
        return r;
}

int verb_check_session(MethodCall *call, Reason *reason) {
        _cleanup_(subject_clear) Subject asked = { .uid = (uid_t)-1 };
        _cleanup_spec_ Spec *spec = NULL;
        uid_t as_user;

        int r = method_call_wait(call, reason);
        r = r ?: parameter_read_question(method_call_get(call, "spec"), &spec, &as_user, reason);
        r = r ?: desk_find_asked(call->peer, as_user, &asked, reason);
        r = r ?: registry_check(call->desk->registry, call->request, &asked, spec, reason);
        if (r == 0)
                spec = NULL; /* the session floor owns it now */
        return r;
}

typedef struct Listing {
        json_object *list;
        int result;
} Listing;

static int manager_verb_put(json_object *object, const char *key, json_object *value) {
        if (value && json_object_object_add(object, key, value) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}

static void manager_verb_append_session(Session *session, void *userdata) {
        _cleanup_json_ json_object *object = json_object_new_object();
        const char *state = session_state_to_string(session_get_state(session));
        Listing *listing = userdata;
        int64_t uid = session_get_uid(session);

        int r = object ? listing->result : -ENOMEM;
        r = r ?: manager_verb_put(object, "id", json_object_new_string(session_get_id(session)));
        r = r
                            ?: manager_verb_put(object,
                                               "name",
                                               json_object_new_string(session_get_name(session)));
        r = r ?: manager_verb_put(object, "uid", json_object_new_int64(uid));
        r = r ?: manager_verb_put(object, "state", json_object_new_string(state));
        if (r == 0 && json_object_array_add(listing->list, object) < 0)
                r = -ENOMEM;
        if (r == 0)
                object = NULL; /* owned by the list */
        listing->result = r;
}

int verb_list_sessions(MethodCall *call, Reason *reason _unused_) {
        Listing listing = { .list = call->value = json_object_new_array() };

        if (!listing.list)
                return -ENOMEM;
        registry_visit(call->desk->registry,
                        &call->peer->subject,
                        desk_get_reach(call->peer),
                        manager_verb_append_session,
                        &listing);
        return listing.result;
}

int verb_get_session(MethodCall *call, Reason *reason) {
        const char *id = method_call_get_text(call, "id");
        Session *session = NULL;

        int r = desk_find_session(call->desk, call->peer, PURPOSE_MANAGE, id, &session, reason);
        if (r == 0)
                call->value = json_object_new_string(session_get_id(session));
        return r;
}

/* Consumes names. NULL: no memory. */
static json_object *make_list(char **names) {
        json_object *list = json_object_new_array();

        for (size_t i = 0; names && names[i]; i++) {
                json_object *name = json_object_new_string(names[i]);

                if (list && (!name || json_object_array_add(list, name) < 0)) {
                        json_object_put(name);
                        list = json_put_free(list);
                }
                free(names[i]);
        }
        free(names);
        return list;
}

int verb_list_events(MethodCall *call, Reason *reason) {
        char **names = NULL;

        int r = registry_list_events(call->desk->registry,
                        &call->peer->subject,
                        method_call_get_text(call, "glob"),
                        &names,
                        reason);
        if (r == 0)
                call->value = make_list(names);
        return r;
}

int verb_describe_event(MethodCall *call, Reason *reason) {
        return registry_describe_event(call->desk->registry,
                        &call->peer->subject,
                        method_call_get_text(call, "name"),
                        &call->value,
                        reason);
}

int verb_get_limits(MethodCall *call, Reason *reason _unused_) {
        return registry_describe_limits(
                        call->desk->registry, call->peer->subject.uid, &call->value);
}

int verb_get_status(MethodCall *call, Reason *reason _unused_) {
        return registry_describe_status(call->desk->registry, &call->peer->subject, &call->value);
}

int verb_reload(MethodCall *call, Reason *reason) {
        int r = method_call_wait(call, reason);

        return r ?: privilege_reload(call->desk, call->request, reason);
}

/* To watch the sessions of all users requires the right to see them. */
int verb_watch(MethodCall *call, Reason *reason) {
        const Peer *peer = call->peer;
        bool is_of_all = false;

        int r = parameter_read_flag(method_call_get(call, "options"), "all", &is_of_all, reason);
        if (r != 0)
                return r;
        if (!is_of_all || desk_get_reach(peer) == REACH_ALL || !defence_is_on("watch-all"))
                return watchers_add(call->desk->watchers,
                                peer->unique_name,
                                peer->subject.uid,
                                is_of_all,
                                reason);
        r = method_call_wait(call, reason);
        return r ?: privilege_watch_all(call->desk, call->request, reason);
}

int verb_administrate(MethodCall *call, Reason *reason) {
        int r = method_call_wait(call, reason);

        return r ?: privilege_administrate(call->desk, call->request, reason);
}
