/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "trace/trace.h"

/* Writes the options with which readers show the times of the trace's other time line: TRACEID and
 * TIME_SHIFT. Returns 0, -errno, or -E2BIG when the two clocks ran so unevenly that the option
 * would be too long. */
int dat_put_timeline(FILE *out, const Trace *trace);
