/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The methods of org.ktrace1 that the bus has at the manager object, except those about probes:
 * read the parameters, find the caller, ask the session floor, answer. The table (varlink-door.c)
 * checks the types of the parameters. Any user may call each method; policy decides. */
#include "varlink/varlink-manager.h"

#include <errno.h>

#include "door/admission.h"
#include "door/parameter.h"
#include "door/privilege.h"
#include "session/check.h"
#include "session/quota.h"
#include "session/registry-status.h"
#include "session/registry.h"
#include "session/session-state.h"
#include "session/visible-events.h"
#include "varlink/methods.h"
#include "varlink/reply.h"
#include "varlink/varlink-door.h"

static void varlink_manager_answer_created(VarlinkCall *call, Request *request) {
        reply_value(call, "id", json_object_new_string(session_get_id(request->session)));
}

void varlink_create_session(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        _cleanup_spec_ Spec *spec = NULL;
        VarlinkDoor *door = userdata;
        Reason reason = { "" };

        int r = reply_later(
                        door, call, parameters, varlink_manager_answer_created, &request, &reason);
        if (r == 0)
                r = parameter_read_spec(json_object_object_get(parameters, "spec"), &spec, &reason);
        if (r == 0)
                r = admission_create(door->desk, request, spec, &reason);
        if (r != 0) {
                reply_refuse(call, r, &reason);
                return;
        }
        /* The session floor owns both now. */
        spec = NULL;
        request = NULL;
}

static void varlink_manager_answer_checked(VarlinkCall *call, Request *request) {
        reply_value(call, "decision", json_object_get(request->list));
}

void varlink_check_session(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_(subject_clear) Subject asked = { .uid = (uid_t)-1 };
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        _cleanup_spec_ Spec *spec = NULL;
        VarlinkDoor *door = userdata;
        json_object *object = json_object_object_get(parameters, "spec");
        Reason reason = { "" };
        uid_t as_user;

        int r = reply_later(
                        door, call, parameters, varlink_manager_answer_checked, &request, &reason);
        r = r ?: parameter_read_question(object, &spec, &as_user, &reason);
        r = r ?: desk_find_asked(visitor_get_peer(door, call), as_user, &asked, &reason);
        r = r ?: registry_check(door->desk->registry, request, &asked, spec, &reason);
        if (r != 0) {
                reply_refuse(call, r, &reason);
                return;
        }
        /* The session floor owns both now. */
        spec = NULL;
        request = NULL;
}

typedef struct Listing {
        json_object *list;
        int result;
} Listing;

static int varlink_manager_append_value(json_object *object, const char *key, json_object *value) {
        if (value && json_object_object_add(object, key, value) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}

static void varlink_manager_append_session(Session *session, void *userdata) {
        _cleanup_json_ json_object *object = json_object_new_object();
        const char *state = session_state_to_string(session_get_state(session));
        Listing *listing = userdata;

        int r = object ? listing->result : -ENOMEM;
        r = r
                            ?: varlink_manager_append_value(object,
                                               "id",
                                               json_object_new_string(session_get_id(session)));
        r = r
                            ?: varlink_manager_append_value(object,
                                               "name",
                                               json_object_new_string(session_get_name(session)));
        r = r
                            ?: varlink_manager_append_value(object,
                                               "uid",
                                               json_object_new_int64(session_get_uid(session)));
        r = r ?: varlink_manager_append_value(object, "state", json_object_new_string(state));
        if (r == 0 && json_object_array_add(listing->list, object) < 0)
                r = -ENOMEM;
        if (r == 0)
                object = NULL; /* owned by the list */
        listing->result = r;
}

void varlink_list_sessions(VarlinkCall *call, json_object *parameters _unused_, void *userdata) {
        VarlinkDoor *door = userdata;
        const Peer *peer = visitor_get_peer(door, call);
        Listing listing = { .list = json_object_new_array(),
                .result = peer ? 0 : KT_E_ACCESS_DENIED };

        if (!listing.list)
                listing.result = -ENOMEM;
        if (listing.result == 0)
                registry_visit(door->desk->registry,
                                &peer->subject,
                                desk_get_reach(peer),
                                varlink_manager_append_session,
                                &listing);
        reply_result(call, listing.result, "sessions", listing.list, NULL);
}

void varlink_get_session(VarlinkCall *call, json_object *parameters, void *userdata) {
        VarlinkDoor *door = userdata;
        const Peer *peer = visitor_get_peer(door, call);
        const char *id = methods_get_text(parameters, "id");
        Session *session = NULL;
        Reason reason = { "" };

        int r = desk_find_session(door->desk, peer, PURPOSE_MANAGE, id, &session, &reason);
        if (r == 0)
                reply_value(call, "id", json_object_new_string(session_get_id(session)));
        else
                reply_refuse(call, r, &reason);
}

/* Consumes names. */
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

void varlink_list_events(VarlinkCall *call, json_object *parameters, void *userdata) {
        VarlinkDoor *door = userdata;
        const Peer *peer = visitor_get_peer(door, call);
        Reason reason = { "" };
        char **names = NULL;

        int r = KT_E_ACCESS_DENIED;
        if (peer)
                r = registry_list_events(door->desk->registry,
                                &peer->subject,
                                methods_get_text(parameters, "glob"),
                                &names,
                                &reason);
        if (r == 0)
                reply_value(call, "names", make_list(names));
        else
                reply_refuse(call, r, &reason);
}

void varlink_describe_event(VarlinkCall *call, json_object *parameters, void *userdata) {
        VarlinkDoor *door = userdata;
        const Peer *peer = visitor_get_peer(door, call);
        json_object *event = NULL;
        Reason reason = { "" };

        int r = KT_E_ACCESS_DENIED;
        if (peer)
                r = registry_describe_event(door->desk->registry,
                                &peer->subject,
                                methods_get_text(parameters, "name"),
                                &event,
                                &reason);
        reply_result(call, r, "event", event, &reason);
}

void varlink_get_limits(VarlinkCall *call, json_object *parameters _unused_, void *userdata) {
        VarlinkDoor *door = userdata;
        const Peer *peer = visitor_get_peer(door, call);
        json_object *limits = NULL;

        int r = KT_E_ACCESS_DENIED;
        if (peer)
                r = registry_describe_limits(door->desk->registry, peer->subject.uid, &limits);
        reply_result(call, r, "limits", limits, NULL);
}

void varlink_get_status(VarlinkCall *call, json_object *parameters _unused_, void *userdata) {
        VarlinkDoor *door = userdata;
        const Peer *peer = visitor_get_peer(door, call);
        json_object *status = NULL;

        int r = KT_E_ACCESS_DENIED;
        if (peer)
                r = registry_describe_status(door->desk->registry, &peer->subject, &status);
        reply_result(call, r, "status", status, NULL);
}

typedef int (*Privileged)(Desk *desk, Request *request, Reason *reason);

static void varlink_manager_call_privileged(VarlinkDoor *door,
                VarlinkCall *call,
                json_object *parameters,
                Privileged ask) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Reason reason = { "" };

        int r = reply_later(door, call, parameters, reply_with_nothing, &request, &reason);
        r = r ?: ask(door->desk, request, &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                request = NULL; /* answered, or owned by polkit */
}

void varlink_reload(VarlinkCall *call, json_object *parameters, void *userdata) {
        varlink_manager_call_privileged(userdata, call, parameters, privilege_reload);
}

void varlink_administrate(VarlinkCall *call, json_object *parameters, void *userdata) {
        varlink_manager_call_privileged(userdata, call, parameters, privilege_administrate);
}
