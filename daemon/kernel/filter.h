/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/instance.h"

/* Writes the filter while the event is off and checks it by reading it back: if the kernel refuses
 * a filter, it removes the old one and leaves the event on. -EBUSY: the event is on.
 * KT_E_KERNEL_REFUSED: with the message of the instance's error_log if the log's command is ours.
 * -EOPNOTSUPP: the event has no filter. */
int instance_set_filter(const Instance *instance,
                const char *system,
                const char *event,
                const char *filter,
                Reason *reason);
/* The same for an event that has no filter. It may be on. */
int instance_add_filter(const Instance *instance,
                const char *system,
                const char *event,
                const char *filter,
                Reason *reason);
