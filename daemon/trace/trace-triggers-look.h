/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace-triggers-parts.h"
#include "trace/trace-triggers.h"

/* Has a trigger taken a snapshot since this was asked last? */
int trace_look_for_caught(Trace *trace);
/* The histogram of the spec's trigger `origin`, as the kernel has it. KT_E_WRONG_STATE: it is not
 * laid. */
int trace_find_hist(const Trace *trace,
                size_t origin,
                Trigger *ret,
                const char **ret_system,
                const char **ret_name,
                Reason *reason);
/* Worker thread. The lists have room. */
int trace_look_at_windows(Trace *trace, TraceWindows *ret);
/* "system:event" of each event whose histograms the guard has to pause; free the array only. */
int trace_list_twins(const Trace *trace, const char ***ret, size_t *ret_n);
/* Hangs one of them on this event, or turns one it on or off? */
bool trace_event_has_triggers(const Trace *trace, const char *system, const char *name);
/* May a trigger have turned it on or off? */
bool trace_event_has_window(const Trace *trace, const char *system, const char *name);
/* How many lines of the event's trigger file are these; *ret_stand: all that should be are. */
size_t trace_count_triggers(const Trace *trace,
                const char *system,
                const char *name,
                const char *text,
                bool *ret_stand);
/* How often it may still happen is told after the stop too. */
int trace_look_at_trigger(Trace *trace, TraceTrigger *t);
