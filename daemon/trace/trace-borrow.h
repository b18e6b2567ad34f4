/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "trace/trace.h"

/* Steps of trace.c's plans for an instance that somebody else made. */

bool trace_is_borrowed(const Trace *trace);
/* In place of making one, with buffer and options as they are. */
int trace_borrow(Trace *trace, Reason *reason);
/* Over a restart of the daemon: what is to be put back, and the instance once more. */
int trace_keep_borrow(const Trace *trace, json_object *object);
int trace_adopt_borrow(Trace *trace, json_object *object);
int trace_reopen_borrowed(Trace *trace, Reason *reason);
/* Memory alone. */
void trace_free_borrow(Trace *trace);
/* Puts everything back that this session has changed, and lets go. */
int trace_give_back(Trace *trace);
/* The filter of the grant's event i; the one that was there is kept. filter: NULL for none. */
int trace_borrow_filter(Trace *trace, size_t i, const char *filter, Reason *reason);
void trace_return_filters(Trace *trace);
/* Of start: it records from now on. */
int trace_step_borrowed_latch(void *context, Reason *reason);
/* Turns the grant's event i on, if it was off. */
int trace_borrow_event(Trace *trace, size_t i);
/* The same, or off, if the session has turned it on. */
int trace_switch_borrowed(Trace *trace, size_t i, bool on);
/* Those that it has turned on, off. */
int trace_return_events(Trace *trace);

/* The clock that stamps the records. */
const char *trace_get_clock(const Trace *trace);
/* The grant's event i is on by its maker's will, in a borrowed instance. */
bool trace_keeps_event(const Trace *trace, size_t i);
