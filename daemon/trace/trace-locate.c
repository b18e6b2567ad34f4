/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where the kernel has an event of the grant. A probe that is made of two events is another event
 * in each instance. */

#include "trace/trace-locate.h"

#include <string.h>

#include "kernel/pair.h"
#include "trace/trace-pairs.h"

const TracePair *trace_find_pair(const Trace *trace, const char *system, const char *name) {
        for (size_t i = 0; i < trace->n_pairs; i++) {
                const Probe *probe = trace->pairs[i].probe;

                if (strcmp(probe->group, system) == 0 && strcmp(probe->definition->name, name) == 0)
                        return &trace->pairs[i];
        }
        return NULL;
}

void trace_locate(const Trace *trace,
                const GrantEvent *event,
                const char **ret_system,
                const char **ret_name) {
        const TracePair *pair = trace_find_pair(trace, event->system, event->name);

        *ret_system = pair ? PAIR_SYSTEM : event->system;
        *ret_name = pair ? pair->event : event->name;
}

void trace_locate_trigger(const Trace *trace,
                const TraceTrigger *t,
                const char **ret_system,
                const char **ret_name) {
        trace_locate(trace, &trace->grant->events[t->event], ret_system, ret_name);
}
