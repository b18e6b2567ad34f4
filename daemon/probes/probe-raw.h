/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* Makes the kernel's line of a raw definition, with our group and name. */
int probe_raw_make_line(const Probe *probe, char **ret, Reason *reason);
/* Sets the reason after the kernel has refused a line of the probe at this column (from 1; 0:
 * unknown). The reason names the place in the caller's text. Returns code. */
int probe_refuse_line(const Probe *probe, size_t column, int code, const char *why, Reason *reason);
