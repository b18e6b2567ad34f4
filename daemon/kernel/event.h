/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "format.h"
#include "tracefs.h"

typedef struct EventName {
        char *system;
        char *name;
} EventName;

/* Every event of the kernel, sorted by system and name. Read afresh at each call of
 * event_list_load: events come and go with modules and probes. */
typedef struct EventList {
        EventName *events;
        size_t n_events;
} EventList;

int event_list_load(const Tracefs *tracefs, EventList **ret);
EventList *event_list_free(EventList *list);
DEFINE_CLEANUP(EventList, event_list_free);
/* Index of "system:name", or -1. */
ssize_t event_list_find(const EventList *list, const char *system, const char *name);

/* Text of events/SYSTEM/NAME/format; checked to hold no '/' first. -ENOENT: no such event. */
int event_read_format(const Tracefs *tracefs,
                const char *system,
                const char *name,
                char **ret,
                size_t *ret_size);
