/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"
#include "spec/origin.h"

/* After a session was refused with this code: if -M set its scope, prints the rule that would allow
 * it. spec: of the session. */
void rule_hint_print(json_object *spec, const Origins *origins, int code);
