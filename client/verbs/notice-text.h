/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

/* Prints a notice of a session or of a watch as one line, at once. Returns 0 or -errno. */
int notice_print(json_object *notice, bool as_json);
