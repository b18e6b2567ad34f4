/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec-trigger.h"

/* A list of triggers of a JSON document. */
int spec_triggers_from_json(Spec *spec,
                size_t entry,
                const char *event,
                json_object *list,
                Reason *reason);
/* A list of objects, as the spec's own key takes it. */
int spec_triggers_to_json(const Spec *spec, json_object **ret);
