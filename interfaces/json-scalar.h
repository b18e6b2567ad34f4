/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json-cursor.h"

/* Each function starts at the first character of its value. */

/* Unescapes into the scratch space and adds a NUL. The result is valid until the next string. */
int json_parse_string(JsonCursor *cursor, size_t *ret_size);
int json_parse_string_value(JsonCursor *cursor, json_object **ret);
int json_parse_number(JsonCursor *cursor, json_object **ret);
