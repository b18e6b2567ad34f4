/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* /org/ktrace1/session/<id>, interface org.ktrace1.Session, and its signals. Documented in
 * interfaces/org.ktrace1.Session.xml. The methods are those of the table in door/method-table.c.
 *
 * A session is visible to its owner, to root, and to a connection that polkit allows to manage
 * sessions; the latter may look at it, stop it and end it, but neither start nor read it. All other
 * callers get NoSuchSession, as for a session that has ended or never existed: the find handler
 * looks the session up on behalf of the caller, so calls, property reads and introspection all end
 * there, and the enumerator lists only visible sessions. Signals are sent to the unique names of
 * the creator and of those connections of the owner that subscribed, because a broadcast would
 * reach every connection with a match for it. There are no properties, because PropertiesChanged
 * would also be a broadcast. */
#include "bus/session-object.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "bus/call.h"
#include "bus/path.h"
#include "bus/variant.h"
#include "session/registry.h"
#include "session/session-notice.h"
#include "session/session-state.h"

/* There are no properties. For such a call sd-bus drops our error and answers IOError. */
static bool is_about_property(sd_bus_message *message) {
        return sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Properties", "Get") >
                               0 ||
               sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Properties", "Set") > 0;
}

static int on_find(sd_bus *bus,
                const char *path,
                const char *interface,
                void *userdata,
                void **ret_found,
                sd_bus_error *ret_error) {
        Door *door = userdata;
        sd_bus_message *message = sd_bus_get_current_message(bus);
        const Peer *peer = call_get_peer(door, message);
        Reason reason;
        Session *session;

        if (!*path_get_session_id(path)) /* the parent of the sessions */
                return 0;
        int r = desk_find_session(door->desk,
                        peer,
                        PURPOSE_MANAGE,
                        path_get_session_id(path),
                        &session,
                        &reason);
        if (r != 0 && is_about_property(message))
                return 0; /* UnknownObject */
        if (r != 0)
                return sd_bus_error_setf(ret_error, error_get(r)->bus_name, "%s", reason.text);
        /* Return the door, not the session: handlers look the session up again and need both. */
        *ret_found = door;
        return 1;
}

typedef struct Nodes {
        char **paths;
        size_t n;
        int result;
} Nodes;

static void append_node(Session *session, void *userdata) {
        Nodes *nodes = userdata;

        if (nodes->result < 0)
                return;
        char **paths = reallocarray(nodes->paths, nodes->n + 2, sizeof(*paths));
        if (!paths) {
                nodes->result = -ENOMEM;
                return;
        }
        nodes->paths = paths;
        paths[nodes->n] = strdup(path_of_session(session_get_id(session)).text);
        if (paths[nodes->n])
                paths[++nodes->n] = NULL;
        else
                nodes->result = -ENOMEM;
}

static int on_enumerate(sd_bus *bus,
                const char *prefix,
                void *userdata,
                char ***ret_nodes,
                sd_bus_error *ret_error) {
        Door *door = userdata;
        const Peer *peer = call_get_peer(door, sd_bus_get_current_message(bus));
        Nodes nodes = { 0 };

        if (!peer)
                return 0;
        registry_visit(door->desk->registry,
                        &peer->subject,
                        desk_get_reach(peer),
                        append_node,
                        &nodes);
        if (nodes.result < 0) {
                for (size_t i = 0; i < nodes.n; i++)
                        free(nodes.paths[i]);
                free(nodes.paths);
                return nodes.result;
        }
        *ret_nodes = nodes.paths; /* sd-bus frees it */
        return 0;
}

int session_object_add(Door *door, sd_bus_slot **ret_vtable, sd_bus_slot **ret_enumerator) {
        static const sd_bus_vtable signals[] = {
                SD_BUS_SIGNAL_WITH_ARGS("StateChanged", SD_BUS_ARGS("s", state), 0),
                SD_BUS_SIGNAL_WITH_ARGS("Notified", SD_BUS_ARGS("a{sv}", notification), 0),
                SD_BUS_SIGNAL_WITH_ARGS("Ended", SD_BUS_ARGS("s", code, "s", reason), 0),
        };

        int r = vtable_new(door->desk->methods,
                        true,
                        signals,
                        ELEMENTSOF(signals),
                        call_on_method,
                        &door->session);
        if (r < 0)
                return r;
        r = sd_bus_add_fallback_vtable(door->bus,
                        ret_vtable,
                        KT_SESSION_PREFIX,
                        KT_SESSION_INTERFACE,
                        vtable_get(door->session),
                        on_find,
                        door);
        if (r < 0)
                return r;
        return sd_bus_add_node_enumerator(
                        door->bus, ret_enumerator, KT_SESSION_PREFIX, on_enumerate, door);
}

/* A signal to be sent to all subscribers of the session. */
typedef struct Signal {
        Door *door;
        const Session *session;
        const char *member;
        const char *texts[2]; /* NULL: none */
        json_object *object;  /* NULL: none */
} Signal;

static int send_signal(const Signal *signal, const char *path, const char *peer) {
        sd_bus_message *m = NULL;
        int r;

        r = sd_bus_message_new_signal(
                        signal->door->bus, &m, path, KT_SESSION_INTERFACE, signal->member);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(signal->texts) && signal->texts[i]; i++)
                r = sd_bus_message_append(m, "s", signal->texts[i]);
        if (r >= 0 && signal->object)
                r = variant_append_object(m, signal->object);
        if (r >= 0)
                r = sd_bus_message_set_destination(m, peer);
        if (r >= 0)
                r = sd_bus_send(signal->door->bus, m, NULL);
        sd_bus_message_unref(m);
        return r;
}

static void on_peer(const char *peer, void *userdata) {
        const Signal *signal = userdata;
        LogContext context = { .session = session_get_id(signal->session),
                .uid = session_get_uid(signal->session) };

        if (*peer != ':') /* peer of another door */
                return;
        int r = send_signal(signal, path_of_session(context.session).text, peer);
        /* Without a bus connection there are no receivers. */
        if (r < 0 && r != -ENOTCONN)
                log_errno(r, LOG_WARNING, &context, "Cannot send signal %s", signal->member);
}

void door_send_state(Door *door, Session *session) {
        const char *state = session_state_to_string(session_get_state(session));
        Signal signal = { door, session, "StateChanged", { state } };

        session_visit_peers(session, on_peer, &signal);
}

void door_send_ended(Door *door, Session *session, const char *code, const char *reason) {
        Signal signal = { door, session, "Ended", { code, reason } };

        session_visit_peers(session, on_peer, &signal);
}

void door_send_notice(Door *door, Session *session, json_object *notice) {
        Signal signal = { door, session, "Notified", .object = notice };

        session_visit_peers(session, on_peer, &signal);
}
