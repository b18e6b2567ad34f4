/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stddef.h>

#include "interfaces/error.h"

#define JSON_MAX_BYTES ((size_t)4 * 1024 * 1024)
#define JSON_MAX_DEPTH 16
/* An empty object costs json-c some 800 bytes of memory for two of text. */
#define JSON_MAX_VALUES ((size_t)256 * 1024)

/* Strict JSON: one value, UTF-8, no comments, no trailing text, no duplicate key, no number that
 * does not fit its type, no NUL. `source` names the text in messages (a file name). Returns 0,
 * KT_E_INVALID_SPEC with the line (syntax) or the path (the rest) in reason, or -errno. */
int json_parse_strict(const char *source,
                const char *text,
                size_t size,
                json_object **ret,
                Reason *reason);
/* For a text of another program of ours. Returns NULL if it is not JSON. Nested filters are deeper
 * than json-c allows by default. */
json_object *json_parse_own(const char *text);
/* For a refused text: the offset of the first byte that was not understood. */
size_t json_find_mistake(const char *text, size_t size);
/* The same with a lower memory limit: at most max_values values. */
int json_parse_message(const char *source,
                const char *text,
                size_t size,
                size_t max_values,
                json_object **ret,
                Reason *reason);

static inline json_object *json_put_free(json_object *o) {
        json_object_put(o);
        return NULL;
}

DEFINE_CLEANUP(json_object, json_put_free);
#define _cleanup_json_ _cleanup_(json_put_free_cleanup)
