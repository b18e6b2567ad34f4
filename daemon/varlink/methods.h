/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "varlink/visitor.h"

/* Returns a parameter that the method's table requires. */
static inline const char *methods_get_text(json_object *parameters, const char *name) {
        return json_object_get_string(json_object_object_get(parameters, name));
}
