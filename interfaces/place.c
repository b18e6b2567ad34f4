/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads values from a parsed file of an administrator; each refusal names the place. Used for the
 * daemon's rules and for the files of ktrace-metrics; knows nothing about their keys. Unknown keys
 * are not skipped: an unknown key may be one that forbids. */

#include "interfaces/place.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "interfaces/array.h"
#include "interfaces/json-place.h"
#include "interfaces/nearest.h"
#include "interfaces/quote.h"

#define PLACE_MAX 256

Place place_of_file(const PlaceFile *file) {
        return (Place){ .file = file };
}

Place place_of_key(const Place *around, const char *key) {
        return (Place){ .file = around->file, .around = around, .key = key };
}

Place place_of_entry(const Place *around, size_t index) {
        return (Place){ .file = around->file, .around = around, .index = index };
}

static void place_print_path(const Place *place, FILE *out) {
        if (!place->around)
                return;
        place_print_path(place->around, out);
        if (!place->key)
                fprintf(out, "[%zu]", place->index);
        else
                fprintf(out, "%s%s", place->around->around ? "." : "", place->key);
}

static void place_make_path(const Place *place, char text[static PLACE_MAX]) {
        FILE *out = fmemopen(text, PLACE_MAX, "w");

        text[0] = '\0';
        if (!out)
                return;
        place_print_path(place, out);
        (void)fclose(out);
        text[PLACE_MAX - 1] = '\0';
}

/* Finds a value, or the object that lacks it. of_key: finds the key of the value instead. */
static bool place_find(const Place *place, bool of_key, JsonPlace *ret) {
        char path[PLACE_MAX];

        if (!place->file->text)
                return false;
        place_make_path(place, path);
        if (json_find_place(place->file->text, place->file->size, path, of_key, ret))
                return true;
        return place->around && place_find(place->around, false, ret);
}

/* Sets the reason: "FILE:LINE:COLUMN: PATH: TEXT". */
static int place_set_reason(const Place *place, int code, bool of_key, const char *text) {
        const PlaceFile *file = place->file;
        char path[PLACE_MAX], position[48] = "";
        JsonPlace found;

        place_make_path(place, path);
        if (place_find(place, of_key, &found))
                (void)snprintf(position, sizeof(position), ":%zu:%zu", found.line, found.column);
        return reason_set(file->reason,
                        code,
                        "%s%s: %s%s%s",
                        file->name,
                        position,
                        path,
                        *path ? ": " : "",
                        text);
}

int place_refuse(const Place *place, const char *format, ...) {
        Reason inner;
        va_list args;

        va_start(args, format);
        (void)vsnprintf(inner.text, sizeof(inner.text), format, args);
        va_end(args);
        return place_set_reason(place, KT_E_INVALID_SPEC, false, inner.text);
}

/* Shows texts in quotes; for lists and objects only their type. */
static Quoted show_value(json_object *o) {
        Quoted value = { "" };

        switch (json_object_get_type(o)) {
        case json_type_string:
                return quote(json_object_get_string(o));
        case json_type_object:
        case json_type_array:
                (void)snprintf(value.text,
                                sizeof(value.text),
                                "%s of %zu",
                                json_object_is_type(o, json_type_array) ? "a list" : "an object",
                                json_object_is_type(o, json_type_array)
                                                ? json_object_array_length(o)
                                                : (size_t)json_object_object_length(o));
                return value;
        default:
                (void)snprintf(value.text, sizeof(value.text), "%s", json_object_to_json_string(o));
                return value;
        }
}

int place_refuse_value(const Place *place, json_object *o, const char *format, ...) {
        Reason expected;
        va_list args;

        va_start(args, format);
        (void)vsnprintf(expected.text, sizeof(expected.text), format, args);
        va_end(args);
        return place_refuse(place, "expected %s, got %s", expected.text, show_value(o).text);
}

int place_refuse_key(const Place *place, const char *guess) {
        Reason inner;

        (void)snprintf(inner.text,
                        sizeof(inner.text),
                        "no such key: %s%s%s",
                        guess ? "did you mean \"" : "see ",
                        guess ?: place->file->page,
                        guess ? "\"?" : "");
        return place_set_reason(place, KT_E_UNKNOWN_KEY, true, inner.text);
}

int place_read_string(const Place *place, json_object *o, size_t max, const char **ret) {
        if (!json_object_is_type(o, json_type_string))
                return place_refuse_value(place, o, "a string");
        const char *text = json_object_get_string(o);
        size_t length = strlen(text);
        if (length != (size_t)json_object_get_string_len(o))
                return place_refuse(place, "there is a NUL in it");
        if (length == 0 || length > max)
                return place_refuse_value(place, o, "a string of 1 to %zu bytes", max);
        *ret = text;
        return 0;
}

int place_read_copy(const Place *place, json_object *o, size_t max, char **ret) {
        const char *text;

        int r = place_read_string(place, o, max, &text);
        if (r != 0)
                return r;
        char *copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        free(*ret);
        *ret = copy;
        return 0;
}

int place_read_boolean(const Place *place, json_object *o, bool *ret) {
        if (!json_object_is_type(o, json_type_boolean))
                return place_refuse_value(place, o, "true or false");
        *ret = json_object_get_boolean(o);
        return 0;
}

int place_read_number(const Place *place,
                json_object *o,
                uint64_t min,
                uint64_t max,
                uint64_t *ret) {
        int64_t number = json_object_is_type(o, json_type_int) ? json_object_get_int64(o) : -1;

        /* No limit is larger than INT64_MAX. */
        if (number < 0 || (uint64_t)number < min || (uint64_t)number > max)
                return place_refuse_value(
                                place, o, "a whole number from %" PRIu64 " to %" PRIu64, min, max);
        *ret = (uint64_t)number;
        return 0;
}

int place_read_list(const Place *place,
                json_object *o,
                size_t max,
                PlaceReader read,
                void *target) {
        size_t n = json_object_is_type(o, json_type_array) ? json_object_array_length(o) : 0;

        if (n == 0 || n > max)
                return place_refuse_value(place, o, "a list of 1 to %zu entries", max);
        for (size_t i = 0; i < n; i++) {
                Place entry = place_of_entry(place, i);
                int r = read(target, json_object_array_get_idx(o, i), &entry);

                if (r != 0)
                        return r;
        }
        return 0;
}

typedef struct Strings {
        PlaceStrings *list;
        size_t max_size;
} Strings;

static int read_one(void *target, json_object *o, const Place *place) {
        const Strings *strings = target;
        PlaceStrings *list = strings->list;
        const char *text;

        int r = place_read_string(place, o, strings->max_size, &text);
        r = r ?: array_grow(&list->strings, list->n, sizeof(char *));
        if (r != 0)
                return r;
        list->strings[list->n] = strdup(text);
        return list->strings[list->n++] ? 0 : -ENOMEM;
}

int place_read_strings(const Place *place,
                json_object *o,
                size_t max,
                size_t max_size,
                PlaceStrings *ret) {
        Strings strings = { ret, max_size };

        return place_read_list(place, o, max, read_one, &strings);
}

void place_strings_clear(PlaceStrings *strings) {
        for (size_t i = 0; i < strings->n; i++)
                free(strings->strings[i]);
        free(strings->strings);
        *strings = (PlaceStrings){};
}

static const char *guess_key(const PlaceKey *keys, size_t n_keys, const char *key) {
        Nearest near = { key, 3, NULL };

        for (size_t i = 0; i < n_keys; i++)
                nearest_consider(&near, keys[i].name);
        return near.name;
}

int place_read_object(const Place *place,
                json_object *o,
                const PlaceKey *keys,
                size_t n_keys,
                void *target) {
        if (!json_object_is_type(o, json_type_object))
                return place_refuse_value(place, o, "an object");
        json_object_object_foreach(o, key, value) {
                Place at = place_of_key(place, key);
                size_t i = 0;

                while (i < n_keys && strcmp(keys[i].name, key) != 0)
                        i++;
                int r = i < n_keys ? keys[i].read(target, value, &at)
                                   : place_refuse_key(&at, guess_key(keys, n_keys, key));
                if (r != 0)
                        return r;
        }
        return 0;
}

int place_read_text(const PlaceFile *file, const PlaceKey *keys, size_t n_keys, void *target) {
        Place place = place_of_file(file);
        _cleanup_json_ json_object *o = NULL;
        int r = json_parse_strict(file->name, file->text, file->size, &o, file->reason);

        if (r > 0)
                return json_place_refuse(file->name, file->text, file->size, file->reason);
        return r ?: place_read_object(&place, o, keys, n_keys, target);
}
