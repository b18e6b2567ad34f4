/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

/* Returns NULL if the event is not a pair. */
const TracePair *trace_find_pair(const Trace *trace, const char *system, const char *name);
/* Returns the kernel's name of a granted event. The name of a pair differs from the name in the
 * spec. */
void trace_locate(const Trace *trace,
                const GrantEvent *event,
                const char **ret_system,
                const char **ret_name);
/* The same for the event of a trigger. */
void trace_locate_trigger(const Trace *trace,
                const TraceTrigger *t,
                const char **ret_system,
                const char **ret_name);
