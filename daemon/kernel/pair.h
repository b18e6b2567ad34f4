/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance.h"

#define PAIR_SYSTEM "synthetic" /* the kernel lets these events be in no other */

/* Can this kernel pair events? */
bool pair_is_supported(const Tracefs *tracefs);
/* KT_E_NO_TRACING: no, and why. */
int pair_check_supported(const Tracefs *tracefs, Reason *reason);
/* An event with these fields, "TYPE NAME; …". KT_E_KERNEL_REFUSED in the kernel's own words. */
int pair_define(const Tracefs *tracefs, const char *name, const char *fields, Reason *reason);
/* 0 when there is none, -EBUSY while a trigger makes records of it or an instance has it on. */
int pair_remove(const Tracefs *tracefs, const char *name);
/* All whose names begin so. -EBUSY: some are left. */
int pair_remove_all(const Tracefs *tracefs,
                const char *prefix,
                bool (*keeps)(const char *event, void *userdata),
                void *userdata);

/* A trigger of an event. Wipes the instance's rings: the kernel sets the clock again. */
int pair_install(const Instance *instance,
                const char *system,
                const char *event,
                const char *trigger,
                Reason *reason);
/* -EBUSY while a second one has need of it; 0 or -EINVAL when it is not there. */
int pair_lift(const Instance *instance, const char *system, const char *event, const char *trigger);
/* Does a line of an event's trigger file stand for this one? */
bool pair_line_is(const char *line, size_t size, const char *trigger);
/* Events that found no place among those that wait, of this trigger. */
int pair_read_dropped(const Instance *instance,
                const char *system,
                const char *event,
                const char *trigger,
                uint64_t *ret);
/* Takes the triggers off the instance's paired events whose names begin so. A histogram of one that
 * goes with its instance is counted for ever: its event would be -EBUSY from then on. */
int pair_clear_all(const Instance *instance, const char *prefix);
/* Lifts whatever pairs events in an instance that a killed daemon left. */
int pair_lift_all(const Instance *instance);
