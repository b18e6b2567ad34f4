/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Serves org.ktrace1 over Varlink: the table of its methods, the connected clients, and the
 * subscriptions to sessions. Created by the manager, beside the bus door; both use the same verbs
 * of the floors below. It needs no bus, so it can start earlier. Documented in
 * interfaces/org.ktrace1.varlink; a test compares that file with the table, and with the bus
 * interface.
 *
 * A connection is a peer in auth's table from accept(2) until it is closed. A client receives the
 * events of a session through its own call, Subscribe, which lasts until the session is gone,
 * because Varlink has no unsolicited messages. So events go only to subscribers; the creator of a
 * session is not subscribed automatically. */
#include "varlink/varlink-door.h"

#include <errno.h>
#include <string.h>

#include "session/session-notice.h"
#include "session/session-state.h"
#include "varlink/connection.h"
#include "varlink/idl.h"
#include "varlink/methods.h"
#include "varlink/reply.h"
#include "varlink/varlink-call.h"
#include "varlink/varlink-manager.h"
#include "varlink/varlink-probes.h"
#include "varlink/varlink-session.h"
#include "varlink/varlink-spool.h"

#define PARAMETERS(...)              \
        (const VarlinkParameter[]) { \
                __VA_ARGS__, {       \
                }                    \
        }
#define OBJECT(name) \
        { name, json_type_object }
#define TEXT(name) \
        { name, json_type_string }
#define OF_SESSION TEXT("session")
#define OPTIONS \
        { "options", json_type_object, .is_optional = true }
#define MAY_ASK \
        { "allowInteractiveAuthentication", json_type_boolean, .is_optional = true }

static const VarlinkMethod methods[] = {
        { "CreateSession", varlink_create_session, PARAMETERS(OBJECT("spec"), MAY_ASK) },
        { "CheckSession", varlink_check_session, PARAMETERS(OBJECT("spec")) },
        { "ListSessions", varlink_list_sessions },
        { "GetSession", varlink_get_session, PARAMETERS(TEXT("id")) },
        { "ListEvents", varlink_list_events, PARAMETERS(TEXT("glob")) },
        { "DescribeEvent", varlink_describe_event, PARAMETERS(TEXT("name")) },
        { "ResolveFunction", varlink_resolve_function, PARAMETERS(TEXT("function")) },
        { "OpenProbeFile", varlink_open_probe_file },
        { "AddProbe", varlink_add_probe, PARAMETERS(OBJECT("definition"), MAY_ASK) },
        { "AddProbes", varlink_add_probes, PARAMETERS({ "definitions", json_type_array }) },
        { "RemoveProbe", varlink_remove_probe, PARAMETERS(TEXT("name")) },
        { "ListProbes", varlink_list_probes },
        { "ListSpool", varlink_list_spool },
        { "OpenSpool", varlink_open_spool, PARAMETERS(TEXT("id"), OPTIONS) },
        { "RemoveSpool", varlink_remove_spool, PARAMETERS(TEXT("id")) },
        { "GetLimits", varlink_get_limits },
        { "GetStatus", varlink_get_status },
        { "Reload", varlink_reload, PARAMETERS(MAY_ASK) },
        { "Administrate", varlink_administrate, PARAMETERS(MAY_ASK) },

        { "Start", varlink_start, PARAMETERS(OF_SESSION) },
        { "Stop", varlink_stop, PARAMETERS(OF_SESSION) },
        { "Destroy", varlink_destroy, PARAMETERS(OF_SESSION) },
        { "OpenStream", varlink_open_stream, PARAMETERS(OF_SESSION, OPTIONS) },
        { "OpenSink", varlink_open_sink, PARAMETERS(OF_SESSION, OPTIONS) },
        { "Configure", varlink_configure, PARAMETERS(OF_SESSION, OBJECT("changes")) },
        { "Clear", varlink_clear, PARAMETERS(OF_SESSION) },
        { "Mark", varlink_mark, PARAMETERS(OF_SESSION, TEXT("text")) },
        { "OpenMarker", varlink_open_marker, PARAMETERS(OF_SESSION) },
        { "Snapshot", varlink_snapshot, PARAMETERS(OF_SESSION, OPTIONS) },
        { "Describe", varlink_describe, PARAMETERS(OF_SESSION) },
        { "GetStatistics", varlink_get_statistics, PARAMETERS(OF_SESSION) },
        { "GetHistogram", varlink_get_histogram, PARAMETERS(OF_SESSION, TEXT("name")) },
        { "GetMetadata", varlink_get_metadata, PARAMETERS(OF_SESSION) },
        { "Subscribe", varlink_subscribe, PARAMETERS(OF_SESSION), .needs_more = true },
};

static const VarlinkInterface interface = {
        .name = KT_VARLINK_INTERFACE,
        .description = varlink_idl,
        .methods = methods,
        .n_methods = ELEMENTSOF(methods),
};

const VarlinkInterface *varlink_door_get_interface(void) {
        return &interface;
}

static int on_connect(VarlinkConnection *connection, void *userdata) {
        VarlinkDoor *door = userdata;
        Visitor *visitor = calloc(1, sizeof(*visitor));

        if (!visitor)
                return -ENOMEM;
        int r = auth_add_socket(door->auth, varlink_connection_get_fd(connection), &visitor->name);
        if (r < 0) {
                free(visitor);
                return r;
        }
        visitor->door = door;
        TAILQ_INSERT_TAIL(&door->visitors, visitor, others);
        varlink_connection_set_userdata(connection, visitor);
        return 0;
}

static void on_disconnect(VarlinkConnection *connection, void *userdata) {
        VarlinkDoor *door = userdata;
        Visitor *visitor = varlink_connection_get_userdata(connection);

        TAILQ_REMOVE(&door->visitors, visitor, others);
        if (visitor->subscription)
                varlink_call_reply(visitor->subscription, NULL, -1);
        auth_remove_socket(door->auth, visitor->name);
        free(visitor->name);
        free(visitor);
}

static bool may_call(uid_t uid, void *userdata) {
        const VarlinkDoor *door = userdata;

        return desk_admit(door->desk, uid, NULL) == 0;
}

int varlink_door_new(sd_event *event, Desk *desk, Auth *auth, VarlinkDoor **ret) {
        _cleanup_(varlink_door_free_cleanup) VarlinkDoor *door = calloc(1, sizeof(*door));

        if (!door)
                return -ENOMEM;
        door->desk = desk;
        door->auth = auth;
        TAILQ_INIT(&door->visitors);
        const VarlinkOptions options = {
                .event = event,
                .vendor = "ktrace",
                .product = "ktraced",
                .version = KT_VERSION,
                .url = "man:org.ktrace1(5)",
                .interfaces = &interface,
                .n_interfaces = 1,
                .handlers = { on_connect, on_disconnect, may_call },
                .userdata = door,
        };
        int r = varlink_server_new(&options, &door->server);
        if (r == 0)
                *ret = TAKE_PTR(door);
        return r;
}

int varlink_door_open(VarlinkDoor *door, int fd, const char *path) {
        return fd >= 0 ? varlink_server_listen_fd(door->server, fd)
                       : varlink_server_listen_path(door->server, path);
}

VarlinkDoor *varlink_door_free(VarlinkDoor *door) {
        if (!door)
                return NULL;
        varlink_server_free(door->server);
        free(door);
        return NULL;
}

const Peer *visitor_get_peer(const VarlinkDoor *door, const VarlinkCall *call) {
        const Visitor *visitor = varlink_connection_get_userdata(varlink_call_get_connection(call));

        return auth_find_peer(door->auth, visitor->name);
}

/* Returns {key: value}; consumes value. If memory is short, no message is sent. */
static json_object *make_news(const char *key, json_object *value) {
        _cleanup_json_ json_object *news = json_object_new_object();

        if (news && value && json_object_object_add(news, key, value) == 0)
                return TAKE_PTR(news);
        json_object_put(value);
        return NULL;
}

static json_object *make_state(const Session *session) {
        const char *state = session_state_to_string(session_get_state(session));

        return make_news("state", json_object_new_string(state));
}

int visitor_subscribe(VarlinkDoor *door, VarlinkCall *call, Session *session, Reason *reason) {
        Visitor *visitor = varlink_connection_get_userdata(varlink_call_get_connection(call));
        _cleanup_json_ json_object *state = make_state(session);

        if (!state)
                return -ENOMEM;
        int r = session_subscribe(session, visitor->name, reason);
        if (r != 0)
                return r;
        visitor->subscription = call;
        snprintf(visitor->session, sizeof(visitor->session), "%s", session_get_id(session));
        varlink_call_notify(call, state);
        return 0;
}

/* Consumes news. Sending does not close a connection, so the list does not change. */
static void send_news(VarlinkDoor *door, const Session *session, json_object *news) {
        bool is_last = session_get_state(session) == SESSION_GONE;
        Visitor *visitor;

        TAILQ_FOREACH(visitor, &door->visitors, others) {
                if (!visitor->subscription ||
                                strcmp(visitor->session, session_get_id(session)) != 0)
                        continue;
                if (is_last)
                        varlink_call_reply(TAKE_PTR(visitor->subscription), news, -1);
                else if (news)
                        varlink_call_notify(visitor->subscription, news);
        }
        json_object_put(news);
}

void varlink_door_send_state(VarlinkDoor *door, const Session *session) {
        send_news(door, session, make_state(session));
}

void varlink_door_send_notice(VarlinkDoor *door, const Session *session, json_object *notice) {
        send_news(door, session, make_news("notice", json_object_get(notice)));
}

void varlink_door_send_ended(VarlinkDoor *door,
                const Session *session,
                const char *code,
                const char *reason) {
        json_object *ended = make_news("code", json_object_new_string(code));
        json_object *text = json_object_new_string(reason);

        if (!ended || !text || json_object_object_add(ended, "reason", text) < 0) {
                json_object_put(text);
                json_object_put(ended);
                return;
        }
        send_news(door, session, make_news("ended", ended));
}
