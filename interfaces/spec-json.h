/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

/* Shared only by the files that convert specs from and to JSON. */

/* The name of a type for messages: "a string", "an object", … */
const char *spec_json_type(json_object *value);
/* True for a string without NULs. */
bool spec_json_is_string(json_object *value);
/* Consumes value. A value of NULL means that its allocation failed. */
int spec_json_put(json_object *object, const char *key, json_object *value);
int spec_json_append(json_object *list, json_object *value);

/* Sets a spec from a JSON object (a --spec file, Varlink). `events` holds strings and objects
 * {name, filter, enabled, triggers}. Does not call spec_complete. */
int spec_from_json(Spec *spec, json_object *object, Reason *reason);
int spec_to_json(const Spec *spec, json_object **ret);
