/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

/* Marks `spool` as given. Its keys are set afterwards. */
int spec_spool_begin(Spec *spec, const SpecField *field, Reason *reason);
int spec_spool_set_number(Spec *spec, const char *key, uint64_t value, Reason *reason);
int spec_spool_set_string(Spec *spec, const char *key, const char *value, Reason *reason);
int spec_spool_set_boolean(Spec *spec, const char *key, bool value, Reason *reason);
int spec_check_spool(const Spec *spec, Reason *reason);
int spec_spool_from_json(Spec *spec, const SpecField *field, json_object *object, Reason *reason);
int spec_spool_to_json(const Spec *spec, json_object **ret);
