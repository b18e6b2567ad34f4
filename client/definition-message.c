/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A definition on its way to AddProbe. A program goes there as a descriptor, over a socket to the
 * confined process that looks into it (OpenProbeFile); what that gives is good for one AddProbe, so
 * it is asked for again when a password is wanted. */

#include "definition-message.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "descriptor.h"

#include "json.h"
#include "variant.h"

static int put(json_object *object, const char *key, json_object *value) {
        if (value && json_object_object_add(object, key, value) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}

static int put_text(json_object *object, const char *key, const char *text) {
        return text ? put(object, key, json_object_new_string(text)) : 0;
}

static int put_list(json_object *object, const char *key, const char *const *list, size_t n) {
        json_object *array = n > 0 ? json_object_new_array() : NULL;

        int r = n > 0 ? put(object, key, array) : 0;
        for (size_t i = 0; r == 0 && i < n; i++)
                if (json_object_array_add(array, json_object_new_string(list[i])) < 0)
                        r = -ENOMEM;
        return r;
}

static int make_object(const DefinitionMessage *d, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();

        int r = object ? 0 : -ENOMEM;
        r = r ?: put_text(object, "name", d->name);
        r = r ?: put_text(object, "on", d->on);
        r = r ?: put_text(object, "event", d->event);
        r = r ?: put_text(object, "from", d->from);
        r = r ?: put_text(object, "to", d->to);
        r = r ?: put_text(object, "raw", d->raw);
        r = r ?: put_text(object, "about", d->about);
        if (r == 0 && d->is_return)
                r = put(object, "return", json_object_new_boolean(true));
        r = r ?: put_list(object, "key", d->keys, d->n_keys);
        r = r ?: put_list(object, "args", (const char *const *)d->args, d->n_args);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

/* The file is on its way, and ticket names it as long as *ret_socket is open. */
static int send_file(Proxy *proxy,
                int file,
                uint32_t *ret_ticket,
                int *ret_socket,
                Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        int fd;

        int r = proxy_call(proxy,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "OpenProbeFile",
                        NULL,
                        &answer,
                        reason);
        if (r != 0)
                return r;
        r = sd_bus_message_read(answer, "uh", ret_ticket, &fd);
        if (r < 0)
                return proxy_judge(NULL, r, reason);
        *ret_socket = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* the message closes its own */
        if (*ret_socket < 0)
                return -errno;
        return descriptor_send(*ret_socket, file);
}

static int send(Proxy *proxy,
                const DefinitionMessage *definition,
                bool is_asking,
                sd_bus_message **ret,
                Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        _cleanup_json_ json_object *object = NULL;
        _cleanup_close_ int socket_fd = -1;
        uint32_t ticket = 0;

        int r = make_object(definition, &object);
        if (r == 0 && definition->file >= 0)
                r = send_file(proxy, definition->file, &ticket, &socket_fd, reason);
        if (r != 0)
                return r;
        if (ticket > 0)
                r = put(object, "file", json_object_new_uint64(ticket));
        if (r == 0)
                r = proxy_message_new(proxy, KT_OBJECT, KT_MANAGER_INTERFACE, "AddProbe", &message);
        if (r >= 0)
                r = variant_append_object(message, object);
        if (r < 0)
                return r;
        return is_asking ? proxy_send_asking(proxy, message, ret, reason)
                         : proxy_send_once(proxy, message, ret, reason);
}

int definitions_send(Proxy *proxy,
                json_object *definitions,
                json_object **ret_events,
                Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *answer = NULL;

        int r = proxy_message_new(proxy, KT_OBJECT, KT_MANAGER_INTERFACE, "AddProbes", &message);
        if (r >= 0)
                r = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "a{sv}");
        for (size_t i = 0; r >= 0 && i < json_object_array_length(definitions); i++) {
                json_object *definition = json_object_array_get_idx(definitions, i);

                if (!json_object_is_type(definition, json_type_object))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "probes[%zu]: an object is wanted",
                                        i);
                r = variant_append_object(message, definition);
        }
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        if (r < 0)
                return proxy_judge(NULL, r, reason);
        r = proxy_send(proxy, message, &answer, reason);
        return r ?: variant_read(answer, ret_events);
}

int definition_send(Proxy *proxy,
                const DefinitionMessage *definition,
                char **ret_event,
                Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        const char *event;

        int r = send(proxy, definition, false, &answer, reason);
        if (r == KT_E_AUTH_REQUIRED && proxy->may_ask)
                r = send(proxy, definition, true, &answer, reason);
        if (r != 0)
                return r;
        r = sd_bus_message_read(answer, "s", &event);
        if (r < 0)
                return r;
        *ret_event = strdup(event);
        return *ret_event ? 0 : -ENOMEM;
}
