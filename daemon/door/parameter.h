/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/definition.h"
#include "interfaces/json.h"
#include "interfaces/spec.h"

/* Bytes of the name of a recording's file. */
#define PARAMETER_FILE_MAX 64

/* Each fails with KT_E_INVALID_SPEC or KT_E_UNKNOWN_KEY and the place in the reason, or -ENOMEM. */

/* Reads a complete spec. */
int parameter_read_spec(json_object *object, Spec **ret, Reason *reason);
/* The same for CheckSession, which also has the key "as-user", a uid that is not part of the spec;
 * -1: not given. The key is removed from the object. */
int parameter_read_question(json_object *object, Spec **ret, uid_t *ret_as_user, Reason *reason);
/* Reads a definition and its key "file", which is removed from the object. */
int parameter_read_definition(json_object *object, Definition **ret, Reason *reason);
/* The same for each entry of a list. The caller frees the result with definitions_free. */
int parameter_read_definitions(json_object *list, Definition ***ret, size_t *ret_n, Reason *reason);
/* Reads options, which may be NULL. known: the name of the only option, a flag; NULL: there are no
 * options. *ret keeps its value if the option is not given. */
int parameter_read_flag(json_object *options, const char *known, bool *ret, Reason *reason);
/* Reads the option "file", a name or a number; "": not given. */
int parameter_read_file(json_object *options,
                char ret[static PARAMETER_FILE_MAX + 1],
                Reason *reason);
