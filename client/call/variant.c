/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns D-Bus values into JSON and back, so that verbs handle only JSON. The values come from
 * ktraced, and D-Bus itself limits their nesting (64 levels). Owns nothing. */

#include "call/variant.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Reads numbers of every width. Any other type is -EBADMSG. */
static int variant_read_number(sd_bus_message *message, char type, json_object **ret) {
        union {
                uint8_t y;
                int16_t n;
                uint16_t q;
                int32_t i;
                uint32_t u;
                int64_t x;
                uint64_t t;
                double d;
                int b;
        } v;

        int r = sd_bus_message_read_basic(message, type, &v);

        if (r < 0)
                return r;
        switch (type) {
        case SD_BUS_TYPE_BYTE:
                *ret = json_object_new_int64(v.y);
                break;
        case SD_BUS_TYPE_INT16:
                *ret = json_object_new_int64(v.n);
                break;
        case SD_BUS_TYPE_UINT16:
                *ret = json_object_new_int64(v.q);
                break;
        case SD_BUS_TYPE_INT32:
                *ret = json_object_new_int64(v.i);
                break;
        case SD_BUS_TYPE_UINT32:
                *ret = json_object_new_int64(v.u);
                break;
        case SD_BUS_TYPE_INT64:
                *ret = json_object_new_int64(v.x);
                break;
        case SD_BUS_TYPE_UINT64:
                *ret = json_object_new_uint64(v.t);
                break;
        case SD_BUS_TYPE_DOUBLE:
                *ret = json_object_new_double(v.d);
                break;
        case SD_BUS_TYPE_BOOLEAN:
                *ret = json_object_new_boolean(v.b);
                break;
        default:
                return -EBADMSG;
        }
        return *ret ? 0 : -ENOMEM;
}

static int variant_read_text(sd_bus_message *message, char type, json_object **ret) {
        const char *text;
        int r = sd_bus_message_read_basic(message, type, &text);

        if (r < 0)
                return r;
        *ret = json_object_new_string(text);
        return *ret ? 0 : -ENOMEM;
}

/* Reads the entries of an open a{?*} container. */
static int variant_read_entries(sd_bus_message *message, const char *entry, json_object *object) {
        char types[256];
        int r;

        /* entry is "{sv}", but sd-bus expects the types without braces. */
        (void)snprintf(types, sizeof(types), "%.*s", (int)strlen(entry) - 2, entry + 1);
        while ((r = sd_bus_message_enter_container(message, SD_BUS_TYPE_DICT_ENTRY, types)) > 0) {
                _cleanup_json_ json_object *key = NULL, *value = NULL;

                r = variant_read(message, &key);
                if (r == 0)
                        r = variant_read(message, &value);
                if (r < 0)
                        return r;
                if (json_object_object_add(object, json_object_get_string(key), value) < 0)
                        return -ENOMEM;
                value = NULL; /* now owned by object */
                r = sd_bus_message_exit_container(message);
                if (r < 0)
                        return r;
        }
        return r;
}

static int variant_read_items(sd_bus_message *message, json_object *array) {
        for (;;) {
                json_object *item;
                int r = variant_read(message, &item);

                if (r == -ENXIO)
                        return 0;
                if (r < 0)
                        return r;
                if (json_object_array_add(array, item) < 0) {
                        json_object_put(item);
                        return -ENOMEM;
                }
        }
}

static int variant_read_container(sd_bus_message *message,
                char type,
                const char *contents,
                json_object **ret) {
        bool is_object = type == SD_BUS_TYPE_ARRAY && *contents == SD_BUS_TYPE_DICT_ENTRY_BEGIN;
        _cleanup_json_ json_object *value = NULL;
        int r = sd_bus_message_enter_container(message, type, contents);

        if (r < 0)
                return r;
        if (type == SD_BUS_TYPE_VARIANT) {
                r = variant_read(message, &value);
        } else {
                value = is_object ? json_object_new_object() : json_object_new_array();
                if (!value)
                        return -ENOMEM;
                r = is_object ? variant_read_entries(message, contents, value)
                              : variant_read_items(message, value);
        }
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(message);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(value);
        return 0;
}

int variant_read(sd_bus_message *message, json_object **ret) {
        const char *contents;
        char type;
        int r = sd_bus_message_peek_type(message, &type, &contents);

        if (r < 0)
                return r;
        if (r == 0)
                return -ENXIO;
        switch (type) {
        case SD_BUS_TYPE_STRING:
        case SD_BUS_TYPE_OBJECT_PATH:
        case SD_BUS_TYPE_SIGNATURE:
                return variant_read_text(message, type, ret);
        case SD_BUS_TYPE_ARRAY:
        case SD_BUS_TYPE_STRUCT:
        case SD_BUS_TYPE_VARIANT:
                return variant_read_container(message, type, contents, ret);
        default:
                return variant_read_number(message, type, ret);
        }
}

static int variant_append_items(sd_bus_message *message, json_object *list) {
        size_t n = json_object_array_length(list);
        bool objects = n == 0 ||
                       json_object_is_type(json_object_array_get_idx(list, 0), json_type_object);
        int r = sd_bus_message_open_container(message, 'v', objects ? "aa{sv}" : "as");

        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', objects ? "a{sv}" : "s");
        for (size_t i = 0; r >= 0 && i < n; i++) {
                json_object *item = json_object_array_get_idx(list, i);

                r = objects ? variant_append_fields(message, item)
                            : sd_bus_message_append(message, "s", json_object_get_string(item));
        }
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r;
}

static int variant_append_dictionary(sd_bus_message *message, json_object *value) {
        int r = sd_bus_message_open_container(message, 'v', "a{sv}");

        if (r >= 0)
                r = variant_append_fields(message, value);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

static int variant_append(sd_bus_message *message, json_object *value) {
        switch (json_object_get_type(value)) {
        case json_type_string:
                return sd_bus_message_append(message, "v", "s", json_object_get_string(value));
        case json_type_int:
                return sd_bus_message_append(message, "v", "t", json_object_get_uint64(value));
        case json_type_boolean:
                return sd_bus_message_append(message, "v", "b", json_object_get_boolean(value));
        case json_type_array:
                return variant_append_items(message, value);
        case json_type_object:
                return variant_append_dictionary(message, value);
        default:
                return -EBADMSG;
        }
}

int variant_append_fields(sd_bus_message *message, json_object *object) {
        int r = sd_bus_message_open_container(message, 'a', "{sv}");

        json_object_object_foreach(object, key, value) {
                if (r < 0)
                        break;
                r = sd_bus_message_open_container(message, 'e', "sv");
                if (r >= 0)
                        r = sd_bus_message_append(message, "s", key);
                if (r >= 0)
                        r = variant_append(message, value);
                if (r >= 0)
                        r = sd_bus_message_close_container(message);
        }
        return r < 0 ? r : sd_bus_message_close_container(message);
}
