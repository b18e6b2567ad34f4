/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The object /org/ktrace1 with the interface org.ktrace1.Manager: read the arguments, find the
 * caller, ask the session floor, answer. Documented in interfaces/org.ktrace1.Manager.xml; a test
 * compares that file with this one. Only the version is a property, because any user who may call
 * can read properties. Any user may call each method; policy decides. */
#include "bus/manager-object.h"

#include <errno.h>
#include <string.h>

#include "bus/arguments.h"
#include "bus/call.h"
#include "bus/probe-methods.h"
#include "bus/spool-methods.h"
#include "door/admission.h"
#include "door/parameter.h"
#include "door/privilege.h"
#include "session/check.h"
#include "session/quota.h"
#include "session/registry-status.h"
#include "session/registry.h"
#include "session/session-state.h"
#include "session/visible-events.h"

static int get_version(sd_bus *bus,
                const char *path,
                const char *interface,
                const char *property,
                sd_bus_message *reply,
                void *userdata,
                sd_bus_error *ret_error) {
        return sd_bus_message_append(reply, "s", KT_VERSION);
}

static int manager_object_answer_created(sd_bus_message *m, Request *request) {
        _cleanup_free_ char *path = NULL;
        const char *id = session_get_id(request->session);

        if (asprintf(&path, "%s/%s", KT_SESSION_PREFIX, id) < 0) {
                path = NULL;
                return call_refuse(m, -ENOMEM, NULL);
        }
        return sd_bus_reply_method_return(m, "so", id, path);
}

static int method_create_session(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = NULL;
        Door *door = userdata;
        Reason reason = { "" };
        int r;

        r = call_new(door, m, manager_object_answer_created, &request, &reason);
        if (r == 0)
                r = arguments_read_object(m, &object, &reason);
        if (r == 0)
                r = parameter_read_spec(object, &spec, &reason);
        if (r == 0)
                r = admission_create(door->desk, request, spec, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        /* The session floor owns both now. */
        spec = NULL;
        request = NULL;
        return 1;
}

static int manager_object_answer_checked(sd_bus_message *m, Request *request) {
        return call_reply_json(m, 0, request->list, NULL);
}

static int method_check_session(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(subject_clear) Subject asked = { .uid = (uid_t)-1 };
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = NULL;
        Door *door = userdata;
        Reason reason = { "" };
        uid_t as_user;
        int r;

        r = call_new(door, m, manager_object_answer_checked, &request, &reason);
        if (r == 0)
                r = arguments_read_object(m, &object, &reason);
        if (r == 0)
                r = parameter_read_question(object, &spec, &as_user, &reason);
        if (r == 0)
                r = desk_find_asked(call_get_peer(door, m), as_user, &asked, &reason);
        if (r == 0)
                r = registry_check(door->desk->registry, request, &asked, spec, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        /* The session floor owns both now. */
        spec = NULL;
        request = NULL;
        return 1;
}

typedef struct Listing {
        sd_bus_message *reply;
        int result;
} Listing;

static void manager_object_append_session(Session *session, void *userdata) {
        _cleanup_free_ char *path = NULL;
        Listing *listing = userdata;

        if (listing->result < 0)
                return;
        if (asprintf(&path, "%s/%s", KT_SESSION_PREFIX, session_get_id(session)) < 0) {
                path = NULL;
                listing->result = -ENOMEM;
                return;
        }
        listing->result = sd_bus_message_append(listing->reply,
                        "(sosus)",
                        session_get_id(session),
                        path,
                        session_get_name(session),
                        (uint32_t)session_get_uid(session),
                        session_state_to_string(session_get_state(session)));
}

static int list_sessions(Door *door, const Peer *peer, sd_bus_message *reply) {
        Listing listing = { .reply = reply };
        int r;

        r = sd_bus_message_open_container(reply, SD_BUS_TYPE_ARRAY, "(sosus)");
        if (r < 0)
                return r;
        registry_visit(door->desk->registry,
                        &peer->subject,
                        desk_get_reach(peer),
                        manager_object_append_session,
                        &listing);
        if (listing.result < 0)
                return listing.result;
        return sd_bus_message_close_container(reply);
}

static int method_list_sessions(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Door *door = userdata;
        const Peer *peer = call_get_peer(door, m);
        sd_bus_message *reply = NULL;
        int r;

        if (!peer)
                return call_refuse(m, KT_E_ACCESS_DENIED, NULL);
        r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = list_sessions(door, peer, reply);
        r = r < 0 ? call_refuse(m, r, NULL) : sd_bus_message_send(reply);
        sd_bus_message_unref(reply);
        return r;
}

static int method_get_session(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_free_ char *path = NULL;
        Door *door = userdata;
        const Peer *peer = call_get_peer(door, m);
        Session *session = NULL;
        Reason reason = { "" };
        const char *id;
        int r;

        r = sd_bus_message_read(m, "s", &id);
        if (r < 0)
                return call_refuse(m, r, NULL);
        if (!peer)
                return call_refuse(m, KT_E_ACCESS_DENIED, NULL);
        r = desk_find_session(door->desk, peer, PURPOSE_MANAGE, id, &session, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        if (asprintf(&path, "%s/%s", KT_SESSION_PREFIX, id) < 0) {
                path = NULL;
                return call_refuse(m, -ENOMEM, NULL);
        }
        return sd_bus_reply_method_return(m, "o", path);
}

static void strv_cleanup(char ***names) {
        for (char **name = *names; name && *name; name++)
                free(*name);
        free(*names);
}

static int method_list_events(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(strv_cleanup) char **names = NULL;
        Door *door = userdata;
        const Peer *peer = call_get_peer(door, m);
        sd_bus_message *reply = NULL;
        Reason reason = { "" };
        const char *glob;
        int r;

        r = sd_bus_message_read(m, "s", &glob);
        if (r < 0)
                return call_refuse(m, r, NULL);
        if (!peer)
                return call_refuse(m, KT_E_ACCESS_DENIED, NULL);
        r = registry_list_events(door->desk->registry, &peer->subject, glob, &names, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        r = sd_bus_message_new_method_return(m, &reply);
        if (r >= 0)
                r = sd_bus_message_append_strv(reply, names);
        r = r < 0 ? call_refuse(m, r, NULL) : sd_bus_message_send(reply);
        sd_bus_message_unref(reply);
        return r;
}

static int method_describe_event(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_json_ json_object *o = NULL;
        Door *door = userdata;
        const Peer *peer = call_get_peer(door, m);
        Reason reason = { "" };
        const char *name;
        int r;

        r = sd_bus_message_read(m, "s", &name);
        if (r < 0)
                return call_refuse(m, r, NULL);
        if (!peer)
                return call_refuse(m, KT_E_ACCESS_DENIED, NULL);
        r = registry_describe_event(door->desk->registry, &peer->subject, name, &o, &reason);
        return call_reply_json(m, r, o, &reason);
}

static int method_get_limits(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_json_ json_object *o = NULL;
        Door *door = userdata;
        const Peer *peer = call_get_peer(door, m);
        int r;

        if (!peer)
                return call_refuse(m, KT_E_ACCESS_DENIED, NULL);
        r = registry_describe_limits(door->desk->registry, peer->subject.uid, &o);
        return call_reply_json(m, r, o, NULL);
}

static int method_get_status(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_json_ json_object *o = NULL;
        Door *door = userdata;
        const Peer *peer = call_get_peer(door, m);
        int r;

        if (!peer)
                return call_refuse(m, KT_E_ACCESS_DENIED, NULL);
        r = registry_describe_status(door->desk->registry, &peer->subject, &o);
        return call_reply_json(m, r, o, NULL);
}

typedef int (*Privileged)(Desk *desk, Request *request, Reason *reason);

static int manager_object_call_privileged(Door *door, sd_bus_message *m, Privileged ask) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Reason reason = { "" };
        int r;

        r = call_new(door, m, call_reply_empty, &request, &reason);
        if (r == 0)
                r = ask(door->desk, request, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL; /* answered, or owned by polkit */
        return 1;
}

static int method_reload(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        return manager_object_call_privileged(userdata, m, privilege_reload);
}

static int method_administrate(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        return manager_object_call_privileged(userdata, m, privilege_administrate);
}

static const sd_bus_vtable manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_METHOD_WITH_ARGS("CreateSession",
                        SD_BUS_ARGS("a{sv}", spec),
                        SD_BUS_RESULT("s", id, "o", path),
                        method_create_session,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("CheckSession",
                        SD_BUS_ARGS("a{sv}", spec),
                        SD_BUS_RESULT("a{sv}", decision),
                        method_check_session,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ListSessions",
                        SD_BUS_NO_ARGS,
                        SD_BUS_RESULT("a(sosus)", sessions),
                        method_list_sessions,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetSession",
                        SD_BUS_ARGS("s", id),
                        SD_BUS_RESULT("o", path),
                        method_get_session,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ListEvents",
                        SD_BUS_ARGS("s", glob),
                        SD_BUS_RESULT("as", names),
                        method_list_events,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("DescribeEvent",
                        SD_BUS_ARGS("s", name),
                        SD_BUS_RESULT("a{sv}", event),
                        method_describe_event,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ResolveFunction",
                        SD_BUS_ARGS("s", function),
                        SD_BUS_RESULT("a{sv}", description),
                        method_resolve_function,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("OpenProbeFile",
                        SD_BUS_NO_ARGS,
                        SD_BUS_RESULT("u", file, "h", socket),
                        method_open_probe_file,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("AddProbe",
                        SD_BUS_ARGS("a{sv}", definition),
                        SD_BUS_RESULT("s", event),
                        method_add_probe,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("AddProbes",
                        SD_BUS_ARGS("aa{sv}", definitions),
                        SD_BUS_RESULT("as", events),
                        method_add_probes,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("RemoveProbe",
                        SD_BUS_ARGS("s", name),
                        SD_BUS_NO_RESULT,
                        method_remove_probe,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ListProbes",
                        SD_BUS_NO_ARGS,
                        SD_BUS_RESULT("aa{sv}", probes),
                        method_list_probes,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ListSpool",
                        SD_BUS_NO_ARGS,
                        SD_BUS_RESULT("aa{sv}", recordings),
                        method_list_spool,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("OpenSpool",
                        SD_BUS_ARGS("s", id, "a{sv}", options),
                        SD_BUS_RESULT("h", pipe),
                        method_open_spool,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("RemoveSpool",
                        SD_BUS_ARGS("s", id),
                        SD_BUS_NO_RESULT,
                        method_remove_spool,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetLimits",
                        SD_BUS_NO_ARGS,
                        SD_BUS_RESULT("a{sv}", limits),
                        method_get_limits,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetStatus",
                        SD_BUS_NO_ARGS,
                        SD_BUS_RESULT("a{sv}", status),
                        method_get_status,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Reload",
                        SD_BUS_NO_ARGS,
                        SD_BUS_NO_RESULT,
                        method_reload,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Administrate",
                        SD_BUS_NO_ARGS,
                        SD_BUS_NO_RESULT,
                        method_administrate,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

int manager_object_add(Door *door, sd_bus_slot **ret) {
        return sd_bus_add_object_vtable(
                        door->bus, ret, KT_OBJECT, KT_MANAGER_INTERFACE, manager_vtable, door);
}
