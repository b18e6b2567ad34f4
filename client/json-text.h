/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdio.h>

/* As json_object_to_json_string_ext(), and harmless wherever it is shown. 0 or -errno. */
int json_text_print(FILE *out, json_object *object, int flags);
