/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One call of a method, for every door: finds its session, runs its verb, and makes the result from
 * what the verb or the completed request has. The doors convert messages to JSON parameters, and
 * the JSON result to messages; method-table.c has the methods. A call lives until it is answered.
 */
#include "door/method.h"

#include <errno.h>
#include <string.h>

#include "session/session-state.h"

static const struct {
        const char *signature;
        enum json_type json;
} forms[_VALUE_N] = {
        [VALUE_TEXT] = { "s", json_type_string },
        [VALUE_NUMBER] = { "u", json_type_int },
        [VALUE_OBJECT] = { "a{sv}", json_type_object },
        [VALUE_TEXTS] = { "as", json_type_array },
        [VALUE_OBJECTS] = { "aa{sv}", json_type_array },
        [VALUE_FD] = { "h", json_type_int },
        [VALUE_ID] = { "s", json_type_string },
        [VALUE_SESSIONS] = { "a(sosus)", json_type_array },
        [VALUE_SESSION] = { NULL, json_type_string },
        [VALUE_MAY_ASK] = { NULL, json_type_boolean },
        [VALUE_PATH] = { "o", json_type_null },
};

const char *value_get_signature(ValueType type) {
        return forms[type].signature;
}

enum json_type value_get_json_type(ValueType type) {
        return forms[type].json;
}

json_object *method_call_get(const MethodCall *call, const char *name) {
        return json_object_object_get(call->parameters, name);
}

const char *method_call_get_text(const MethodCall *call, const char *name) {
        return json_object_get_string(method_call_get(call, name));
}

static void method_call_unref(MethodCall *call) {
        if (--call->n_refs > 0)
                return;
        json_object_put(call->value);
        close_cleanup(&call->fd);
        call->door->free(call);
}

/* NULL: no memory. */
static json_object *split_lines(char *text) {
        json_object *list = json_object_new_array();
        char *rest, *line;

        for (line = strtok_r(text, "\n", &rest); list && line; line = strtok_r(NULL, "\n", &rest)) {
                json_object *item = json_object_new_string(line);

                if (!item || json_object_array_add(list, item) < 0) {
                        json_object_put(item);
                        list = json_put_free(list);
                }
        }
        return list;
}

/* NULL: no memory. */
static json_object *make_value(ValueType type, const Request *request) {
        switch (type) {
        case VALUE_TEXT:
                return json_object_new_string(request->text);
        case VALUE_TEXTS:
                return split_lines(request->text);
        case VALUE_NUMBER:
                return json_object_new_int64(request->ticket);
        case VALUE_FD:
                return json_object_new_int(0);
        case VALUE_ID:
                return json_object_new_string(session_get_id(request->session));
        default:
                return json_object_get(request->list);
        }
}

/* Sends the result of the request, or of the verb if request is NULL. */
static void method_call_reply(MethodCall *call, Request *request) {
        _cleanup_json_ json_object *result = json_object_new_object();
        int r = result ? 0 : -ENOMEM;

        for (const MethodValue *v = call->method->results; r == 0 && v && v->name; v++) {
                if (value_get_json_type(v->type) == json_type_null)
                        continue;
                json_object *value = request               ? make_value(v->type, request)
                                     : v->type == VALUE_FD ? json_object_new_int(0)
                                                           : TAKE_PTR(call->value);

                if (!value || json_object_object_add(result, v->name, value) < 0) {
                        json_object_put(value);
                        r = -ENOMEM;
                }
        }
        if (r == 0)
                call->door->reply(call, result, request ? TAKE_FD(request->fd) : TAKE_FD(call->fd));
        else
                call->door->refuse(call, r, NULL);
}

/* A call may be answered when the desk is gone. */
static void method_call_refuse(MethodCall *call, int result, const Reason *reason) {
        if (!call->request || call->waiting.desk)
                desk_count_refusal(call->desk, result);
        call->door->refuse(call, result, reason);
}

static void method_call_on_answer(Waiting *waiting,
                Request *request,
                int result,
                const Reason *reason) {
        MethodCall *call = (MethodCall *)waiting;

        if (result == 0)
                method_call_reply(call, request);
        else
                method_call_refuse(call, result, reason);
}

static void method_call_on_free(Waiting *waiting) {
        method_call_unref((MethodCall *)waiting);
}

int method_call_wait(MethodCall *call, Reason *reason) {
        Waiting *waiting = &call->waiting;

        waiting->may_prompt = json_object_get_boolean(
                        method_call_get(call, "allowInteractiveAuthentication"));
        waiting->answer = method_call_on_answer;
        waiting->free = method_call_on_free;
        int r = waiting_new(call->desk, call->peer, waiting, &call->request, reason);
        if (r == 0)
                call->n_refs++; /* of the request */
        return r;
}

/* A container gets only what its own sessions need. */
static int method_check_container(const MethodCall *call, Reason *reason) {
        if (!call->peer || !call->peer->subject.container || call->method->is_for_containers)
                return 0;
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "%s is not possible from inside a container: ask an administrator of the host",
                        call->method->name);
}

static int method_call_begin(MethodCall *call, Reason *reason) {
        const Method *method = call->method;
        int r = call->peer ? place_check(call->peer->place, reason) : 0;

        r = r ?: method_check_container(call, reason);
        if (r != 0)
                return r;
        if (method->is_of_session)
                r = desk_find_session(call->desk,
                                call->peer,
                                method->purpose,
                                method_call_get_text(call, "session"),
                                &call->session,
                                reason);
        else if (!call->peer)
                return KT_E_ACCESS_DENIED;
        if (r != 0 || method->verb)
                return r ?: method->verb(call, reason);
        r = method_call_wait(call, reason);
        return r ?: method->session_verb(call->session, call->request, reason);
}

void method_call_run(MethodCall *call, const Peer *peer, json_object *parameters) {
        Reason reason = { "" };

        call->n_refs = 1;
        call->fd = -1;
        call->peer = peer;
        call->parameters = parameters;
        int r = method_call_begin(call, &reason);
        /* If it waits and r is 0, it may already be answered, but not freed. */
        if (r != 0)
                method_call_refuse(call, r, &reason);
        else if (!call->request)
                method_call_reply(call, NULL);
        if (r != 0 && call->request)
                waiting_free(call->request);
        method_call_unref(call);
}
