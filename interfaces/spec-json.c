/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Session specs as JSON, both ways: the door of --spec files and saved sessions. It reads what
 * json_parse_strict() made and feeds the setters of spec.c, which judge every value; only what a
 * setter cannot see (types, keys within an event) is judged here. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "duration.h"
#include "quote.h"
#include "spec.h"

static const char *type_name(json_object *value) {
        switch (json_object_get_type(value)) {
        case json_type_null:
                return "null";
        case json_type_boolean:
                return "true or false";
        case json_type_int:
                return "a number";
        case json_type_double:
                return "a number with a fraction";
        case json_type_string:
                return "a string";
        case json_type_array:
                return "a list";
        case json_type_object:
                return "an object";
        }
        return "something else";
}

/* A string is cut by no NUL: whoever made the object may not have been our loader. */
static bool is_whole_string(json_object *value) {
        return json_object_is_type(value, json_type_string) &&
               strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value);
}

/* index: in the list of field. */
static int add_named_entry(Spec *spec,
                const SpecField *field,
                size_t index,
                json_object *event,
                Reason *reason) {
        const char *name = NULL, *filter = NULL;

        json_object_object_foreach(event, key, value) {
                bool is_name = strcmp(key, "name") == 0;

                if (!is_name && strcmp(key, "filter") != 0)
                        return reason_set(reason,
                                        KT_E_UNKNOWN_KEY,
                                        "%s[%zu]: unknown key %s: the known ones are name, "
                                        "filter",
                                        field->name,
                                        index,
                                        quote(key).text);
                if (!is_whole_string(value))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s[%zu].%s: a string is wanted, not %s",
                                        field->name,
                                        index,
                                        key,
                                        type_name(value));
                *(is_name ? &name : &filter) = json_object_get_string(value);
        }
        if (!name)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s[%zu].name: missing: write %s",
                                field->name,
                                index,
                                strcmp(field->name, "events") == 0
                                                ? "system:event, as 'ktracectl events' lists them"
                                                : "a name, as 'ktracectl probes list' shows them");
        return spec_add_entry(spec, field, name, filter, reason);
}

static int add_entries(Spec *spec, const SpecField *field, json_object *list, Reason *reason) {
        int r;

        r = spec_begin_list(spec, field, reason);
        for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++) {
                json_object *event = json_object_array_get_idx(list, i);

                if (is_whole_string(event))
                        r = spec_add_entry(
                                        spec, field, json_object_get_string(event), NULL, reason);
                else if (json_object_is_type(event, json_type_object))
                        r = add_named_entry(spec, field, i, event, reason);
                else
                        r = reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s[%zu]: a string or an object is wanted, not %s",
                                        field->name,
                                        i,
                                        type_name(event));
        }
        return r;
}

static int set_number(Spec *spec, const SpecField *field, json_object *value, Reason *reason) {
        int64_t number = json_object_get_int64(value);

        /* The unsigned getter would turn it into 0. */
        if (number < 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %" PRId64 " is under the least of %" PRIu64,
                                field->name,
                                number,
                                field->min);
        return spec_set_number(spec, field->name, json_object_get_uint64(value), reason);
}

int spec_from_json(Spec *spec, json_object *object, Reason *reason) {
        if (!json_object_is_type(object, json_type_object))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "a session spec is an object, not %s",
                                type_name(object));

        json_object_object_foreach(object, key, value) {
                const SpecField *field = spec_field_find(key);
                int r;

                if (!field)
                        return spec_refuse_key(key, reason);
                if (field->type == SPEC_STRING && is_whole_string(value))
                        r = spec_set_string(spec, key, json_object_get_string(value), reason);
                else if (field->type == SPEC_NUMBER && json_object_is_type(value, json_type_int))
                        r = set_number(spec, field, value, reason);
                else if (field->type == SPEC_BOOLEAN &&
                                json_object_is_type(value, json_type_boolean))
                        r = spec_set_boolean(spec, key, json_object_get_boolean(value), reason);
                else if (field->type == SPEC_EVENTS && json_object_is_type(value, json_type_array))
                        r = add_entries(spec, field, value, reason);
                else
                        r = spec_refuse_type(field, type_name(value), reason);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Consumes value; NULL stands for memory that ran out while it was made. */
static int add(json_object *object, const char *key, json_object *value) {
        if (!value)
                return -ENOMEM;
        if (json_object_object_add(object, key, value) < 0) {
                json_object_put(value);
                return -ENOMEM;
        }
        return 0;
}

static int add_scope(json_object *object, const Spec *spec) {
        _cleanup_free_ char *scope = NULL;
        int r;

        if (!spec->has_scope)
                return 0;
        r = spec_format_scope(spec, &scope);
        return r < 0 ? r : add(object, "scope", json_object_new_string(scope));
}

static int add_lifetime(json_object *object, const Spec *spec) {
        char text[DURATION_TEXT_MAX + 8] = "client";

        if (spec->lifetime == LIFETIME_LINGER)
                strcpy(text, "linger");
        if (spec->lifetime == LIFETIME_LINGER && spec->linger_usec > 0) {
                strcat(text, ":");
                duration_format(spec->linger_usec, text + strlen(text));
        }
        return add(object, "lifetime", json_object_new_string(text));
}

static int append_event(json_object *list, const SpecEvent *event) {
        _cleanup_json_ json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = add(object, "name", json_object_new_string(event->name));
        if (r == 0 && event->filter)
                r = add(object, "filter", json_object_new_string(event->filter));
        if (r == 0 && json_object_array_add(list, object) < 0)
                r = -ENOMEM;
        if (r == 0)
                object = NULL;
        return r;
}

static int add_list(json_object *object, const char *key, const SpecEvent *events, size_t n) {
        json_object *list = json_object_new_array();
        int r;

        r = add(object, key, list);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = append_event(list, &events[i]);
        return r;
}

int spec_to_json(const Spec *spec, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        int r = 0;

        if (!object)
                return -ENOMEM;
        if (spec->name)
                r = add(object, "name", json_object_new_string(spec->name));
        if (r == 0)
                r = add(object, "mode", json_object_new_string(spec_mode_to_string(spec->mode)));
        if (r == 0)
                r = add_scope(object, spec);
        if (r == 0)
                r = add_list(object, "events", spec->events, spec->n_events);
        if (r == 0 && spec->n_probes > 0)
                r = add_list(object, "probes", spec->probes, spec->n_probes);
        if (r == 0 && spec->where)
                r = add(object, "where", json_object_new_string(spec->where));
        if (r == 0)
                r = add(object, "buffer-kb", json_object_new_uint64(spec->buffer_kb));
        if (r == 0)
                r = add(object, "clock", json_object_new_string(spec->clock));
        if (r == 0)
                r = add_lifetime(object, spec);
        if (r == 0 && spec->allow_setuid)
                r = add(object, "allow-setuid", json_object_new_boolean(true));
        if (r == 0 && spec->unredacted)
                r = add(object, "unredacted", json_object_new_boolean(true));
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}
