/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec-trigger.h"

/* Reads a list of triggers from a JSON document. */
int spec_triggers_from_json(Spec *spec,
                size_t entry,
                const char *event,
                json_object *list,
                Reason *reason);
/* Writes a list of objects that the spec's key `triggers` accepts. */
int spec_triggers_to_json(const Spec *spec, json_object **ret);
