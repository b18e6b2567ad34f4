/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first packet of each side of -H: which protocols and which ktracectl it is, and from the near
 * side what the verb must know about its output. Two sides understand each other when the ranges
 * of their protocols overlap; they use the newest that both speak. So an older and a newer side
 * work together, and the one that is too old can be named. A verb that older far sides do not run
 * needs a newer protocol: 2 has the clocks and starts of recordings, 3 the verbs top, verify,
 * metrics and last, 4 recordings with several streams. Does no I/O. */

#include "remote/hello.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

Hello hello_make(uint32_t needed) {
        Hello hello = { .protocol = HELLO_PROTOCOL,
                .oldest = MAX_OF(needed, (uint32_t)HELLO_OLDEST) };

        (void)snprintf(hello.version, sizeof(hello.version), "%s", KT_VERSION);
        return hello;
}

char *hello_to_text(const Hello *hello) {
        _cleanup_json_ json_object *object = json_object_new_object();

        if (!object ||
                        json_object_object_add(object,
                                        "protocol",
                                        json_object_new_uint64(hello->protocol)) < 0 ||
                        json_object_object_add(object,
                                        "oldest",
                                        json_object_new_uint64(hello->oldest)) < 0 ||
                        json_object_object_add(object,
                                        "version",
                                        json_object_new_string(hello->version)) < 0 ||
                        json_object_object_add(object,
                                        "stream",
                                        json_object_new_boolean(hello->wants_stream)) < 0 ||
                        json_object_object_add(object,
                                        "series",
                                        json_object_new_boolean(hello->wants_series)) < 0 ||
                        json_object_object_add(object,
                                        "terminal",
                                        json_object_new_boolean(hello->is_terminal)) < 0 ||
                        json_object_object_add(object,
                                        "waits",
                                        json_object_new_boolean(hello->waits)) < 0 ||
                        json_object_object_add(object,
                                        "compares",
                                        json_object_new_boolean(hello->compares)) < 0 ||
                        json_object_object_add(object,
                                        "draws",
                                        json_object_new_boolean(hello->draws)) < 0 ||
                        json_object_object_add(object,
                                        "columns",
                                        json_object_new_uint64(hello->columns)) < 0)
                return NULL;
        return strdup(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
}

static int hello_read_number(json_object *object,
                const char *key,
                uint32_t max,
                uint32_t *ret,
                Reason *reason) {
        json_object *value = json_object_object_get(object, key);

        if (!value)
                return 0;
        if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0 ||
                        json_object_get_int64(value) > max)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "hello: %s: expected a number from 0 to %u",
                                key,
                                max);
        *ret = (uint32_t)json_object_get_int64(value);
        return 0;
}

static int hello_read_flag(json_object *object, const char *key, bool *ret, Reason *reason) {
        json_object *value = json_object_object_get(object, key);

        if (value && !json_object_is_type(value, json_type_boolean))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "hello: %s: expected true or false",
                                key);
        *ret = json_object_get_boolean(value);
        return 0;
}

static int hello_read_version(json_object *object, Hello *hello, Reason *reason) {
        json_object *value = json_object_object_get(object, "version");

        if (!json_object_is_type(value, json_type_string) ||
                        json_object_get_string_len(value) >= HELLO_VERSION_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "hello: version: expected a text of less than %d bytes",
                                HELLO_VERSION_MAX);
        (void)snprintf(hello->version, sizeof(hello->version), "%s", json_object_get_string(value));
        return 0;
}

int hello_parse(const char *text, size_t size, Hello *ret, Reason *reason) {
        _cleanup_json_ json_object *object = NULL;
        Hello hello = {};
        int r = json_parse_message("hello", text, size, 256, &object, reason);

        if (r != 0)
                return r;
        if (!json_object_is_type(object, json_type_object))
                return reason_set(reason, KT_E_INVALID_SPEC, "hello: expected an object");
        r = hello_read_number(object, "protocol", INT32_MAX, &hello.protocol, reason);
        r = r ?: hello_read_number(object, "oldest", INT32_MAX, &hello.oldest, reason);
        r = r ?: hello_read_version(object, &hello, reason);
        r = r ?: hello_read_flag(object, "stream", &hello.wants_stream, reason);
        r = r ?: hello_read_flag(object, "series", &hello.wants_series, reason);
        r = r ?: hello_read_flag(object, "terminal", &hello.is_terminal, reason);
        r = r ?: hello_read_flag(object, "waits", &hello.waits, reason);
        r = r ?: hello_read_flag(object, "compares", &hello.compares, reason);
        r = r ?: hello_read_flag(object, "draws", &hello.draws, reason);
        r = r ?: hello_read_number(object, "columns", HELLO_COLUMNS_MAX, &hello.columns, reason);
        if (r == 0 && (hello.oldest == 0 || hello.protocol < hello.oldest))
                r = reason_set(reason, KT_E_INVALID_SPEC, "hello: no range of protocols");
        if (r == 0)
                *ret = hello;
        return r;
}

bool hello_is_spoken(const Hello *here, const Hello *there) {
        return there->protocol >= here->oldest && there->oldest <= here->protocol;
}

bool hello_can_wait(const Hello *other) {
        return other->protocol >= 2;
}

int hello_check_there(const Hello *here, const Hello *there, Reason *reason) {
        bool is_old = there->protocol < here->oldest;

        if (hello_is_spoken(here, there))
                return 0;
        return reason_set(reason,
                        KT_E_FAILED,
                        "ktracectl %s there and " KT_VERSION
                        " here do not understand each other: the one %s is too old",
                        there->version,
                        is_old ? "there" : "here");
}
