/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A definition of a probe in the user's words, checked value by value. The bus and the files of the
 * catalogue pass the values to the setters. compile.c interprets the words. */

#include "define/definition.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "define/user-spot.h"
#include "interfaces/cleanup.h"
#include "interfaces/control.h"
#include "interfaces/json.h"
#include "interfaces/quote.h"
#include "interfaces/spec-json.h"
#include "interfaces/utf8.h"

Definition *definition_new(void) {
        return calloc(1, sizeof(Definition));
}

Definition *definition_free(Definition *definition) {
        if (!definition)
                return NULL;
        for (size_t i = 0; i < definition->n_args; i++)
                free(definition->args[i]);
        free(definition->args);
        free(definition->name);
        free(definition->on);
        free(definition->event);
        free(definition->from);
        free(definition->to);
        for (size_t i = 0; i < definition->n_keys; i++)
                free(definition->keys[i]);
        free(definition->raw);
        free(definition->about);
        free(definition);
        return NULL;
}

void definitions_free(Definition **definitions, size_t n) {
        for (size_t i = 0; i < n; i++)
                definition_free(definitions[i]);
        free(definitions);
}

static bool is_same_text(const char *a, const char *b) {
        return strcmp(a ?: "", b ?: "") == 0;
}

/* A raw definition "p:NAME /FILE…" in the kernel's own syntax counts, too. */
bool definition_is_user(const Definition *definition) {
        const char *place = definition->on;

        if (!place && definition->raw)
                place = definition->raw + strcspn(definition->raw, " ");
        return place && place[strspn(place, " ")] == '/';
}

bool definition_is_same(const Definition *a, const Definition *b) {
        if (!is_same_text(a->name, b->name) || !is_same_text(a->on, b->on) ||
                        !is_same_text(a->raw, b->raw) || !is_same_text(a->event, b->event) ||
                        a->is_return != b->is_return || a->n_args != b->n_args ||
                        !is_same_text(a->from, b->from) || !is_same_text(a->to, b->to) ||
                        a->n_keys != b->n_keys)
                return false;
        for (size_t i = 0; i < a->n_args; i++)
                if (strcmp(a->args[i], b->args[i]) != 0)
                        return false;
        for (size_t i = 0; i < a->n_keys; i++)
                if (strcmp(a->keys[i], b->keys[i]) != 0)
                        return false;
        return true;
}

static bool definition_is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int definition_check_name(const char *name, Reason *reason) {
        for (const char *p = name; *p; p++)
                if (!definition_is_letter(*p) && (p == name || *p < '0' || *p > '9'))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "name: %s: expected letters, digits and '_', and a "
                                        "letter first",
                                        quote(name).text);
        if (strncmp(name, CONTROL_HISTORY_PREFIX, strlen(CONTROL_HISTORY_PREFIX)) == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "name: %s: expected another name: probes of ktraced itself begin with " CONTROL_HISTORY_PREFIX,
                                quote(name).text);
        return 0;
}

static int definition_check_text(const char *key, const char *value, size_t max, Reason *reason) {
        size_t size = strnlen(value, max + 1);

        if (size == 0)
                return reason_set(reason, KT_E_INVALID_SPEC, "%s: it is empty", key);
        if (size > max)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %s has more than %zu bytes",
                                key,
                                quote(value).text,
                                max);
        size_t at = utf8_find_unprintable(value, size);
        if (at == 0)
                return 0;
        return reason_set(reason, KT_E_INVALID_SPEC, "%s: byte %zu is not printable text", key, at);
}

static int definition_refuse_key(const char *key, Reason *reason) {
        return reason_set(reason,
                        KT_E_UNKNOWN_KEY,
                        "unknown key %s: a probe has name, on, file, return, event, from, to, key, "
                        "args, raw, about",
                        quote(key).text);
}

int definition_set_string(Definition *d, const char *key, const char *value, Reason *reason) {
        const struct {
                const char *key;
                char **value;
                size_t max;
        } strings[] = {
                { "name", &d->name, DEFINITION_NAME_MAX },
                { "on", &d->on, DEFINITION_ON_MAX },
                { "event", &d->event, DEFINITION_EVENT_MAX },
                { "from", &d->from, DEFINITION_EVENT_MAX },
                { "to", &d->to, DEFINITION_EVENT_MAX },
                { "raw", &d->raw, DEFINITION_RAW_MAX },
                { "about", &d->about, DEFINITION_ABOUT_MAX },
        };

        for (size_t i = 0; i < ELEMENTSOF(strings); i++) {
                if (strcmp(key, strings[i].key) != 0)
                        continue;
                if (*strings[i].value)
                        return reason_set(reason, KT_E_INVALID_SPEC, "%s: given twice", key);
                int r = definition_check_text(key, value, strings[i].max, reason);
                if (r == 0 && strings[i].value == &d->name)
                        r = definition_check_name(value, reason);
                if (r != 0)
                        return r;
                *strings[i].value = strdup(value);
                return *strings[i].value ? 0 : -ENOMEM;
        }
        if (strcmp(key, "return") == 0 || strcmp(key, "args") == 0 || strcmp(key, "key") == 0 ||
                        strcmp(key, "file") == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected %s, got a string",
                                key,
                                *key == 'r'   ? "true or false"
                                : *key != 'f' ? "a list"
                                              : "a number");
        return definition_refuse_key(key, reason);
}

int definition_set_number(Definition *d, const char *key, uint32_t value, Reason *reason) {
        if (strcmp(key, "file") != 0)
                return reason_set(reason,
                                KT_E_UNKNOWN_KEY,
                                "%s: no key of a probe that is a number: that is file",
                                quote(key).text);
        if (d->file != 0)
                return reason_set(reason, KT_E_INVALID_SPEC, "file: given twice");
        if (value == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "file: expected the number that OpenProbeFile returned, got 0");
        d->file = value;
        return 0;
}

int definition_set_path(Definition *d, const char *path, Reason *reason) {
        _cleanup_free_ char *on = NULL;
        UserSpot spot;

        int r = user_spot_parse(d->on, &spot, reason);
        if (r != 0)
                return r;
        int n = spot.marker ? asprintf(&on, "%s:%s", path, spot.marker)
                            : asprintf(&on, "%s:0x%" PRIx64, path, spot.offset);
        user_spot_clear(&spot);
        if (n < 0) {
                on = NULL;
                return -ENOMEM;
        }
        r = definition_check_text("on", on, DEFINITION_ON_MAX, reason);
        if (r != 0)
                return r;
        free(d->on);
        d->on = TAKE_PTR(on);
        return 0;
}

int definition_set_boolean(Definition *d, const char *key, bool value, Reason *reason) {
        if (strcmp(key, "return") != 0)
                return reason_set(reason,
                                KT_E_UNKNOWN_KEY,
                                "%s: no key of a probe that is true or false: that is return",
                                quote(key).text);
        d->is_return = value;
        return 0;
}

int definition_add_arg(Definition *d, const char *value, Reason *reason) {
        char key[32];

        if (d->n_args == DEFINITION_ARGS_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "args: more than %d, the maximum of the kernel",
                                DEFINITION_ARGS_MAX);
        (void)snprintf(key, sizeof(key), "args[%zu]", d->n_args);
        int r = definition_check_text(key, value, DEFINITION_ARG_MAX, reason);
        if (r != 0)
                return r;
        char **args = reallocarray(d->args, d->n_args + 1, sizeof(char *));
        if (!args)
                return -ENOMEM;
        d->args = args;
        args[d->n_args] = strdup(value);
        if (!args[d->n_args])
                return -ENOMEM;
        d->n_args++;
        return 0;
}

int definition_add_key(Definition *d, const char *value, Reason *reason) {
        char key[32];

        if (d->n_keys == DEFINITION_KEYS_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "key: more than %d, the maximum of the kernel",
                                DEFINITION_KEYS_MAX);
        (void)snprintf(key, sizeof(key), "key[%zu]", d->n_keys);
        int r = definition_check_text(key, value, DEFINITION_ARG_MAX, reason);
        if (r != 0)
                return r;
        d->keys[d->n_keys] = strdup(value);
        return d->keys[d->n_keys++] ? 0 : -ENOMEM;
}

/* A definition on two events requires all of these keys. */
static int complete_pair(const Definition *d, Reason *reason) {
        const char *missing = !d->from         ? "from"
                              : !d->to         ? "to"
                              : d->n_keys == 0 ? "key"
                              : d->n_args == 0 ? "args"
                                               : NULL;

        if (missing)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: missing: a probe made of two events has from, to, key and "
                                "args",
                                missing);
        return 0;
}

int definition_complete(const Definition *d, Reason *reason) {
        const struct {
                const char *key;
                bool is_given;
        } kinds[] = {
                { "raw", d->raw },
                { "event", d->event },
                { d->from               ? "from"
                                : d->to ? "to"
                                        : "key",
                                d->from || d->to || d->n_keys > 0 },
                { "on", d->on },
        };

        const char *first = NULL;

        if (!d->name)
                return reason_set(reason, KT_E_INVALID_SPEC, "name: missing");
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                if (kinds[i].is_given && first)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: not together with %s",
                                        first,
                                        kinds[i].key);
                if (kinds[i].is_given)
                        first = kinds[i].key;
        }
        if (!first)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "on: missing: name a function of the kernel or a place in a program, or "
                                "an event by the key event, or two by from and to");
        if (d->raw && (d->n_args > 0 || d->is_return))
                return reason_set(
                                reason, KT_E_INVALID_SPEC, "raw: not together with args or return");
        if (!d->on && d->is_return)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "return: an event does not return: use it only with on");
        if (d->file != 0 && (d->raw || !definition_is_user(d)))
                return reason_set(
                                reason, KT_E_INVALID_SPEC, "file: only with an on that is a path");
        return kinds[2].is_given ? complete_pair(d, reason) : 0;
}

/* The value has a type that no key takes, or not this one. */
static int definition_refuse_type(const char *key, Reason *reason) {
        static const char *const keys[] = {
                "name", "on", "return", "event", "from", "to", "key", "args", "raw", "about"
        };

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (strcmp(key, keys[i]) == 0)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: no value that a probe takes there",
                                        quote(key).text);
        return definition_refuse_key(key, reason);
}

static int set_list(Definition *d,
                const char *key,
                int (*add)(Definition *d, const char *value, Reason *reason),
                json_object *list,
                Reason *reason) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);

                if (!json_object_is_type(item, json_type_string))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s[%zu]: expected a string, got %s",
                                        key,
                                        i,
                                        spec_json_type(item));
                r = add(d, json_object_get_string(item), reason);
        }
        return r;
}

int definition_from_json(json_object *object, Definition **ret, Reason *reason) {
        _cleanup_(definition_free_cleanup) Definition *d = definition_new();
        int r = d ? 0 : -ENOMEM;

        if (r == 0 && !json_object_is_type(object, json_type_object))
                return reason_set(reason, KT_E_INVALID_SPEC, "a probe is an object");
        json_object_object_foreach(object, key, value) {
                if (r != 0)
                        break;
                if (json_object_is_type(value, json_type_string))
                        r = definition_set_string(d, key, json_object_get_string(value), reason);
                else if (json_object_is_type(value, json_type_boolean))
                        r = definition_set_boolean(d, key, json_object_get_boolean(value), reason);
                else if (strcmp(key, "args") == 0 && json_object_is_type(value, json_type_array))
                        r = set_list(d, key, definition_add_arg, value, reason);
                else if (strcmp(key, "key") == 0 && json_object_is_type(value, json_type_array))
                        r = set_list(d, key, definition_add_key, value, reason);
                else
                        r = definition_refuse_type(key, reason);
        }
        r = r ?: definition_complete(d, reason);
        if (r == 0)
                *ret = TAKE_PTR(d);
        return r;
}

/* Consumes value. Fails with -ENOMEM if value is NULL. */
static int definition_put(json_object *object, const char *key, json_object *value) {
        if (value && json_object_object_add(object, key, value) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}

static int definition_put_list(json_object *object, const char *key, char *const *texts, size_t n) {
        json_object *list = json_object_new_array();
        int r = definition_put(object, key, list);

        for (size_t i = 0; r == 0 && i < n; i++) {
                json_object *text = json_object_new_string(texts[i]);

                if (!text || json_object_array_add(list, text) < 0) {
                        json_object_put(text);
                        r = -ENOMEM;
                }
        }
        return r;
}

int definition_to_json(const Definition *d, json_object **ret) {
        const struct {
                const char *key;
                const char *value;
        } strings[] = {
                { "name", d->name },
                { "on", d->on },
                { "event", d->event },
                { "from", d->from },
                { "to", d->to },
                { "raw", d->raw },
                { "about", d->about },
        };

        _cleanup_json_ json_object *object = json_object_new_object();
        int r = object ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(strings); i++)
                if (strings[i].value)
                        r = definition_put(object,
                                        strings[i].key,
                                        json_object_new_string(strings[i].value));
        if (r == 0 && d->is_return)
                r = definition_put(object, "return", json_object_new_boolean(true));
        if (r == 0 && d->n_keys > 0)
                r = definition_put_list(object, "key", d->keys, d->n_keys);
        if (r == 0 && d->n_args > 0)
                r = definition_put_list(object, "args", d->args, d->n_args);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

int definition_to_text(const Definition *d, char **ret) {
        size_t size;
        char *text = NULL;
        FILE *f;

        if (d->raw) {
                *ret = strdup(d->raw);
                return *ret ? 0 : -ENOMEM;
        }
        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;
        if (d->from) {
                fprintf(f, "from %s to %s by ", d->from, d->to);
                for (size_t i = 0; i < d->n_keys; i++)
                        fprintf(f, "%s%s", i > 0 ? ", " : "", d->keys[i]);
        } else
                fprintf(f,
                                "%s%s",
                                d->is_return ? "return of "
                                : d->event   ? "event "
                                             : "",
                                d->event     ?: d->on ?: "");
        for (size_t i = 0; i < d->n_args; i++)
                fprintf(f, "%s%s", i == 0 ? ": " : ", ", d->args[i]);
        if (fclose(f) != 0) {
                free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}
