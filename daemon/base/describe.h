/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

/* Adds the value under the key. Takes the value. A NULL value is -ENOMEM, as a failure to add is.
 */
int describe_put(json_object *object, const char *key, json_object *value);
/* The same for the many small objects of a long list: the object has no such key yet, and the key
 * is a literal, which is not copied. */
int describe_put_new(json_object *object, const char *key, json_object *value);
int describe_append(json_object *array, json_object *value);
