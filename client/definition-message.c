/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A definition on its way to AddProbe. */

#include "definition-message.h"

#include <errno.h>
#include <string.h>

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

static int make_object(const DefinitionMessage *d, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *args = d->n_args > 0 ? json_object_new_array() : NULL;

        int r = object ? 0 : -ENOMEM;
        r = r ?: put_text(object, "name", d->name);
        r = r ?: put_text(object, "on", d->on);
        r = r ?: put_text(object, "event", d->event);
        r = r ?: put_text(object, "raw", d->raw);
        r = r ?: put_text(object, "about", d->about);
        if (r == 0 && d->is_return)
                r = put(object, "return", json_object_new_boolean(true));
        if (r == 0 && d->n_args > 0)
                r = put(object, "args", args);
        for (size_t i = 0; r == 0 && i < d->n_args; i++)
                if (json_object_array_add(args, json_object_new_string(d->args[i])) < 0)
                        r = -ENOMEM;
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

int definition_send(Proxy *proxy,
                const DefinitionMessage *definition,
                char **ret_event,
                Reason *reason) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *answer = NULL;
        _cleanup_json_ json_object *object = NULL;
        const char *event;

        int r = make_object(definition, &object);
        if (r == 0)
                r = proxy_message_new(proxy, KT_OBJECT, KT_MANAGER_INTERFACE, "AddProbe", &message);
        if (r >= 0)
                r = variant_append_object(message, object);
        if (r < 0)
                return r;
        r = proxy_send(proxy, message, &answer, reason);
        if (r != 0)
                return r;
        r = sd_bus_message_read(answer, "s", &event);
        if (r < 0)
                return r;
        *ret_event = strdup(event);
        return *ret_event ? 0 : -ENOMEM;
}
