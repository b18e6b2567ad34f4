/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The methods of org.ktrace1 that are about one session, which their parameter `session` names by
 * its id. As for the bus, the desk decides who can see a session and what they may do with it. */
#include "varlink/varlink-session.h"

#include <errno.h>

#include "door/change.h"
#include "door/parameter.h"
#include "door/session-verb.h"
#include "session/session-control.h"
#include "session/session-describe.h"
#include "session/session-end.h"
#include "session/session-histogram.h"
#include "session/session-run.h"
#include "session/window-look.h"
#include "varlink/methods.h"
#include "varlink/reply.h"
#include "varlink/varlink-door.h"

/* KT_E_* is the answer to the call. */
static int varlink_session_get_session(const VarlinkDoor *door,
                const VarlinkCall *call,
                json_object *parameters,
                Purpose purpose,
                Session **ret,
                Reason *reason) {
        return desk_find_session(door->desk,
                        visitor_get_peer(door, call),
                        purpose,
                        methods_get_text(parameters, "session"),
                        ret,
                        reason);
}

static void varlink_session_call_verb(VarlinkDoor *door,
                VarlinkCall *call,
                json_object *parameters,
                Purpose purpose,
                Verb verb,
                Reply reply) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Session *session = NULL;
        Reason reason = { "" };

        int r = varlink_session_get_session(door, call, parameters, purpose, &session, &reason);
        r = r ?: reply_later(door, call, parameters, reply, &request, &reason);
        r = r ?: verb(session, request, &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                request = NULL; /* owned by the session floor now */
}

void varlink_start(VarlinkCall *call, json_object *parameters, void *userdata) {
        varlink_session_call_verb(
                        userdata, call, parameters, PURPOSE_OWN, session_start, reply_with_nothing);
}

void varlink_stop(VarlinkCall *call, json_object *parameters, void *userdata) {
        varlink_session_call_verb(userdata,
                        call,
                        parameters,
                        PURPOSE_MANAGE,
                        session_stop,
                        reply_with_nothing);
}

void varlink_destroy(VarlinkCall *call, json_object *parameters, void *userdata) {
        varlink_session_call_verb(userdata,
                        call,
                        parameters,
                        PURPOSE_MANAGE,
                        session_destroy,
                        reply_with_nothing);
}

void varlink_clear(VarlinkCall *call, json_object *parameters, void *userdata) {
        varlink_session_call_verb(
                        userdata, call, parameters, PURPOSE_OWN, session_clear, reply_with_nothing);
}

static void varlink_session_answer_pipe(VarlinkCall *call, Request *request) {
        reply_fd(call, "pipe", TAKE_FD(request->fd));
}

static void answer_socket(VarlinkCall *call, Request *request) {
        reply_fd(call, "socket", TAKE_FD(request->fd));
}

static void answer_stream(VarlinkCall *call, Request *request) {
        reply_fd(call, "stream", TAKE_FD(request->fd));
}

static void varlink_session_call_open(VarlinkDoor *door,
                VarlinkCall *call,
                json_object *parameters,
                Verb verb,
                Reply reply) {
        Reason reason = { "" };

        int r = parameter_read_flag(
                        json_object_object_get(parameters, "options"), NULL, NULL, &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                varlink_session_call_verb(door, call, parameters, PURPOSE_OWN, verb, reply);
}

void varlink_open_stream(VarlinkCall *call, json_object *parameters, void *userdata) {
        varlink_session_call_open(
                        userdata, call, parameters, verb_open_pipe, varlink_session_answer_pipe);
}

void varlink_open_sink(VarlinkCall *call, json_object *parameters, void *userdata) {
        varlink_session_call_open(userdata, call, parameters, verb_open_socket, answer_socket);
}

void varlink_snapshot(VarlinkCall *call, json_object *parameters, void *userdata) {
        Reason reason = { "" };
        bool by_sink = false;

        int r = parameter_read_flag(
                        json_object_object_get(parameters, "options"), "sink", &by_sink, &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                varlink_session_call_verb(userdata,
                                call,
                                parameters,
                                PURPOSE_OWN,
                                by_sink ? verb_snapshot_socket : verb_snapshot_pipe,
                                answer_stream);
}

void varlink_configure(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        _cleanup_(change_clear) Change change = {};
        json_object *changes = json_object_object_get(parameters, "changes");
        VarlinkDoor *door = userdata;
        Session *session = NULL;
        Reason reason = { "" };

        int r = varlink_session_get_session(door, call, parameters, PURPOSE_OWN, &session, &reason);
        r = r ?: change_from_json(changes, &change, &reason);
        r = r ?: reply_later(door, call, parameters, reply_with_nothing, &request, &reason);
        r = r ?: change_apply(session, &change, request, &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                request = NULL; /* owned by the session floor now */
}

void varlink_mark(VarlinkCall *call, json_object *parameters, void *userdata) {
        Session *session = NULL;
        Reason reason = { "" };

        int r = varlink_session_get_session(
                        userdata, call, parameters, PURPOSE_OWN, &session, &reason);
        r = r ?: session_mark(session, methods_get_text(parameters, "text"), &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                reply_empty(call);
}

void varlink_open_marker(VarlinkCall *call, json_object *parameters, void *userdata) {
        Session *session = NULL;
        Reason reason = { "" };
        int fd = -1;

        int r = varlink_session_get_session(
                        userdata, call, parameters, PURPOSE_OWN, &session, &reason);
        r = r ?: session_open_marker(session, &fd, &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                reply_fd(call, "pipe", fd);
}

void varlink_subscribe(VarlinkCall *call, json_object *parameters, void *userdata) {
        Session *session = NULL;
        Reason reason = { "" };

        int r = varlink_session_get_session(
                        userdata, call, parameters, PURPOSE_OWN, &session, &reason);
        r = r ?: visitor_subscribe(userdata, call, session, &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
}

static void varlink_session_answer_description(VarlinkCall *call, Request *request) {
        reply_value(call, "session", json_object_get(request->list));
}

void varlink_describe(VarlinkCall *call, json_object *parameters, void *userdata) {
        json_object *description = NULL;
        Session *session = NULL;
        Reason reason = { "" };

        int r = varlink_session_get_session(
                        userdata, call, parameters, PURPOSE_MANAGE, &session, &reason);
        if (r == 0 && session_has_windows(session)) {
                varlink_session_call_verb(userdata,
                                call,
                                parameters,
                                PURPOSE_MANAGE,
                                session_look,
                                varlink_session_answer_description);
                return;
        }
        r = r ?: session_describe(session, &description);
        reply_result(call, r, "session", description, &reason);
}

void varlink_get_statistics(VarlinkCall *call, json_object *parameters, void *userdata) {
        json_object *statistics = NULL;
        Session *session = NULL;
        Reason reason = { "" };

        int r = varlink_session_get_session(
                        userdata, call, parameters, PURPOSE_MANAGE, &session, &reason);
        r = r ?: session_statistics(session, &statistics);
        reply_result(call, r, "statistics", statistics, &reason);
}

static void answer_rows(VarlinkCall *call, Request *request) {
        reply_value(call, "rows", json_object_get(request->list));
}

void varlink_get_histogram(VarlinkCall *call, json_object *parameters, void *userdata) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        VarlinkDoor *door = userdata;
        Session *session = NULL;
        Reason reason = { "" };

        int r = varlink_session_get_session(door, call, parameters, PURPOSE_OWN, &session, &reason);
        r = r ?: reply_later(door, call, parameters, answer_rows, &request, &reason);
        r = r
                            ?: session_get_histogram(session,
                                               methods_get_text(parameters, "name"),
                                               request,
                                               &reason);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                request = NULL; /* owned by the session floor now */
}

void varlink_get_metadata(VarlinkCall *call, json_object *parameters, void *userdata) {
        Session *session = NULL;
        Reason reason = { "" };
        int fd = -1;

        int r = varlink_session_get_session(
                        userdata, call, parameters, PURPOSE_OWN, &session, &reason);
        r = r ?: session_metadata(session, &fd);
        if (r != 0)
                reply_refuse(call, r, &reason);
        else
                reply_fd(call, "metadata", fd);
}
