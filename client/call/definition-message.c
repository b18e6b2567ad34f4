/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends definitions to AddProbe. A program is passed as a descriptor, over a socket to the
 * confined process that examines it (OpenProbeFile). Its result is valid for one AddProbe, so it
 * is requested again when a password is required. */

#include "call/definition-message.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/descriptor.h"
#include "interfaces/json.h"

static int definition_message_put(json_object *object, const char *key, json_object *value) {
        if (value && json_object_object_add(object, key, value) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}

static int definition_message_put_text(json_object *object, const char *key, const char *text) {
        return text ? definition_message_put(object, key, json_object_new_string(text)) : 0;
}

static int definition_message_put_list(json_object *object,
                const char *key,
                const char *const *list,
                size_t n) {
        json_object *array = n > 0 ? json_object_new_array() : NULL;

        int r = n > 0 ? definition_message_put(object, key, array) : 0;
        for (size_t i = 0; r == 0 && i < n; i++)
                if (json_object_array_add(array, json_object_new_string(list[i])) < 0)
                        r = -ENOMEM;
        return r;
}

static int make_object(const DefinitionMessage *d, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();

        int r = object ? 0 : -ENOMEM;
        r = r ?: definition_message_put_text(object, "name", d->name);
        r = r ?: definition_message_put_text(object, "on", d->on);
        r = r ?: definition_message_put_text(object, "event", d->event);
        r = r ?: definition_message_put_text(object, "from", d->from);
        r = r ?: definition_message_put_text(object, "to", d->to);
        r = r ?: definition_message_put_text(object, "raw", d->raw);
        r = r ?: definition_message_put_text(object, "about", d->about);
        if (r == 0 && d->is_return)
                r = definition_message_put(object, "return", json_object_new_boolean(true));
        r = r ?: definition_message_put_list(object, "key", d->keys, d->n_keys);
        r = r
                            ?: definition_message_put_list(object,
                                               "args",
                                               (const char *const *)d->args,
                                               d->n_args);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

/* Sends the file. ticket names it as long as *ret_socket is open. */
static int definition_message_send_file(Proxy *proxy,
                int file,
                json_object **ret_ticket,
                int *ret_socket,
                Reason *reason) {
        ProxyAnswer answer = { .fd = -1 };

        int r = proxy_perform(proxy, &(ProxyCall){ .method = "OpenProbeFile" }, &answer, reason);
        if (r != 0)
                return r;
        *ret_ticket = json_object_get(json_object_object_get(answer.object, "file"));
        *ret_socket = TAKE_FD(answer.fd);
        proxy_answer_done(&answer);
        return *ret_socket < 0 ? -EBADMSG : descriptor_send(*ret_socket, file);
}

static int send(Proxy *proxy,
                const DefinitionMessage *definition,
                bool is_asking,
                json_object **ret_event,
                Reason *reason) {
        _cleanup_json_ json_object *arguments = json_object_new_object();
        ProxyCall call = {
                .method = "AddProbe",
                .arguments = arguments,
                .asking = is_asking ? PROXY_ASKS_NOW : PROXY_ASKS_NEVER,
        };
        json_object *object = NULL, *ticket = NULL;
        ProxyAnswer answer = { .fd = -1 };
        _cleanup_close_ int socket_fd = -1;

        int r = arguments ? make_object(definition, &object) : -ENOMEM;
        r = r ?: definition_message_put(arguments, "definition", object);
        if (r == 0 && definition->file >= 0)
                r = definition_message_send_file(
                                proxy, definition->file, &ticket, &socket_fd, reason);
        if (ticket)
                r = r ?: definition_message_put(object, "file", ticket);
        r = r ?: proxy_perform(proxy, &call, &answer, reason);
        if (r == 0)
                *ret_event = json_object_get(json_object_object_get(answer.object, "event"));
        proxy_answer_done(&answer);
        return r;
}

static int check_definitions(json_object *definitions, Reason *reason) {
        for (size_t i = 0; i < json_object_array_length(definitions); i++)
                if (!json_object_is_type(
                                    json_object_array_get_idx(definitions, i), json_type_object))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "probes[%zu]: expected an object",
                                        i);
        return 0;
}

int definitions_send(Proxy *proxy,
                json_object *definitions,
                json_object **ret_events,
                Reason *reason) {
        _cleanup_json_ json_object *arguments = json_object_new_object(), *answer = NULL;

        int r = arguments ? check_definitions(definitions, reason) : -ENOMEM;
        r = r ?: definition_message_put(arguments, "definitions", json_object_get(definitions));
        r = r ?: proxy_call(proxy, NULL, "AddProbes", arguments, &answer, reason);
        if (r != 0)
                return r;
        json_object *events = json_object_object_get(answer, "events");
        if (!json_object_is_type(events, json_type_array))
                return -EBADMSG;
        *ret_events = json_object_get(events);
        return 0;
}

int definition_send(Proxy *proxy,
                const DefinitionMessage *definition,
                char **ret_event,
                Reason *reason) {
        _cleanup_json_ json_object *event = NULL;

        int r = send(proxy, definition, false, &event, reason);
        if (r == KT_E_AUTH_REQUIRED && proxy->may_ask)
                r = send(proxy, definition, true, &event, reason);
        if (r != 0)
                return r;
        if (!json_object_is_type(event, json_type_string))
                return -EBADMSG;
        *ret_event = strdup(json_object_get_string(event));
        return *ret_event ? 0 : -ENOMEM;
}
