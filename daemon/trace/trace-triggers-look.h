/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace-triggers.h"

/* The trigger as the kernel's files write it. */
Trigger trace_get_trigger(const TraceTrigger *t);
/* Sets has_caught if a trigger has taken a snapshot since the last call. */
int trace_look_for_caught(Trace *trace);
/* Finds the kernel's histogram for the spec's trigger `origin`. KT_E_WRONG_STATE: it is not
 * installed. */
int trace_find_hist(const Trace *trace,
                size_t origin,
                Trigger *ret,
                const char **ret_system,
                const char **ret_name,
                Reason *reason);
/* Worker thread. The caller allocates the lists in ret. */
int trace_look_at_windows(Trace *trace, TraceWindows *ret);
/* Lists system and event of each event whose histograms the guard has to pause. The caller frees
 * only the array. */
int trace_list_twins(const Trace *trace, const char ***ret, size_t *ret_n);
/* True if one of the triggers is on this event, or enables or disables it. */
bool trace_event_has_triggers(const Trace *trace, const char *system, const char *name);
/* True if a trigger may have enabled or disabled the event. */
bool trace_event_has_window(const Trace *trace, const char *system, const char *name);
/* Returns how many triggers the session has on the event. *ret_stand: true if the trigger file
 * lists all of them. */
size_t trace_count_triggers(const Trace *trace,
                const char *system,
                const char *name,
                const char *text,
                bool *ret_stand);
/* Reads the rest of the trigger's count, which is also reported after the stop. */
int trace_look_at_trigger(Trace *trace, TraceTrigger *t);
