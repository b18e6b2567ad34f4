/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "export/dat-put.h"
#include "interfaces/error.h"
#include "trace/trace.h"

/* Writes the trace of a .kts stream as trace.dat version 6, not compressed, from the start of out,
 * which must be seekable. Returns 0, -errno, or -EBADMSG for data that cannot be unpacked. */
int dat_write_plain(Trace *trace, FILE *out, bool with_date, DatCounts *ret);
