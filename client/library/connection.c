/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A connection of the library. It has a loop of its own: calls run it while they wait, and callers
 * poll its descriptor. So a signal that arrives during a call is not lost, and no code of the
 * caller runs within a call. */

#include "library/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "call/proxy-bus.h"
#include "call/proxy-session.h"
#include "interfaces/json-text.h"
#include "interfaces/json.h"
#include "library/failure.h"

/* The sources that ktrace_process() handles in one call. */
#define TURNS_MAX 1024

int connection_parse(const char *what, const char *text, json_object **ret, Reason *reason) {
        _cleanup_json_ json_object *object = NULL;

        *ret = NULL;
        if (!text)
                return 0;
        int r = json_parse_strict(what, text, strlen(text), &object, reason);
        if (r == 0 && !json_object_is_type(object, json_type_object))
                r = reason_set(reason, KT_E_INVALID_SPEC, "%s: expected an object of JSON", what);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

int connection_print(json_object *object, char **ret) {
        const char *text = json_object_to_json_string_ext(
                        object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

        *ret = text ? strdup(text) : NULL;
        return *ret ? 0 : -ENOMEM;
}

/* Notices */

static void connection_on_signal(const char *id, json_object *signal, void *userdata) {
        ktrace *connection = userdata;
        ktrace_session *session;

        TAILQ_FOREACH(session, &connection->sessions, entry)
                if (strcmp(session->id, id) == 0)
                        notice_queue_add(&session->notices, signal);
}

static void connection_on_daemon(bool is_there, void *userdata) {
        ktrace *connection = userdata;
        ktrace_session *session;
        _cleanup_json_ json_object *notice = NULL;

        if (proxy_make_object("daemon",
                            json_object_new_string(is_there ? "back" : "gone"),
                            &notice) < 0)
                return;
        TAILQ_FOREACH(session, &connection->sessions, entry)
                notice_queue_add(&session->notices, notice);
        if (connection->watches)
                notice_queue_add(&connection->notices, notice);
}

static void connection_on_notice(json_object *notice, void *userdata) {
        ktrace *connection = userdata;

        notice_queue_add(&connection->notices, notice);
}

static int connection_take_notice(NoticeQueue *queue, char **ret) {
        _cleanup_json_ json_object *notice = NULL;

        *ret = NULL;
        int r = notice_queue_take(queue, &notice);
        return r < 0 || !notice ? r : connection_print(notice, ret);
}

int ktrace_session_take_notice(ktrace_session *session, char **ret) {
        return connection_take_notice(&session->notices, ret);
}

int ktrace_take_notice(ktrace *connection, char **ret) {
        return connection_take_notice(&connection->notices, ret);
}

int ktrace_watch(ktrace *connection, unsigned flags, ktrace_error *error) {
        Reason reason = {};

        if ((flags & ~(unsigned)KTRACE_ALL_USERS) != 0)
                return failure_take(-EINVAL, NULL, error);
        if (connection->watches)
                return failure_take(-EBUSY, NULL, error);
        int r = proxy_watch(connection->proxy, flags & KTRACE_ALL_USERS, &reason);
        connection->watches = r == 0;
        return failure_take(r, &reason, error);
}

/* Opening and closing */

static int connection_new(Proxy *proxy, bool is_in_their_loop, ktrace **ret) {
        static const bool never_cancelled = false;
        ktrace *connection = calloc(1, sizeof(*connection));

        if (!connection)
                return -ENOMEM;
        ProxyListener listener = {
                connection_on_signal, connection_on_daemon, connection_on_notice, connection
        };
        notice_queue_init(&connection->notices);
        TAILQ_INIT(&connection->sessions);
        connection->is_in_their_loop = is_in_their_loop;
        int r = is_in_their_loop ? 0 : sd_event_new(&connection->event);
        if (r >= 0)
                r = proxy_attach(proxy, connection->event, &never_cancelled, &listener);
        if (r < 0) {
                sd_event_unref(connection->event);
                free(connection);
                return r;
        }
        connection->proxy = proxy;
        *ret = connection;
        return 0;
}

static int connection_finish(int r, Proxy *proxy, bool is_in_their_loop, ktrace **ret) {
        r = r ?: connection_new(proxy, is_in_their_loop, ret);
        if (r != 0)
                proxy_free(proxy);
        return r;
}

int ktrace_open(unsigned flags, ktrace **ret, ktrace_error *error) {
        Proxy *proxy = NULL;
        Reason reason = {};
        int r;

        *ret = NULL;
        if ((flags & ~(unsigned)KTRACE_VARLINK) != 0)
                return failure_take(-EINVAL, NULL, error);
        r = proxy_open(flags & KTRACE_VARLINK ? PROXY_DOOR_VARLINK : PROXY_DOOR_BUS,
                        &proxy,
                        &reason);
        r = connection_finish(r, proxy, false, ret);
        return failure_take(r, &reason, error);
}

int ktrace_open_bus(struct sd_bus *bus, ktrace **ret, ktrace_error *error) {
        Proxy *proxy = NULL;
        Reason reason = {};

        *ret = NULL;
        int r = proxy_bus_borrow(bus, &proxy, &reason);
        r = connection_finish(r, proxy, sd_bus_get_event(bus) != NULL, ret);
        return failure_take(r, &reason, error);
}

void ktrace_close(ktrace *connection) {
        if (!connection)
                return;
        sd_event_source_disable_unref(connection->io);
        proxy_free(connection->proxy);
        sd_event_unref(connection->event);
        notice_queue_clear(&connection->notices);
        free(connection);
}

void ktrace_set_timeout(ktrace *connection, uint64_t usec) {
        connection->proxy->timeout_usec = usec;
}

/* Loops */

int ktrace_get_fd(const ktrace *connection) {
        return connection->event ? sd_event_get_fd(connection->event) : -EOPNOTSUPP;
}

int ktrace_process(ktrace *connection) {
        int r = 1;

        for (unsigned i = 0; connection->event && r > 0 && i < TURNS_MAX; i++)
                r = sd_event_run(connection->event, 0);
        if (r < 0)
                return r;
        return connection->proxy->lost ? -ENOTCONN : 0;
}

static int connection_on_ready(sd_event_source *source,
                int fd _unused_,
                uint32_t events _unused_,
                void *userdata) {
        ktrace *connection = userdata;

        int r = ktrace_process(connection);
        if (r < 0) /* otherwise the source would be ready for ever */
                connection->io = sd_event_source_disable_unref(connection->io);
        return 0;
}

int ktrace_attach(ktrace *connection, struct sd_event *event) {
        if (connection->io)
                return -EBUSY;
        if (!connection->event)
                return -EOPNOTSUPP;
        int r = sd_event_add_io(event,
                        &connection->io,
                        sd_event_get_fd(connection->event),
                        EPOLLIN,
                        connection_on_ready,
                        connection);
        if (r < 0)
                return r;
        /* Arms the timers of the own loop. */
        return ktrace_process(connection);
}

/* Calls */

int ktrace_call(ktrace *connection,
                const char *session,
                const char *method,
                const char *arguments,
                char **ret,
                ktrace_error *error) {
        _cleanup_json_ json_object *given = NULL, *answer = NULL;
        Reason reason = {};

        int r = connection_parse("arguments", arguments, &given, &reason);
        r = r ?: proxy_call(connection->proxy, session, method, given, &answer, &reason);
        if (r == 0 && ret)
                r = connection_print(answer, ret);
        return failure_take(r, &reason, error);
}
