/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json-parts.h"

/* Into the scratch space, with a NUL behind: valid until the next string. */
int json_parse_string(JsonParser *parser, size_t *ret_size);
int json_parse_string_value(JsonParser *parser, json_object **ret);
int json_parse_number(JsonParser *parser, json_object **ret);
