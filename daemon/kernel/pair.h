/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance.h"

#define PAIR_SYSTEM "synthetic" /* the kernel's fixed system of synthetic events */

/* Returns whether this kernel supports paired events. */
bool pair_is_supported(const Tracefs *tracefs);
/* KT_E_NO_TRACING: not supported, with the reason. */
int pair_check_supported(const Tracefs *tracefs, Reason *reason);
/* Defines an event with these fields, "TYPE NAME; …". KT_E_KERNEL_REFUSED: with the kernel's
 * message. */
int pair_define(const Tracefs *tracefs, const char *name, const char *fields, Reason *reason);
/* Returns 0 if the event does not exist. -EBUSY: a trigger makes records of it, or an instance has
 * it on. */
int pair_remove(const Tracefs *tracefs, const char *name);
/* Removes all events whose names begin with `prefix`. -EBUSY: some remain. */
int pair_remove_all(const Tracefs *tracefs,
                const char *prefix,
                bool (*keeps)(const char *event, void *userdata),
                void *userdata);

/* Installs a trigger on an event. This clears the instance's rings, because the kernel sets the
 * clock again. */
int pair_install(const Instance *instance,
                const char *system,
                const char *event,
                const char *trigger,
                Reason *reason);
/* -EBUSY: a second trigger needs it. Returns 0 or -EINVAL if it does not exist. */
int pair_lift(const Instance *instance, const char *system, const char *event, const char *trigger);
/* Returns whether a line of an event's trigger file is this trigger. */
bool pair_line_is(const char *line, size_t size, const char *trigger);
/* Number of events dropped because the trigger's table of waiting events was full. */
int pair_read_dropped(const Instance *instance,
                const char *system,
                const char *event,
                const char *trigger,
                uint64_t *ret);
/* Removes the triggers from the instance's paired events whose names begin with `prefix`. If a
 * histogram goes away with its instance, its reference is never released, and its event stays
 * -EBUSY. */
int pair_clear_all(const Instance *instance, const char *prefix);
/* Removes all triggers that pair events from an instance that a killed daemon left. */
int pair_lift_all(const Instance *instance);
