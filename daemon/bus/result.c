/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Converts the JSON result of a method to the D-Bus types of its table entry. Used by call.c. */
#include "bus/result.h"

#include <errno.h>

#include "bus/path.h"
#include "bus/variant.h"

static int result_append_path(sd_bus_message *m, json_object *id) {
        SessionPath path = path_of_session(json_object_get_string(id));

        return sd_bus_message_append(m, "o", path.text);
}

static int result_append_session(sd_bus_message *m, json_object *session) {
        const char *id = json_object_get_string(json_object_object_get(session, "id"));

        return sd_bus_message_append(m,
                        "(sosus)",
                        id,
                        path_of_session(id).text,
                        json_object_get_string(json_object_object_get(session, "name")),
                        (uint32_t)json_object_get_int64(json_object_object_get(session, "uid")),
                        json_object_get_string(json_object_object_get(session, "state")));
}

static int result_append_sessions(sd_bus_message *m, json_object *list) {
        int r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, "(sosus)");

        for (size_t i = 0; r >= 0 && i < json_object_array_length(list); i++)
                r = result_append_session(m, json_object_array_get_idx(list, i));
        return r < 0 ? r : sd_bus_message_close_container(m);
}

static int result_append_value(sd_bus_message *m, ValueType type, json_object *value, int fd) {
        switch (type) {
        case VALUE_TEXT:
        case VALUE_ID:
                return sd_bus_message_append(m, "s", json_object_get_string(value));
        case VALUE_NUMBER:
                return sd_bus_message_append(m, "u", (uint32_t)json_object_get_int64(value));
        case VALUE_OBJECT:
                return variant_append_object(m, value);
        case VALUE_TEXTS:
                return variant_append_texts(m, value);
        case VALUE_OBJECTS:
                return variant_append_list(m, value);
        case VALUE_FD:
                return sd_bus_message_append(m, "h", fd);
        case VALUE_SESSIONS:
                return result_append_sessions(m, value);
        case VALUE_PATH:
                return result_append_path(m, value);
        default:
                return 0; /* not on the bus */
        }
}

int result_append(sd_bus_message *m, const Method *method, json_object *o, int fd) {
        for (const MethodValue *v = method->results; v && v->name; v++) {
                const char *name = v->type == VALUE_PATH ? "id" : v->name;
                int r = result_append_value(m, v->type, json_object_object_get(o, name), fd);

                if (r < 0)
                        return r;
        }
        return 0;
}
