/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Converts session specs from and to JSON, for --spec files and saved sessions. It reads the
 * objects of json_parse_strict() and calls the setters of spec.c, which check every value. This
 * file checks only what a setter cannot see: types, and the keys of an event. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/ascii.h"
#include "interfaces/duration.h"
#include "interfaces/quote.h"
#include "interfaces/spec-field.h"
#include "interfaces/spec-json.h"
#include "interfaces/spec-list.h"
#include "interfaces/spec-scope.h"
#include "interfaces/spec-spool.h"
#include "interfaces/spec-trigger-json.h"
#include "interfaces/spec-trigger.h"
#include "interfaces/spec.h"

const char *spec_json_type(json_object *value) {
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

/* A NUL would cut the string. The object may come from another loader than ours. */
bool spec_json_is_string(json_object *value) {
        return json_object_is_type(value, json_type_string) &&
               strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value);
}

/* An entry that is an object; the members read so far. */
typedef struct Entry {
        const SpecField *field; /* the list that contains the entry */
        size_t index;
        const char *name, *filter;
        bool is_off;
        json_object *triggers;
} Entry;

static int refuse_entry_key(const Entry *entry, const char *key, Reason *reason) {
        return reason_set(reason,
                        KT_E_UNKNOWN_KEY,
                        "%s[%zu]: unknown key %s: the known ones are name, filter, enabled%s",
                        entry->field->name,
                        entry->index,
                        quote(key).text,
                        strcmp(entry->field->name, "events") == 0 ? ", triggers" : "");
}

static int spec_json_read_entry_key(Entry *entry,
                const char *key,
                json_object *value,
                Reason *reason) {
        const char **text = strcmp(key, "name") == 0     ? &entry->name
                            : strcmp(key, "filter") == 0 ? &entry->filter
                                                         : NULL;
        bool is_flag = strcmp(key, "enabled") == 0;

        if (!text && !is_flag &&
                        (strcmp(key, "triggers") != 0 || strcmp(entry->field->name, "events") != 0))
                return refuse_entry_key(entry, key, reason);
        if (text && spec_json_is_string(value))
                *text = json_object_get_string(value);
        else if (is_flag && json_object_is_type(value, json_type_boolean))
                entry->is_off = !json_object_get_boolean(value);
        else if (!text && !is_flag && json_object_is_type(value, json_type_array))
                entry->triggers = value;
        else
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s[%zu].%s: expected %s, got %s",
                                entry->field->name,
                                entry->index,
                                key,
                                text      ? "a string"
                                : is_flag ? "true or false"
                                          : "a list of objects",
                                spec_json_type(value));
        return 0;
}

static int add_named_entry(Spec *spec,
                const SpecField *field,
                size_t index,
                json_object *event,
                Reason *reason) {
        Entry entry = { .field = field, .index = index };
        int r;

        json_object_object_foreach(event, key, value) {
                r = spec_json_read_entry_key(&entry, key, value, reason);
                if (r != 0)
                        return r;
        }
        if (!entry.name)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s[%zu].name: missing: write %s",
                                field->name,
                                index,
                                strcmp(field->name, "events") == 0
                                                ? "system:event, as 'ktracectl events' lists them"
                                                : "a name, as 'ktracectl probes list' shows them");
        r = spec_add_entry(spec, field, entry.name, entry.filter, reason);
        if (r == 0 && entry.is_off)
                spec_turn_off_last(spec, field);
        if (r == 0 && entry.triggers)
                r = spec_triggers_from_json(spec, index, entry.name, entry.triggers, reason);
        return r;
}

static int add_entries(Spec *spec, const SpecField *field, json_object *list, Reason *reason) {
        int r;

        r = spec_begin_list(spec, field, reason);
        for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++) {
                json_object *event = json_object_array_get_idx(list, i);

                if (spec_json_is_string(event))
                        r = spec_add_entry(
                                        spec, field, json_object_get_string(event), NULL, reason);
                else if (json_object_is_type(event, json_type_object))
                        r = add_named_entry(spec, field, i, event, reason);
                else
                        r = reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s[%zu]: expected a string or an object, got %s",
                                        field->name,
                                        i,
                                        spec_json_type(event));
        }
        return r;
}

static int spec_json_add_triggers(Spec *spec,
                const SpecField *field,
                json_object *list,
                Reason *reason) {
        int r = spec_begin_list(spec, field, reason);

        return r ?: spec_triggers_from_json(spec, SPEC_NO_ENTRY, NULL, list, reason);
}

static int spec_json_add_names(Spec *spec,
                const SpecField *field,
                json_object *list,
                Reason *reason) {
        int r = spec_begin_list(spec, field, reason);

        for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++) {
                json_object *name = json_object_array_get_idx(list, i);

                r = spec_json_is_string(name)
                                    ? spec_add_name(spec,
                                                      field,
                                                      json_object_get_string(name),
                                                      reason)
                                    : spec_refuse_type(field, spec_json_type(name), reason);
        }
        return r;
}

static int spec_json_set_number(Spec *spec,
                const SpecField *field,
                json_object *value,
                Reason *reason) {
        int64_t number = json_object_get_int64(value);

        /* The unsigned getter would return 0 for a negative number. */
        if (number < 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %" PRId64 " is less than the minimum of %" PRIu64,
                                field->name,
                                number,
                                field->min);
        return spec_set_number(spec, field->name, json_object_get_uint64(value), reason);
}

int spec_from_json(Spec *spec, json_object *object, Reason *reason) {
        if (!json_object_is_type(object, json_type_object))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "session spec: expected an object, got %s",
                                spec_json_type(object));

        json_object_object_foreach(object, key, value) {
                const SpecField *field = spec_field_find(key);
                int r;

                if (!field)
                        return spec_refuse_key(key, reason);
                if (field->type == SPEC_STRING && spec_json_is_string(value))
                        r = spec_set_string(spec, key, json_object_get_string(value), reason);
                else if (field->type == SPEC_NUMBER && json_object_is_type(value, json_type_int))
                        r = spec_json_set_number(spec, field, value, reason);
                else if (field->type == SPEC_BOOLEAN &&
                                json_object_is_type(value, json_type_boolean))
                        r = spec_set_boolean(spec, key, json_object_get_boolean(value), reason);
                else if (field->type == SPEC_EVENTS && json_object_is_type(value, json_type_array))
                        r = add_entries(spec, field, value, reason);
                else if (field->type == SPEC_TRIGGERS &&
                                json_object_is_type(value, json_type_array))
                        r = spec_json_add_triggers(spec, field, value, reason);
                else if (field->type == SPEC_WORDS && json_object_is_type(value, json_type_array))
                        r = spec_json_add_names(spec, field, value, reason);
                else if (field->type == SPEC_SPOOL && json_object_is_type(value, json_type_object))
                        r = spec_spool_from_json(spec, field, value, reason);
                else
                        r = spec_refuse_type(field, spec_json_type(value), reason);
                if (r != 0)
                        return r;
        }
        return 0;
}

int spec_json_put(json_object *object, const char *key, json_object *value) {
        if (!value)
                return -ENOMEM;
        if (json_object_object_add(object, key, value) < 0) {
                json_object_put(value);
                return -ENOMEM;
        }
        return 0;
}

int spec_json_append(json_object *list, json_object *value) {
        if (!value)
                return -ENOMEM;
        if (json_object_array_add(list, value) < 0) {
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
        return r < 0 ? r : spec_json_put(object, "scope", json_object_new_string(scope));
}

static int add_lifetime(json_object *object, const Spec *spec) {
        char text[SPEC_UNIT_MAX + 8] = "client";

        if (spec->lifetime == LIFETIME_UNIT)
                (void)snprintf(text, sizeof(text), "unit:%s", spec->lifetime_unit);
        if (spec->lifetime == LIFETIME_LINGER)
                strcpy(text, "linger");
        if (spec->lifetime == LIFETIME_LINGER && spec->linger_usec > 0) {
                strcat(text, ":");
                duration_format(spec->linger_usec, text + strlen(text));
        }
        return spec_json_put(object, "lifetime", json_object_new_string(text));
}

static int spec_json_append_event(json_object *list, const SpecEvent *event) {
        _cleanup_json_ json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = spec_json_put(object, "name", json_object_new_string(event->name));
        if (r == 0 && event->filter)
                r = spec_json_put(object, "filter", json_object_new_string(event->filter));
        if (r == 0 && event->is_off)
                r = spec_json_put(object, "enabled", json_object_new_boolean(false));
        return r ?: spec_json_append(list, TAKE_PTR(object));
}

static int add_list(json_object *object, const char *key, const SpecEvent *events, size_t n) {
        json_object *list = json_object_new_array();
        int r;

        r = spec_json_put(object, key, list);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = spec_json_append_event(list, &events[i]);
        return r;
}

static int spec_json_add_text(json_object *object, const char *key, const char *text) {
        return text ? spec_json_put(object, key, json_object_new_string(text)) : 0;
}

static int add_true(json_object *object, const char *key, bool value) {
        return value ? spec_json_put(object, key, json_object_new_boolean(true)) : 0;
}

static int add_functions(json_object *object, const Spec *spec) {
        json_object *list = spec->n_functions > 0 ? json_object_new_array() : NULL;
        int r = spec->n_functions > 0 ? spec_json_put(object, "functions", list) : 0;

        for (size_t i = 0; r == 0 && i < spec->n_functions; i++) {
                json_object *name = json_object_new_string(spec->functions[i]);

                if (!name || json_object_array_add(list, name) < 0) {
                        json_object_put(name);
                        r = -ENOMEM;
                }
        }
        return r;
}

/* Adds the keys of spec-kernel.c. */
static int add_kernel(json_object *object, const Spec *spec) {
        int r = spec_json_add_text(object, "cpus", spec->cpus);

        r = r ?: add_true(object, "stacktrace", spec->stacktrace);
        r = r ?: spec_json_add_text(object, "tracer", spec->tracer);
        r = r ?: add_functions(object, spec);
        r = r ?: spec_json_add_text(object, "instance", spec->instance);
        return r ?: add_true(object, "locked", spec->locked);
}

int spec_to_json(const Spec *spec, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        int r = 0;

        if (!object)
                return -ENOMEM;
        if (spec->name)
                r = spec_json_put(object, "name", json_object_new_string(spec->name));
        if (r == 0)
                r = spec_json_put(object,
                                "mode",
                                json_object_new_string(spec_mode_to_string(spec->mode)));
        if (r == 0)
                r = add_scope(object, spec);
        if (r == 0)
                r = add_list(object, "events", spec->events, spec->n_events);
        if (r == 0 && spec->n_probes > 0)
                r = add_list(object, "probes", spec->probes, spec->n_probes);
        if (r == 0 && spec->n_triggers > 0) {
                json_object *triggers = NULL;

                r = spec_triggers_to_json(spec, &triggers);
                r = r ?: spec_json_put(object, "triggers", triggers);
        }
        if (r == 0 && spec->where)
                r = spec_json_put(object, "where", json_object_new_string(spec->where));
        /* A default is left out: the daemon knows the limit to which it is lowered. */
        if (r == 0 && spec_is_given(spec, "buffer-kb"))
                r = spec_json_put(object, "buffer-kb", json_object_new_uint64(spec->buffer_kb));
        /* The clock of another user's instance is not a property of the session. */
        if (r == 0 && !spec->instance)
                r = spec_json_put(object, "clock", json_object_new_string(spec->clock));
        if (r == 0)
                r = add_kernel(object, spec);
        if (r == 0)
                r = add_lifetime(object, spec);
        if (r == 0 && spec->spool.is_on) {
                json_object *spool = NULL;

                r = spec_spool_to_json(spec, &spool);
                r = r ?: spec_json_put(object, "spool", spool);
        }
        if (r == 0 && spec->compression != COMPRESSION_UNSET)
                r = spec_json_put(object,
                                "compression",
                                json_object_new_string(
                                                spec_compression_to_string(spec->compression)));
        if (r == 0 && spec->shares)
                r = spec_json_put(object, "share", json_object_new_string("auto"));
        if (r == 0 && spec->allow_setuid)
                r = spec_json_put(object, "allow-setuid", json_object_new_boolean(true));
        if (r == 0 && spec->unredacted)
                r = spec_json_put(object, "unredacted", json_object_new_boolean(true));
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}
