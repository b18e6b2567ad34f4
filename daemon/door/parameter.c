/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the objects in the parameters of calls, for both doors. They are untrusted: unknown keys
 * are refused, not skipped. The tables of the spec and the definition check their values; this file
 * adds the keys that only calls have. */
#include "door/parameter.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/quote.h"
#include "interfaces/spec-json.h"

#define AS_USER  "as-user"
#define FILE_KEY "file"

int parameter_read_spec(json_object *object, Spec **ret, Reason *reason) {
        _cleanup_spec_ Spec *spec = spec_new();

        if (!spec)
                return -ENOMEM;
        int r = spec_from_json(spec, object, reason);
        r = r ?: spec_complete(spec, reason);
        if (r == 0)
                *ret = TAKE_PTR(spec);
        return r;
}

static int take_as_user(json_object *object, uid_t *ret, Reason *reason) {
        json_object *value;

        *ret = (uid_t)-1;
        if (!json_object_object_get_ex(object, AS_USER, &value))
                return 0;
        int64_t number = json_object_is_type(value, json_type_int) ? json_object_get_int64(value)
                                                                   : -1;
        if (number < 0 || number >= UINT32_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                AS_USER ": %s is not a uid",
                                json_object_to_json_string(value));
        *ret = (uid_t)number;
        json_object_object_del(object, AS_USER);
        return 0;
}

int parameter_read_question(json_object *object, Spec **ret, uid_t *ret_as_user, Reason *reason) {
        int r = take_as_user(object, ret_as_user, reason);

        return r ?: parameter_read_spec(object, ret, reason);
}

static int take_file(json_object *object, uint32_t *ret, Reason *reason) {
        json_object *value;

        if (!json_object_object_get_ex(object, FILE_KEY, &value))
                return 0;
        int64_t number = json_object_is_type(value, json_type_int) ? json_object_get_int64(value)
                                                                   : 0;
        if (number <= 0 || number > UINT32_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "file: expected the number that OpenProbeFile returned, got %s",
                                json_object_is_type(value, json_type_int)
                                                ? json_object_get_string(value)
                                                : spec_json_type(value));
        *ret = (uint32_t)number;
        json_object_object_del(object, FILE_KEY);
        return 0;
}

int parameter_read_definition(json_object *object, Definition **ret, Reason *reason) {
        _cleanup_(definition_free_cleanup) Definition *definition = NULL;
        uint32_t file = 0;

        int r = take_file(object, &file, reason);
        r = r ?: definition_from_json(object, &definition, reason);
        if (r == 0 && file > 0) {
                r = definition_set_number(definition, FILE_KEY, file, reason);
                r = r ?: definition_complete(definition, reason);
        }
        if (r == 0)
                *ret = TAKE_PTR(definition);
        return r;
}

int parameter_read_definitions(json_object *list,
                Definition ***ret,
                size_t *ret_n,
                Reason *reason) {
        size_t n_wanted = json_object_array_length(list), n = 0;

        if (n_wanted > DEFINITIONS_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "probes[%d]: more than %d in one call",
                                DEFINITIONS_MAX,
                                DEFINITIONS_MAX);
        Definition **definitions = calloc(n_wanted + 1, sizeof(Definition *));
        int r = definitions ? 0 : -ENOMEM;

        while (r == 0 && n < n_wanted) {
                json_object *object = json_object_array_get_idx(list, n);
                Reason inner = { "" };

                if (json_object_is_type(object, json_type_object))
                        r = parameter_read_definition(object, &definitions[n], &inner);
                else
                        r = reason_set(&inner,
                                        KT_E_INVALID_SPEC,
                                        "expected an object, got %s",
                                        spec_json_type(object));
                if (r > 0)
                        r = reason_set(reason, r, "probes[%zu]: %s", n, inner.text);
                n += r == 0;
        }
        if (r != 0) {
                definitions_free(definitions, n);
                return r;
        }
        *ret = definitions;
        *ret_n = n;
        return 0;
}

int parameter_read_flag(json_object *options, const char *known, bool *ret, Reason *reason) {
        if (!options)
                return 0;
        json_object_object_foreach(options, key, value) {
                if (!known)
                        return reason_set(reason,
                                        KT_E_UNKNOWN_KEY,
                                        "%.64s: no such option; there are none yet",
                                        key);
                if (strcmp(key, known) != 0)
                        return reason_set(reason,
                                        KT_E_UNKNOWN_KEY,
                                        "%.64s: no such option: there is %s",
                                        key,
                                        known);
                if (!json_object_is_type(value, json_type_boolean))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: expected true or false, got %s",
                                        known,
                                        spec_json_type(value));
                *ret = json_object_get_boolean(value);
        }
        return 0;
}

static int parameter_read_file_name(json_object *value,
                char ret[static PARAMETER_FILE_MAX + 1],
                Reason *reason) {
        bool is_number = json_object_is_type(value, json_type_int);
        int64_t number = is_number ? json_object_get_int64(value) : 1;
        const char *text;

        if (!is_number && !spec_json_is_string(value))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "file: expected a name or a number from 1, got %s",
                                spec_json_type(value));
        text = json_object_get_string(value);
        if (number < 1 || number > 99999999)
                return reason_set(reason, KT_E_INVALID_SPEC, "file: %s: files count from 1", text);
        if (*text == '\0' || strlen(text) > PARAMETER_FILE_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "file: %s is not a name of a file: ListSpool returns the names",
                                quote(text).text);
        (void)snprintf(ret, PARAMETER_FILE_MAX + 1, "%s", text);
        return 0;
}

int parameter_read_file(json_object *options,
                char ret[static PARAMETER_FILE_MAX + 1],
                Reason *reason) {
        *ret = '\0';
        if (!options)
                return 0;
        json_object_object_foreach(options, key, value) {
                if (strcmp(key, "file") != 0)
                        return reason_set(reason,
                                        KT_E_UNKNOWN_KEY,
                                        "%.64s: no such option: there is file",
                                        key);
                int r = parameter_read_file_name(value, ret, reason);
                if (r != 0)
                        return r;
        }
        return 0;
}
