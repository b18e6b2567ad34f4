/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* The kernel's line of a raw definition, with the group and the name that are ours. */
int probe_raw_make_line(const Probe *probe, char **ret, Reason *reason);
/* The kernel has refused a line of the probe at this column (from 1; 0: unknown): says so, with the
 * place in what the caller wrote. Returns code. */
int probe_refuse_line(const Probe *probe, size_t column, int code, const char *why, Reason *reason);
