/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdio.h>

/* Like json_object_to_json_string_ext(), but safe for terminals. Returns 0 or -errno. */
int json_text_print(FILE *out, json_object *object, int flags);
