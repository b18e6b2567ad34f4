/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "trace/trace.h"

/* Steps of the plans in trace.c for an instance that the session did not make. */

bool trace_is_borrowed(const Trace *trace);
/* Opens the instance instead of making one. Its buffer and options stay as they are. */
int trace_borrow(Trace *trace, Reason *reason);
/* For a restart of the daemon: saves and loads what must be restored, and opens the instance again.
 */
int trace_keep_borrow(const Trace *trace, json_object *object);
int trace_adopt_borrow(Trace *trace, json_object *object);
int trace_reopen_borrowed(Trace *trace, Reason *reason);
/* Frees memory only. */
void trace_free_borrow(Trace *trace);
/* Restores everything that this session has changed, and releases the instance. */
int trace_give_back(Trace *trace);
/* Sets the filter of the grant's event i and saves the previous one. filter: NULL for none. */
int trace_borrow_filter(Trace *trace, size_t i, const char *filter, Reason *reason);
void trace_return_filters(Trace *trace);
/* Step of start: switches tracing_on to 1 if it is 0. */
int trace_step_borrowed_latch(void *context, Reason *reason);
/* Enables the grant's event i if it is disabled. */
int trace_borrow_event(Trace *trace, size_t i);
/* Enables the event, or disables it if the session has enabled it. */
int trace_switch_borrowed(Trace *trace, size_t i, bool on);
/* Disables the events that the session has enabled. */
int trace_return_events(Trace *trace);

/* The clock of the records' timestamps. */
const char *trace_get_clock(const Trace *trace);
/* True if the maker of a borrowed instance has enabled the grant's event i. */
bool trace_keeps_event(const Trace *trace, size_t i);
