/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

#define SPEC_SCOPE_FORMS "command:PID, own, pids:PID,PID, unit:NAME, cgroup:PATH or system"

/* Whether a systemd unit that has a cgroup can be called so; the key's value is quoted. */
int spec_check_unit(const char *key, const char *value, const char *name, Reason *reason);
/* The setter behind the key `scope`; the same contract as spec_set_string(). */
int spec_scope_set(Spec *spec, const char *value, Reason *reason);

const char *spec_scope_to_string(SpecScope scope);
/* "command:12", "own", "pids:1,2", "unit:x.service", "cgroup:/x", "system" */
int spec_format_scope(const Spec *spec, char **ret);
