/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* /org/ktrace1/session/<id>, interface org.ktrace1.Session, and its signals. Documented in
 * interfaces/org.ktrace1.Session.xml.
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
#include "bus/arguments.h"
#include "bus/call.h"
#include "bus/variant.h"
#include "door/change.h"
#include "door/parameter.h"
#include "door/session-verb.h"
#include "session/registry.h"
#include "session/session-control.h"
#include "session/session-describe.h"
#include "session/session-end.h"
#include "session/session-histogram.h"
#include "session/session-notice.h"
#include "session/session-run.h"
#include "session/session-state.h"
#include "session/window-look.h"

/* Returns the last part of a path; "" if it is not a session's path. */
static const char *session_object_get_id(const char *path) {
        size_t prefix = strlen(KT_SESSION_PREFIX "/");

        return strncmp(path, KT_SESSION_PREFIX "/", prefix) == 0 ? path + prefix : "";
}

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

        if (!*session_object_get_id(path)) /* the parent of the sessions */
                return 0;
        int r = desk_find_session(door->desk,
                        peer,
                        PURPOSE_MANAGE,
                        session_object_get_id(path),
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
        if (asprintf(&paths[nodes->n], "%s/%s", KT_SESSION_PREFIX, session_get_id(session)) < 0) {
                paths[nodes->n] = NULL;
                nodes->result = -ENOMEM;
                return;
        }
        paths[++nodes->n] = NULL;
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

/* KT_E_* is the answer to the call. */
static int session_object_get_session(Door *door,
                sd_bus_message *m,
                Purpose purpose,
                Session **ret,
                Reason *reason) {
        return desk_find_session(door->desk,
                        call_get_peer(door, m),
                        purpose,
                        session_object_get_id(sd_bus_message_get_path(m)),
                        ret,
                        reason);
}

static int session_object_call_verb(Door *door,
                sd_bus_message *m,
                Purpose purpose,
                Verb verb,
                CallAnswer answer) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Session *session = NULL;
        Reason reason = { "" };
        int r;

        r = session_object_get_session(door, m, purpose, &session, &reason);
        if (r == 0)
                r = call_new(door, m, answer, &request, &reason);
        if (r == 0)
                r = verb(session, request, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL; /* owned by the session floor now */
        return 1;
}

static int method_start(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        return session_object_call_verb(userdata, m, PURPOSE_OWN, session_start, call_reply_empty);
}

static int method_stop(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        return session_object_call_verb(
                        userdata, m, PURPOSE_MANAGE, session_stop, call_reply_empty);
}

static int method_destroy(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        return session_object_call_verb(
                        userdata, m, PURPOSE_MANAGE, session_destroy, call_reply_empty);
}

static int answer_fd(sd_bus_message *m, Request *request) {
        /* The message duplicates the fd; the request's own is closed with the request. */
        return sd_bus_reply_method_return(m, "h", request->fd);
}

/* Reads the only argument, options; see parameter_read_flag. */
static int read_options(sd_bus_message *m, const char *known, bool *ret, Reason *reason) {
        _cleanup_json_ json_object *options = NULL;

        int r = arguments_read_object(m, &options, reason);
        return r ?: parameter_read_flag(options, known, ret, reason);
}

static int session_object_call_open(Door *door, sd_bus_message *m, Verb verb) {
        Reason reason = { "" };
        int r;

        r = read_options(m, NULL, NULL, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        return session_object_call_verb(door, m, PURPOSE_OWN, verb, answer_fd);
}

static int method_open_stream(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        return session_object_call_open(userdata, m, verb_open_pipe);
}

static int method_open_sink(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        return session_object_call_open(userdata, m, verb_open_socket);
}

static int method_snapshot(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Reason reason = { "" };
        bool by_sink = false;

        int r = read_options(m, "sink", &by_sink, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        return session_object_call_verb(userdata,
                        m,
                        PURPOSE_OWN,
                        by_sink ? verb_snapshot_socket : verb_snapshot_pipe,
                        answer_fd);
}

static int method_clear(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        return session_object_call_verb(userdata, m, PURPOSE_OWN, session_clear, call_reply_empty);
}

static int method_configure(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        _cleanup_(change_clear) Change change = {};
        _cleanup_json_ json_object *changes = NULL;
        Session *session = NULL;
        Reason reason = { "" };

        int r = session_object_get_session(userdata, m, PURPOSE_OWN, &session, &reason);
        if (r == 0)
                r = arguments_read_object(m, &changes, &reason);
        if (r == 0)
                r = change_from_json(changes, &change, &reason);
        if (r == 0)
                r = call_new(userdata, m, call_reply_empty, &request, &reason);
        if (r == 0)
                r = change_apply(session, &change, request, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL; /* owned by the session floor now */
        return 1;
}

static int method_mark(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Session *session = NULL;
        Reason reason = { "" };
        const char *text;

        int r = sd_bus_message_read(m, "s", &text);
        if (r >= 0)
                r = session_object_get_session(userdata, m, PURPOSE_OWN, &session, &reason);
        if (r == 0)
                r = session_mark(session, text, &reason);
        return r != 0 ? call_refuse(m, r, &reason) : sd_bus_reply_method_return(m, "");
}

static int method_open_marker(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_close_ int fd = -1;
        Session *session = NULL;
        Reason reason = { "" };

        int r = session_object_get_session(userdata, m, PURPOSE_OWN, &session, &reason);
        if (r == 0)
                r = session_open_marker(session, &fd, &reason);
        return r != 0 ? call_refuse(m, r, &reason) : sd_bus_reply_method_return(m, "h", fd);
}

static int method_subscribe(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Session *session = NULL;
        Reason reason = { "" };

        int r = session_object_get_session(userdata, m, PURPOSE_OWN, &session, &reason);
        if (r == 0)
                r = session_subscribe(session, sd_bus_message_get_sender(m), &reason);
        return r != 0 ? call_refuse(m, r, &reason) : sd_bus_reply_method_return(m, "");
}

static int call_json(Door *door, sd_bus_message *m, int (*get)(const Session *, json_object **)) {
        _cleanup_json_ json_object *o = NULL;
        Session *session = NULL;
        Reason reason = { "" };

        int r = session_object_get_session(door, m, PURPOSE_MANAGE, &session, &reason);
        if (r == 0)
                r = get(session, &o);
        return call_reply_json(m, r, o, &reason);
}

static int session_object_answer_description(sd_bus_message *m, Request *request) {
        return call_reply_json(m, 0, request->list, NULL);
}

static int method_describe(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Session *session = NULL;
        Reason reason = { "" };

        int r = session_object_get_session(userdata, m, PURPOSE_MANAGE, &session, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        if (session_has_windows(session))
                return session_object_call_verb(userdata,
                                m,
                                PURPOSE_MANAGE,
                                session_look,
                                session_object_answer_description);
        return call_json(userdata, m, session_describe);
}

static int method_get_statistics(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        return call_json(userdata, m, session_statistics);
}

static int method_get_histogram(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Session *session = NULL;
        Reason reason = { "" };
        const char *name;

        int r = sd_bus_message_read(m, "s", &name);
        if (r >= 0)
                r = session_object_get_session(userdata, m, PURPOSE_OWN, &session, &reason);
        if (r == 0)
                r = call_new(userdata, m, call_reply_list, &request, &reason);
        if (r == 0)
                r = session_get_histogram(session, name, request, &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL; /* owned by the session floor now */
        return 1;
}

static int method_get_metadata(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_close_ int fd = -1;
        Session *session = NULL;
        Reason reason = { "" };

        int r = session_object_get_session(userdata, m, PURPOSE_OWN, &session, &reason);
        if (r == 0)
                r = session_metadata(session, &fd);
        if (r != 0)
                return call_refuse(m, r, &reason);
        return sd_bus_reply_method_return(m, "h", fd);
}

static const sd_bus_vtable session_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_ARGS("Start",
                        SD_BUS_NO_ARGS,
                        SD_BUS_NO_RESULT,
                        method_start,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Stop",
                        SD_BUS_NO_ARGS,
                        SD_BUS_NO_RESULT,
                        method_stop,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Destroy",
                        SD_BUS_NO_ARGS,
                        SD_BUS_NO_RESULT,
                        method_destroy,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("OpenStream",
                        SD_BUS_ARGS("a{sv}", options),
                        SD_BUS_RESULT("h", pipe),
                        method_open_stream,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("OpenSink",
                        SD_BUS_ARGS("a{sv}", options),
                        SD_BUS_RESULT("h", socket),
                        method_open_sink,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Configure",
                        SD_BUS_ARGS("a{sv}", changes),
                        SD_BUS_NO_RESULT,
                        method_configure,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("Clear", "", "", method_clear, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Mark",
                        SD_BUS_ARGS("s", text),
                        SD_BUS_NO_RESULT,
                        method_mark,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("OpenMarker",
                        SD_BUS_NO_ARGS,
                        SD_BUS_RESULT("h", pipe),
                        method_open_marker,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Snapshot",
                        SD_BUS_ARGS("a{sv}", options),
                        SD_BUS_RESULT("h", stream),
                        method_snapshot,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("Subscribe", "", "", method_subscribe, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Describe",
                        SD_BUS_NO_ARGS,
                        SD_BUS_RESULT("a{sv}", session),
                        method_describe,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetStatistics",
                        SD_BUS_NO_ARGS,
                        SD_BUS_RESULT("a{sv}", statistics),
                        method_get_statistics,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetMetadata",
                        SD_BUS_NO_ARGS,
                        SD_BUS_RESULT("h", metadata),
                        method_get_metadata,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetHistogram",
                        SD_BUS_ARGS("s", name),
                        SD_BUS_RESULT("aa{sv}", rows),
                        method_get_histogram,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL_WITH_ARGS("StateChanged", SD_BUS_ARGS("s", state), 0),
        SD_BUS_SIGNAL_WITH_ARGS("Notified", SD_BUS_ARGS("a{sv}", notification), 0),
        SD_BUS_SIGNAL_WITH_ARGS("Ended", SD_BUS_ARGS("s", code, "s", reason), 0),
        SD_BUS_VTABLE_END,
};

int session_object_add(Door *door, sd_bus_slot **ret_vtable, sd_bus_slot **ret_enumerator) {
        int r;

        r = sd_bus_add_fallback_vtable(door->bus,
                        ret_vtable,
                        KT_SESSION_PREFIX,
                        KT_SESSION_INTERFACE,
                        session_vtable,
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
        char path[sizeof(KT_SESSION_PREFIX "/") + KT_ID_DIGITS];

        if (*peer != ':') /* peer of another door */
                return;
        snprintf(path, sizeof(path), "%s/%s", KT_SESSION_PREFIX, context.session);
        int r = send_signal(signal, path, peer);
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
