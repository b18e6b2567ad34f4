/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sends the answers to a call. Handlers may use it at any time; a call lives until its last answer,
 * even if its connection has closed. The connection limits the data that a client does not read. No
 * function here closes a connection at once, so none of them calls back into the handlers. */

#include "varlink/varlink-call.h"

#include <errno.h>
#include <string.h>

#include "base/describe.h"
#include "interfaces/json.h"
#include "interfaces/utf8.h"
#include "varlink/connection.h"

VarlinkConnection *varlink_call_get_connection(const VarlinkCall *call) {
        return call->connection;
}

bool varlink_call_wants_more(const VarlinkCall *call) {
        return call->more;
}

const VarlinkMethod *varlink_call_get_method(const VarlinkCall *call) {
        return call->method;
}

/* Returns NULL if there is no memory. */
static json_object *make_answer(const char *error, json_object *parameters, bool continues) {
        _cleanup_json_ json_object *answer = json_object_new_object();

        int r = answer ? 0 : -ENOMEM;
        if (r == 0 && error)
                r = describe_put_new(answer, "error", json_object_new_string(error));
        r = r
                            ?: describe_put_new(answer,
                                               "parameters",
                                               parameters ? json_object_get(parameters)
                                                          : json_object_new_object());
        if (r == 0 && continues)
                r = describe_put_new(answer, "continues", json_object_new_boolean(true));
        return r == 0 ? TAKE_PTR(answer) : NULL;
}

/* Returns the number of bytes at the start, in steps of eight, that are ASCII. */
static size_t count_ascii(const char *text, size_t size) {
        uint64_t bytes;
        size_t n = 0;

        for (; size - n >= sizeof(bytes); n += sizeof(bytes)) {
                memcpy(&bytes, text + n, sizeof(bytes));
                if (bytes & UINT64_C(0x8080808080808080))
                        break;
        }
        return n;
}

/* Texts may contain invalid UTF-8, and a client that checks as strictly as we do would
 * disconnect. */
static void varlink_call_clean(char *text, size_t size) {
        for (size_t i = 0, n; i < size; i += n) {
                n = count_ascii(text + i, size - i) ?: utf8_length(text + i, size - i);
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
        _cleanup_json_ json_object *answer = NULL;
        _cleanup_close_ int owned = fd;
        _cleanup_free_ char *text = NULL;
        const char *printed = NULL;
        size_t size = 0;

        if (!call->connection || call->oneway)
                return;
        answer = make_answer(error, parameters, continues);
        if (answer)
                printed = json_object_to_json_string_length(answer,
                                JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE,
                                &size);
        if (printed)
                text = strndup(printed, size);
        if (!text) {
                varlink_connection_break(call->connection, "no memory for an answer");
                return;
        }
        varlink_call_clean(text, size);
        varlink_connection_send(call->connection, text, size + 1, TAKE_FD(owned));
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
