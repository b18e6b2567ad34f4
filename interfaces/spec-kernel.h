/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

/* spec-kernel.c */
int spec_set_cpus(Spec *spec, const char *value, Reason *reason);
int spec_set_tracer(Spec *spec, const char *value, Reason *reason);
int spec_set_instance(Spec *spec, const char *value, Reason *reason);
int spec_add_function(Spec *spec, const char *glob, Reason *reason);
void spec_free_functions(Spec *spec);
/* Refuses combinations of these keys that are not possible. */
int spec_check_kernel(const Spec *spec, Reason *reason);
