/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json-parts.h"

/* Unescapes into the scratch space and adds a NUL. The result is valid until the next string. */
int json_parse_string(JsonParser *parser, size_t *ret_size);
int json_parse_string_value(JsonParser *parser, json_object **ret);
int json_parse_number(JsonParser *parser, json_object **ret);
