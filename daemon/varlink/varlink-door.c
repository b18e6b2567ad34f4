/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Serves org.ktrace1 over Varlink: the connected clients, and the subscriptions to sessions.
 * Created by the manager, beside the bus door; both serve the methods of the table in
 * door/method-table.c. It needs no bus, so it can start earlier. Documented in
 * interfaces/org.ktrace1.varlink; a test compares that file with the table, and with the bus
 * interface.
 *
 * A container may have a socket of its own: its connections are those of a user that stands for the
 * container (auth_add_container).
 *
 * A connection is a peer in auth's table from accept(2) until it is closed. A client receives the
 * events of a session through its own call, Subscribe, which lasts until the session is gone,
 * because Varlink has no unsolicited messages. So events go only to subscribers; the creator of a
 * session is not subscribed automatically. Watch is the same for the sessions of a user; the desk
 * decides which notices its client gets. */
#include "varlink/varlink-door.h"

#include <errno.h>
#include <string.h>

#include "session/session-state.h"
#include "varlink/answer.h"
#include "varlink/connection.h"
#include "varlink/varlink-call.h"

/* Bytes of notices that wait for one watcher. Its socket holds about 200 KB more. */
#define WATCHER_OUT_MAX ((size_t)64 * 1024)

static int on_connect(VarlinkConnection *connection, void *userdata) {
        VarlinkDoor *door = userdata;
        Visitor *visitor = calloc(1, sizeof(*visitor));

        if (!visitor)
                return -ENOMEM;
        int r = auth_add_socket(door->auth,
                        varlink_connection_get_fd(connection),
                        varlink_connection_get_as(connection),
                        &visitor->name);
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

static void on_drained(VarlinkConnection *connection, void *userdata) {
        const VarlinkDoor *door = userdata;
        const Visitor *visitor = varlink_connection_get_userdata(connection);

        watchers_resume(door->desk->watchers, visitor->name);
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
        int r = method_list_new(desk->methods, answer_on_call, &door->methods);
        if (r < 0)
                return r;
        const VarlinkOptions options = {
                .event = event,
                .vendor = "ktrace",
                .product = "ktraced",
                .version = KT_VERSION,
                .url = "man:org.ktrace1(5)",
                .interfaces = method_list_get(door->methods),
                .n_interfaces = 1,
                .handlers = { on_connect, on_disconnect, may_call, on_drained },
                .userdata = door,
        };
        r = varlink_server_new(&options, &door->server);
        if (r == 0)
                *ret = TAKE_PTR(door);
        return r;
}

int varlink_door_open(VarlinkDoor *door, int fd, const char *path) {
        return fd >= 0 ? varlink_server_listen_fd(door->server, fd, (uid_t)-1)
                       : varlink_server_listen_path(door->server, path);
}

int varlink_door_open_container(VarlinkDoor *door, int fd, uid_t container) {
        return varlink_server_listen_fd(door->server, fd, container);
}

VarlinkDoor *varlink_door_free(VarlinkDoor *door) {
        if (!door)
                return NULL;
        varlink_server_free(door->server);
        method_list_free(door->methods);
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

bool visitor_subscribe(VarlinkDoor *door, VarlinkCall *call, const Session *session) {
        Visitor *visitor = varlink_connection_get_userdata(varlink_call_get_connection(call));
        _cleanup_json_ json_object *state = make_state(session);

        if (!state)
                return false;
        visitor->subscription = call;
        snprintf(visitor->session, sizeof(visitor->session), "%s", session_get_id(session));
        varlink_call_notify(call, state);
        return true;
}

/* The first reply is empty: the watch has begun. */
void visitor_watch(VarlinkCall *call) {
        VarlinkConnection *connection = varlink_call_get_connection(call);

        if (!connection) { /* the client has left while polkit was asked */
                varlink_call_reply(call, NULL, -1);
                return;
        }
        ((Visitor *)varlink_connection_get_userdata(connection))->subscription = call;
        varlink_call_notify(call, NULL);
}

static Visitor *visitor_find(const VarlinkDoor *door, const char *name) {
        Visitor *visitor;

        TAILQ_FOREACH(visitor, &door->visitors, others)
                if (strcmp(visitor->name, name) == 0)
                        return visitor;
        return NULL;
}

bool varlink_door_send_watcher(VarlinkDoor *door, const char *peer, json_object *notice) {
        const Visitor *visitor = visitor_find(door, peer);
        _cleanup_json_ json_object *news = NULL;

        if (!visitor || !visitor->subscription)
                return true; /* it is leaving */
        VarlinkConnection *connection = varlink_call_get_connection(visitor->subscription);
        if (varlink_connection_count_unsent(connection) >= WATCHER_OUT_MAX)
                return false;
        news = make_news("notice", json_object_get(notice));
        if (news)
                varlink_call_notify(visitor->subscription, news);
        else
                varlink_connection_break(connection, "no memory for a notice");
        return true;
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
