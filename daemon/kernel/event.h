/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "interfaces/format.h"
#include "kernel/tracefs.h"

/* Every event of the kernel as "system:name", in the order of strcmp, each once. Read afresh at
 * each call of event_list_load: events come and go with modules and probes. */
typedef struct EventList {
        char *text; /* what the names lie in */
        const char **names;
        size_t n_names;
} EventList;

/* -EBADMSG: the kernel's list is not what it has always been. */
int event_list_load(const Tracefs *tracefs, EventList **ret);
EventList *event_list_free(EventList *list);
DEFINE_CLEANUP(EventList, event_list_free);
bool event_list_has(const EventList *list, const char *name);

/* A text that changes whenever the format of an event may have changed: the dynamic events, and the
 * loaded modules with size and address. The format of an event that is built in never changes. */
int event_read_origins(const Tracefs *tracefs, char **ret);

/* Text of events/SYSTEM/NAME/format; checked to hold no '/' first. -ENOENT: no such event. */
int event_read_format(const Tracefs *tracefs,
                const char *system,
                const char *name,
                char **ret,
                size_t *ret_size);
