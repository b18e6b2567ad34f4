/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance.h"

#define TRIGGER_WITHOUT_END 0

/* One trigger of an event, in the kernel's syntax. Borrows its texts. */
typedef struct Trigger {
        const char *command;   /* "traceoff", "enable_event:sched:sched_switch", "hist:keys=pid" */
        uint64_t count;        /* maximum number of times; TRIGGER_WITHOUT_END */
        const char *condition; /* NULL: none */
        const char *listed;    /* of a hist: text after "hist:" as the kernel shows it */
} Trigger;

/* The state of a trigger. */
typedef struct TriggerState {
        bool stands;
        uint64_t left;    /* of count */
        bool is_paused;   /* of a hist */
        const char *line; /* of a hist: its line in the text, without the state */
        size_t line_size;
} TriggerState;

/* Returns whether the kernel supports this command on that event. */
bool trigger_is_known(const Instance *instance,
                const char *system,
                const char *event,
                const char *command);
/* KT_E_KERNEL_REFUSED: with the kernel's message if it is about our command. KT_E_LIMIT_REACHED:
 * out of memory. */
int trigger_install(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger,
                Reason *reason);
/* Returns 0 also if the trigger does not exist. Waits until no task executes it. */
int trigger_lift(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger);
/* Pauses or resumes a hist; its counts are kept. */
int trigger_pause(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger,
                bool pause);
/* Resets the counts of a hist. */
int trigger_clear(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger);
/* Reads the whole trigger file. */
int trigger_read(const Instance *instance, const char *system, const char *event, char **ret);
/* Reads from the enable file whether the event is recorded. A star in it means that the event has
 * triggers. */
int trigger_read_enabled(const Instance *instance,
                const char *system,
                const char *event,
                bool *ret);
