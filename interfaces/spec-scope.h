/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

#define SPEC_SCOPE_FORMS "command:PID, own, pids:PID,PID, unit:NAME, cgroup:PATH or system"

/* Checks that a systemd unit with a cgroup can have this name. The reason quotes the key's
 * value. */
int spec_check_unit(const char *key, const char *value, const char *name, Reason *reason);
/* The setter of the key `scope`; the same contract as spec_set_string(). */
int spec_scope_set(Spec *spec, const char *value, Reason *reason);

const char *spec_scope_to_string(SpecScope scope);
/* "command:12", "own", "pids:1,2", "unit:x.service", "cgroup:/x", "system" */
int spec_format_scope(const Spec *spec, char **ret);
