/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Finds the pids that a container uses for the tasks of the trace, and gives them to its Decode.
 * Reads all records, if the trace has such pids. Must be called before the first trace_next(),
 * before a filter is set, and after the time line is set. Returns 0 or -ENOMEM. */
int inner_search(Trace *trace);
/* For a part of the trace: its records do not suffice, so a file of them must not have such pids.
 */
void inner_search_forget(Trace *trace);
