/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spec.h"

/* The setter behind the key `scope`; the same contract as spec_set_string(). */
int spec_scope_set(Spec *spec, const char *value, Reason *reason);
