/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "interfaces/error.h"
#include "trace/trace.h"

/* Writes the trace of a .kts stream as trace.dat version 6, from the start of out, which must be
 * seekable. 0, -errno, KT_E_FAILED with reason. */
int dat_write(Trace *trace, FILE *out, bool with_date, Reason *reason);
