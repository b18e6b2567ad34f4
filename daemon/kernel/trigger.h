/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance.h"

#define TRIGGER_WITHOUT_END 0

/* One trigger of an event, in the kernel's words. Borrows its texts. */
typedef struct Trigger {
        const char *command;   /* "traceoff", "enable_event:sched:sched_switch", "hist:keys=pid" */
        uint64_t count;        /* how often at most; TRIGGER_WITHOUT_END */
        const char *condition; /* NULL: none */
        const char *listed;    /* of a hist: behind "hist:", as the kernel gives it back */
} Trigger;

/* What became of it. */
typedef struct TriggerState {
        bool stands;
        uint64_t left;    /* of count */
        bool is_paused;   /* of a hist */
        const char *line; /* of a hist: in the text, without the state behind it */
        size_t line_size;
} TriggerState;

/* Has the kernel what this command needs on that event? */
bool trigger_is_known(const Instance *instance,
                const char *system,
                const char *event,
                const char *command);
/* KT_E_KERNEL_REFUSED with the kernel's words where they are about ours; KT_E_LIMIT_REACHED: no
 * memory. */
int trigger_install(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger,
                Reason *reason);
/* 0 also when it is not there. Waits until nobody is in it any more. */
int trigger_lift(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger);
/* Of a hist: its counts stay and grow no more, or go on. */
int trigger_pause(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger,
                bool pause);
/* Of a hist: its counts begin anew. */
int trigger_clear(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger);
/* The whole of that file. */
int trigger_read(const Instance *instance, const char *system, const char *event, char **ret);
/* Its enable file: recorded now? Triggers of an event make it say so with a star. */
int trigger_read_enabled(const Instance *instance,
                const char *system,
                const char *event,
                bool *ret);
