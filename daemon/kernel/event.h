/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "interfaces/format.h"
#include "kernel/tracefs.h"

/* Every event of the kernel as "system:name", sorted by strcmp, each once. event_list_load reads
 * the list again at each call, because events come and go with modules and probes. */
typedef struct EventList {
        char *text; /* contains the names */
        const char **names;
        size_t n_names;
} EventList;

/* earlier: a list that was read before, or NULL. What it has and the kernel still has is in the new
 * list, too: a text of the kernel may lack an event while probes are removed. -EBADMSG: the
 * kernel's list does not have the expected format. */
int event_list_load(const Tracefs *tracefs, const EventList *earlier, EventList **ret);
EventList *event_list_free(EventList *list);
DEFINE_CLEANUP(EventList, event_list_free);
bool event_list_has(const EventList *list, const char *name);

/* Reads which events were made at run time: probes, synthetic events and user events. Events of
 * modules are not in it. */
int event_list_load_dynamic(const Tracefs *tracefs, EventList **ret);

/* Returns a text that changes whenever the list of events or the format of an event may have
 * changed: the dynamic events, and the modules with size, state and address. Built-in events never
 * change. */
int event_read_origins(const Tracefs *tracefs, char **ret);

/* Returns the text of events/SYSTEM/NAME/format. Names that contain '/' are refused. -ENOENT: no
 * such event. */
int event_read_format(const Tracefs *tracefs,
                const char *system,
                const char *name,
                char **ret,
                size_t *ret_size);
