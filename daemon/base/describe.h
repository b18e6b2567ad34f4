/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

/* Adds the value under the key. Takes ownership of the value. Returns -ENOMEM for a NULL value and
 * if adding fails. */
int describe_put(json_object *object, const char *key, json_object *value);
/* The same for long lists of small objects, where speed matters: the object must not have the key
 * yet, and the key must be a literal, which is not copied. */
int describe_put_new(json_object *object, const char *key, json_object *value);
int describe_append(json_object *array, json_object *value);
