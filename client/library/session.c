/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sessions of the library: the methods of org.ktrace1(5), with JSON for specs and results. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call/proxy-session.h"
#include "interfaces/spec-json.h"
#include "library/connection.h"
#include "library/failure.h"

/* The same checks and defaults as in the daemon, so that a mistake has its place in the text. */
static int session_parse_spec(const char *text, json_object **ret, Reason *reason) {
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = spec_new();

        if (!spec)
                return -ENOMEM;
        if (!text)
                return -EINVAL;
        int r = connection_parse("spec", text, &object, reason);
        r = r ?: spec_from_json(spec, object, reason);
        r = r ?: spec_complete(spec, reason);
        return r ?: spec_to_json(spec, ret);
}

int ktrace_check(ktrace *connection, const char *spec, char **ret, ktrace_error *error) {
        _cleanup_json_ json_object *object = NULL, *decision = NULL;
        Reason reason = {};

        int r = session_parse_spec(spec, &object, &reason);
        r = r ?: proxy_check(connection->proxy, object, &decision, &reason);
        r = r ?: connection_print(decision, ret);
        return failure_take(r, &reason, error);
}

/* Consumes id. */
static int session_new(ktrace *connection, char *id, ktrace_session **ret) {
        ktrace_session *session = calloc(1, sizeof(*session));

        if (!session) {
                free(id);
                return -ENOMEM;
        }
        *session = (ktrace_session){ .connection = connection, .id = id };
        notice_queue_init(&session->notices);
        TAILQ_INSERT_TAIL(&connection->sessions, session, entry);
        *ret = session;
        return 0;
}

int ktrace_create(ktrace *connection, const char *spec, ktrace_session **ret, ktrace_error *error) {
        _cleanup_json_ json_object *object = NULL;
        Reason reason = {};
        char *id = NULL;

        *ret = NULL;
        int r = session_parse_spec(spec, &object, &reason);
        r = r ?: proxy_create(connection->proxy, object, &id, &reason);
        r = r ?: session_new(connection, id, ret);
        return failure_take(r, &reason, error);
}

int ktrace_find(ktrace *connection, const char *name, ktrace_session **ret, ktrace_error *error) {
        Reason reason = {};
        char *id = NULL;

        *ret = NULL;
        int r = proxy_resolve(connection->proxy, name, &id, &reason);
        r = r ?: session_new(connection, id, ret);
        if (r == 0) {
                r = proxy_subscribe(connection->proxy, (*ret)->id, &reason);
                if (r != 0) {
                        ktrace_session_free(*ret);
                        *ret = NULL;
                }
        }
        return failure_take(r, &reason, error);
}

void ktrace_session_free(ktrace_session *session) {
        if (!session)
                return;
        notice_queue_clear(&session->notices);
        TAILQ_REMOVE(&session->connection->sessions, session, entry);
        free(session->id);
        free(session);
}

const char *ktrace_session_get_id(const ktrace_session *session) {
        return session->id;
}

static int session_order(ktrace_session *session,
                const char *method,
                const char *text,
                ktrace_error *error) {
        Reason reason = {};

        int r = proxy_order(session->connection->proxy, session->id, method, text, &reason);
        return failure_take(r, &reason, error);
}

int ktrace_session_start(ktrace_session *session, ktrace_error *error) {
        return session_order(session, "Start", NULL, error);
}

int ktrace_session_stop(ktrace_session *session, ktrace_error *error) {
        return session_order(session, "Stop", NULL, error);
}

int ktrace_session_destroy(ktrace_session *session, ktrace_error *error) {
        return session_order(session, "Destroy", NULL, error);
}

int ktrace_session_mark(ktrace_session *session, const char *text, ktrace_error *error) {
        return session_order(session, "Mark", text, error);
}

int ktrace_session_configure(ktrace_session *session, const char *changes, ktrace_error *error) {
        _cleanup_json_ json_object *object = NULL, *arguments = NULL;
        Proxy *proxy = session->connection->proxy;
        Reason reason = {};

        int r = changes ? connection_parse("changes", changes, &object, &reason) : -EINVAL;
        if (r == 0)
                r = proxy_make_object("changes", TAKE_PTR(object), &arguments);
        r = r ?: proxy_call(proxy, session->id, "Configure", arguments, NULL, &reason);
        return failure_take(r, &reason, error);
}

static int session_get(ktrace_session *session,
                const char *method,
                const char *text,
                char **ret,
                ktrace_error *error) {
        _cleanup_json_ json_object *object = NULL;
        Reason reason = {};

        int r = proxy_get(session->connection->proxy, session->id, method, text, &object, &reason);
        r = r ?: connection_print(object, ret);
        return failure_take(r, &reason, error);
}

int ktrace_session_describe(ktrace_session *session, char **ret, ktrace_error *error) {
        return session_get(session, "Describe", NULL, ret, error);
}

int ktrace_session_get_statistics(ktrace_session *session, char **ret, ktrace_error *error) {
        return session_get(session, "GetStatistics", NULL, ret, error);
}

int ktrace_session_get_histogram(ktrace_session *session,
                const char *name,
                char **ret,
                ktrace_error *error) {
        return session_get(session, "GetHistogram", name, ret, error);
}

static int session_open_reader(ktrace_session *session,
                const char *method,
                ktrace_reader **ret,
                ktrace_error *error) {
        _cleanup_close_ int fd = -1;
        Reason reason = {};

        *ret = NULL;
        int r = proxy_open_fd(session->connection->proxy, session->id, method, NULL, &fd, &reason);
        if (r != 0)
                return failure_take(r, &reason, error);
        return ktrace_reader_open_fd(fd, ret, error);
}

int ktrace_session_read(ktrace_session *session, ktrace_reader **ret, ktrace_error *error) {
        return session_open_reader(session, "OpenStream", ret, error);
}

int ktrace_session_snapshot(ktrace_session *session, ktrace_reader **ret, ktrace_error *error) {
        return session_open_reader(session, "Snapshot", ret, error);
}
