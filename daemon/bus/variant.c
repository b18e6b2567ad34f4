/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Converts JSON answers to D-Bus types. The floors below create answers as JSON, so that each door
 * can send them. Knows only types, no keys. The first entry of a list defines the list's type: we
 * write the answers ourselves, so a mixed list is a bug and is refused. */
#include "bus/variant.h"

#include <errno.h>
#include <inttypes.h>

static int append_number(sd_bus_message *m, json_object *o) {
        /* get_int64 saturates. */
        uint64_t number = json_object_get_uint64(o);
        if (number > INT64_MAX)
                return sd_bus_message_append(m, "v", "t", number);
        return sd_bus_message_append(m, "v", "x", json_object_get_int64(o));
}

static int append_strings(sd_bus_message *m, json_object *list) {
        size_t n = json_object_array_length(list);

        for (size_t i = 0; i < n; i++) {
                json_object *o = json_object_array_get_idx(list, i);
                if (!json_object_is_type(o, json_type_string))
                        return -EINVAL;
                int r = sd_bus_message_append(m, "s", json_object_get_string(o));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int append_numbers(sd_bus_message *m, json_object *list) {
        size_t n = json_object_array_length(list);

        for (size_t i = 0; i < n; i++) {
                json_object *o = json_object_array_get_idx(list, i);
                if (!json_object_is_type(o, json_type_int))
                        return -EINVAL;
                int r = sd_bus_message_append(m, "x", json_object_get_int64(o));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int variant_append_objects(sd_bus_message *m, json_object *list) {
        size_t n = json_object_array_length(list);

        for (size_t i = 0; i < n; i++) {
                int r = variant_append_object(m, json_object_array_get_idx(list, i));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int variant_append_array(sd_bus_message *m, json_object *list) {
        static const struct {
                json_type first;
                const char *contents;
                int (*append)(sd_bus_message *m, json_object *list);
        } kinds[] = {
                { json_type_string, "s", append_strings },
                { json_type_int, "x", append_numbers },
                { json_type_object, "a{sv}", variant_append_objects },
        };

        char variant[16];
        size_t i = 0;
        int r;

        if (json_object_array_length(list) > 0) {
                json_type first = json_object_get_type(json_object_array_get_idx(list, 0));
                while (i < sizeof(kinds) / sizeof(kinds[0]) && kinds[i].first != first)
                        i++;
                if (i == sizeof(kinds) / sizeof(kinds[0]))
                        return -EINVAL;
        }
        snprintf(variant, sizeof(variant), "a%s", kinds[i].contents);
        r = sd_bus_message_open_container(m, SD_BUS_TYPE_VARIANT, variant);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, kinds[i].contents);
        if (r < 0)
                return r;
        r = kinds[i].append(m, list);
        if (r < 0)
                return r;
        r = sd_bus_message_close_container(m);
        if (r < 0)
                return r;
        return sd_bus_message_close_container(m);
}

static int append_nested(sd_bus_message *m, json_object *o) {
        int r;

        r = sd_bus_message_open_container(m, SD_BUS_TYPE_VARIANT, "a{sv}");
        if (r < 0)
                return r;
        r = variant_append_object(m, o);
        if (r < 0)
                return r;
        return sd_bus_message_close_container(m);
}

static int variant_append_value(sd_bus_message *m, json_object *o) {
        switch (json_object_get_type(o)) {
        case json_type_boolean:
                return sd_bus_message_append(m, "v", "b", json_object_get_boolean(o));
        case json_type_double:
                return sd_bus_message_append(m, "v", "d", json_object_get_double(o));
        case json_type_int:
                return append_number(m, o);
        case json_type_string:
                return sd_bus_message_append(m, "v", "s", json_object_get_string(o));
        case json_type_array:
                return variant_append_array(m, o);
        case json_type_object:
                return append_nested(m, o);
        case json_type_null:
                break;
        }
        return -EINVAL;
}

static int append_entry(sd_bus_message *m, const char *key, json_object *value) {
        int r;

        r = sd_bus_message_open_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv");
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "s", key);
        if (r < 0)
                return r;
        r = variant_append_value(m, value);
        if (r < 0)
                return r;
        return sd_bus_message_close_container(m);
}

int variant_append_object(sd_bus_message *m, json_object *o) {
        int r;

        if (!json_object_is_type(o, json_type_object))
                return -EINVAL;
        r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, "{sv}");
        if (r < 0)
                return r;
        json_object_object_foreach(o, key, value) {
                if (!value)
                        continue;
                r = append_entry(m, key, value);
                if (r < 0)
                        return r;
        }
        r = sd_bus_message_close_container(m);
        return r < 0 ? r : 0;
}

int variant_append_list(sd_bus_message *m, json_object *list) {
        int r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, "a{sv}");

        for (size_t i = 0; r >= 0 && i < json_object_array_length(list); i++)
                r = variant_append_object(m, json_object_array_get_idx(list, i));
        return r < 0 ? r : sd_bus_message_close_container(m);
}

int variant_append_texts(sd_bus_message *m, json_object *list) {
        int r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, "s");

        r = r < 0 ? r : append_strings(m, list);
        return r < 0 ? r : sd_bus_message_close_container(m);
}
