/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spec.h"

#define SPEC_SCOPE_FORMS "command:PID, own, pids:PID,PID, unit:NAME, cgroup:PATH or system"

/* The setter behind the key `scope`; the same contract as spec_set_string(). */
int spec_scope_set(Spec *spec, const char *value, Reason *reason);
