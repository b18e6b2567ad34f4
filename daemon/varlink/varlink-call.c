/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sends the answers to a call. Handlers may use it at any time; a call lives until its last answer,
 * even if its connection has closed. The connection limits the data that a client does not read. No
 * function here closes a connection at once, so none of them calls back into the handlers. */

#include "varlink/varlink-call.h"

#include <errno.h>
#include <string.h>

#include "interfaces/json.h"
#include "interfaces/utf8.h"
#include "varlink/connection.h"

VarlinkConnection *varlink_call_get_connection(const VarlinkCall *call) {
        return call->connection;
}

bool varlink_call_wants_more(const VarlinkCall *call) {
        return call->more;
}

static const char *varlink_call_print(json_object *parameters) {
        if (!parameters)
                return "{}";
        return json_object_to_json_string_ext(
                        parameters, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

/* Texts may contain invalid UTF-8, and a client that checks as strictly as we do would
 * disconnect. */
static void varlink_call_clean(char *text, size_t size) {
        for (size_t i = 0, n; i < size; i += n) {
                n = utf8_length(text + i, size - i);
                if (n > 0)
                        continue;
                text[i] = '?';
                n = 1;
        }
}

/* Consumes fd. error may be NULL. */
static void send_answer(VarlinkCall *call,
                const char *error,
                json_object *parameters,
                bool continues,
                int fd) {
        _cleanup_close_ int owned = fd;
        _cleanup_free_ char *text = NULL;
        const char *printed = varlink_call_print(parameters);
        int n;

        if (!call->connection || call->oneway)
                return;
        n = printed ? asprintf(&text,
                                      "{%s%s%s\"parameters\":%s%s}",
                                      error ? "\"error\":\"" : "",
                                      error ?: "",
                                      error ? "\"," : "",
                                      printed,
                                      continues ? ",\"continues\":true" : "")
                    : -1;
        if (n < 0) {
                text = NULL;
                varlink_connection_break(call->connection, "no memory for an answer");
                return;
        }
        varlink_call_clean(text, (size_t)n);
        varlink_connection_send(call->connection, text, (size_t)n + 1, TAKE_FD(owned));
}

static void varlink_call_finish(VarlinkCall *call) {
        if (call->connection)
                varlink_connection_finish(call->connection);
        free(call);
}

void varlink_call_reply(VarlinkCall *call, json_object *parameters, int fd) {
        send_answer(call, NULL, parameters, false, fd);
        varlink_call_finish(call);
}

void varlink_call_notify(VarlinkCall *call, json_object *parameters) {
        if (call->more)
                send_answer(call, NULL, parameters, true, -1);
}

void varlink_call_error(VarlinkCall *call, const char *name, json_object *parameters) {
        send_answer(call, name, parameters, false, -1);
        varlink_call_finish(call);
}

void varlink_call_error_with(VarlinkCall *call,
                const char *name,
                const char *key,
                const char *value) {
        _cleanup_json_ json_object *parameters = json_object_new_object();
        json_object *text = json_object_new_string(value);

        if (parameters && text && json_object_object_add(parameters, key, text) == 0)
                text = NULL;
        json_object_put(text);
        varlink_call_error(call, name, parameters);
}

void varlink_call_refuse_parameter(VarlinkCall *call, const char *parameter) {
        varlink_call_error_with(
                        call, VARLINK_SERVICE_ERROR("InvalidParameter"), "parameter", parameter);
}
