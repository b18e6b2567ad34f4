/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

/* What the files of the spec's JSON have of each other; for nobody else. */

/* "a string", "an object", …, for messages */
const char *spec_json_type(json_object *value);
/* Cut by no NUL. */
bool spec_json_is_string(json_object *value);
/* Consume value; NULL stands for memory that ran out while it was made. */
int spec_json_put(json_object *object, const char *key, json_object *value);
int spec_json_append(json_object *list, json_object *value);

/* Feeds a JSON object (a --spec file, Varlink) through the setters. `events` takes strings and
 * objects {name, filter, enabled, triggers}. Does not call spec_complete. */
int spec_from_json(Spec *spec, json_object *object, Reason *reason);
int spec_to_json(const Spec *spec, json_object **ret);
