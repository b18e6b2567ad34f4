/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Converts the arguments of a call to JSON, so that both doors use the same readers: s is a string,
 * b true or false, every integer type a number, because language bindings choose one on their own,
 * d a number with a fraction, as and aa{sv} a list, and a{sv} an object. Other types have no
 * meaning here and are refused, also where no value is expected. Knows no keys: the readers of the
 * JSON check them.
 *
 * The message is untrusted. Each container is entered with the type that was read. A D-Bus
 * dictionary may have the same key twice, which is refused. JSON_MAX_DEPTH limits the recursion,
 * and the constants in arguments.h limit the memory. */
#include "bus/arguments.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "bus/path.h"
#include "interfaces/json-path.h"
#include "interfaces/quote.h"

#define KEY_MAX 256 /* bytes; no known key is longer */

typedef struct Arguments {
        sd_bus_message *m;
        JsonStep path[JSON_MAX_DEPTH];
        size_t depth;
        size_t n_values, n_text;
        Reason *reason;
} Arguments;

static int read_object(Arguments *arguments, json_object **ret);

static int arguments_refuse(const Arguments *arguments, const char *what) {
        char path[256];

        json_path_format(arguments->path, arguments->depth, path, sizeof(path));
        return reason_set(arguments->reason, KT_E_INVALID_SPEC, "%s%s", path, what);
}

/* Called for each value before it is made. */
static int arguments_count(Arguments *arguments, size_t n_text) {
        if (++arguments->n_values > ARGUMENTS_VALUES_MAX)
                return arguments_refuse(arguments, "too many values in one call");
        arguments->n_text += n_text;
        if (arguments->n_text > ARGUMENTS_TEXT_MAX)
                return arguments_refuse(arguments, "more than 16 MiB of text in one call");
        return 0;
}

/* Called for each list and object before it is made. */
static int arguments_enter(Arguments *arguments) {
        int r = arguments_count(arguments, 0);

        if (r != 0)
                return r;
        if (arguments->depth == JSON_MAX_DEPTH)
                return arguments_refuse(arguments, "nested too deep, the maximum is 16 levels");
        arguments->path[arguments->depth++] = (JsonStep){};
        return 0;
}

static int read_string(Arguments *arguments, json_object **ret) {
        const char *text;

        int r = sd_bus_message_read_basic(arguments->m, 's', &text);
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        size_t size = strlen(text);
        r = arguments_count(arguments, size);
        if (r != 0)
                return r;
        *ret = json_object_new_string_len(text, (int)size);
        return *ret ? 0 : -ENOMEM;
}

static int read_number(Arguments *arguments, char type, json_object **ret) {
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
        } value;

        int r = arguments_count(arguments, 0);
        if (r != 0)
                return r;
        r = sd_bus_message_read_basic(arguments->m, type, &value);
        if (r < 0)
                return r;
        if (type == 'd' && !isnormal(value.d) && fpclassify(value.d) != FP_ZERO)
                return arguments_refuse(arguments, "NaN, infinity, or a number too close to 0");
        switch (type) {
        case 'b':
                *ret = json_object_new_boolean(value.b);
                break;
        case 'd':
                *ret = json_object_new_double(value.d);
                break;
        case 't':
                *ret = json_object_new_uint64(value.t);
                break;
        default:
                *ret = json_object_new_int64(type == 'y'   ? value.y
                                             : type == 'n' ? value.n
                                             : type == 'q' ? value.q
                                             : type == 'i' ? value.i
                                             : type == 'u' ? value.u
                                                           : value.x);
        }
        return *ret ? 0 : -ENOMEM;
}

static int arguments_read_entry(Arguments *arguments, const char *contents, json_object *list) {
        json_object *entry = NULL;

        int r = *contents == 's' ? read_string(arguments, &entry) : read_object(arguments, &entry);
        if (r != 0)
                return r;
        if (json_object_array_add(list, entry) == 0)
                return 0;
        json_object_put(entry);
        return -ENOMEM;
}

static int read_list(Arguments *arguments, const char *contents, json_object **ret) {
        int r = arguments_enter(arguments);

        if (r != 0)
                return r;
        _cleanup_json_ json_object *list = json_object_new_array_ext(4);
        if (!list)
                return -ENOMEM;
        r = sd_bus_message_enter_container(arguments->m, SD_BUS_TYPE_ARRAY, contents);
        while (r >= 0 && (r = sd_bus_message_at_end(arguments->m, false)) == 0) {
                r = arguments_read_entry(arguments, contents, list);
                if (r != 0)
                        return r;
                arguments->path[arguments->depth - 1].index++;
        }
        r = r < 0 ? r : sd_bus_message_exit_container(arguments->m);
        if (r < 0)
                return r;
        arguments->depth--;
        *ret = TAKE_PTR(list);
        return 0;
}

static const char *describe_type(const char *type) {
        switch (*type) {
        case 'o':
                return "an object path";
        case 'g':
                return "a signature";
        case 'h':
                return "a file descriptor";
        case 'v':
                return "a variant";
        case '(':
                return "a structure";
        default:
                return type[1] == '{' ? "a dictionary of another type" : "a list of another type";
        }
}

static int read_value(Arguments *arguments, const char *type, json_object **ret) {
        char what[160];

        if (strcmp(type, "s") == 0)
                return read_string(arguments, ret);
        if (strlen(type) == 1 && strchr("ynqiuxtbd", *type))
                return read_number(arguments, *type, ret);
        if (strcmp(type, "as") == 0 || strcmp(type, "aa{sv}") == 0)
                return read_list(arguments, type + 1, ret);
        if (strcmp(type, "a{sv}") == 0)
                return read_object(arguments, ret);
        snprintf(what,
                        sizeof(what),
                        "expected a string, a number, true or false, a list (as, aa{sv}) or an "
                        "object (a{sv}), got %s",
                        describe_type(type));
        return arguments_refuse(arguments, what);
}

/* Reads the key of a member and its value, a variant. */
static int read_member(Arguments *arguments, struct lh_table *members) {
        _cleanup_json_ json_object *value = NULL;
        _cleanup_free_ char *key = NULL;
        const char *name, *type;

        int r = sd_bus_message_read_basic(arguments->m, 's', &name);
        r = r < 0 ? r : sd_bus_message_peek_type(arguments->m, NULL, &type);
        if (r < 0)
                return r;
        if (strlen(name) > KEY_MAX)
                return reason_set(arguments->reason,
                                KT_E_UNKNOWN_KEY,
                                "unknown key %s: it is longer than any known one",
                                quote(name).text);
        key = strdup(name);
        if (!key)
                return -ENOMEM;
        arguments->path[arguments->depth - 1].key = key;
        unsigned long hash = lh_get_hash(members, key);
        if (lh_table_lookup_entry_w_hash(members, key, hash))
                return arguments_refuse(arguments, "given twice: give it once");
        r = sd_bus_message_enter_container(arguments->m, SD_BUS_TYPE_VARIANT, type);
        r = r < 0 ? r : read_value(arguments, type, &value);
        r = r != 0 ? r : sd_bus_message_exit_container(arguments->m);
        if (r < 0 || !value)
                return r;
        if (lh_table_insert_w_hash(members, key, value, hash, 0) < 0)
                return -ENOMEM;
        key = NULL; /* the object owns both */
        value = NULL;
        return 0;
}

static int read_object(Arguments *arguments, json_object **ret) {
        int r = arguments_enter(arguments);

        if (r != 0)
                return r;
        _cleanup_json_ json_object *object = json_object_new_object();
        if (!object)
                return -ENOMEM;
        r = sd_bus_message_enter_container(arguments->m, SD_BUS_TYPE_ARRAY, "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(
                                          arguments->m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
                r = read_member(arguments, json_object_get_object(object));
                if (r != 0)
                        return r;
                r = sd_bus_message_exit_container(arguments->m);
        }
        r = r < 0 ? r : sd_bus_message_exit_container(arguments->m);
        if (r < 0)
                return r;
        arguments->depth--;
        *ret = TAKE_PTR(object);
        return 0;
}

/* Reads a list of objects. Each has a path of its own in errors: "NAME[INDEX]: PATH: ". */
static int arguments_read_objects(Arguments *arguments, const char *name, json_object **ret) {
        _cleanup_json_ json_object *list = json_object_new_array_ext(4);
        Reason *reason = arguments->reason;
        Reason inner = {};

        if (!list)
                return -ENOMEM;
        arguments->reason = &inner;
        int r = sd_bus_message_enter_container(arguments->m, SD_BUS_TYPE_ARRAY, "a{sv}");
        while (r >= 0 && (r = sd_bus_message_at_end(arguments->m, false)) == 0) {
                r = arguments_read_entry(arguments, "a{sv}", list);
                if (r > 0)
                        return reason_set(reason,
                                        r,
                                        "%s[%zu]: %s",
                                        name,
                                        json_object_array_length(list),
                                        inner.text);
        }
        r = r < 0 ? r : sd_bus_message_exit_container(arguments->m);
        if (r < 0)
                return r;
        arguments->reason = reason;
        *ret = TAKE_PTR(list);
        return 0;
}

/* The session and the flag are not in the body of the message. */
static int arguments_read_parameter(Arguments *arguments,
                const MethodValue *parameter,
                json_object **ret) {
        sd_bus_message *m = arguments->m;

        switch (parameter->type) {
        case VALUE_SESSION:
                *ret = json_object_new_string(path_get_session_id(sd_bus_message_get_path(m)));
                return *ret ? 0 : -ENOMEM;
        case VALUE_MAY_ASK:
                *ret = json_object_new_boolean(
                                sd_bus_message_get_allow_interactive_authorization(m) > 0);
                return *ret ? 0 : -ENOMEM;
        case VALUE_OBJECTS:
                return arguments_read_objects(arguments, parameter->place ?: parameter->name, ret);
        default:
                return read_value(arguments, value_get_signature(parameter->type), ret);
        }
}

int arguments_read(sd_bus_message *m, const Method *method, json_object **ret, Reason *reason) {
        _cleanup_json_ json_object *parameters = json_object_new_object();
        Arguments arguments = { .m = m, .reason = reason };

        if (!parameters)
                return -ENOMEM;
        for (const MethodValue *p = method->parameters; p && p->name; p++) {
                json_object *value = NULL;

                int r = arguments_read_parameter(&arguments, p, &value);
                if (r != 0)
                        return r;
                if (json_object_object_add(parameters, p->name, value) < 0) {
                        json_object_put(value);
                        return -ENOMEM;
                }
        }
        *ret = TAKE_PTR(parameters);
        return 0;
}
