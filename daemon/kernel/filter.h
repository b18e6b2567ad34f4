/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/instance.h"

/* Writes the filter while the event is off and reads it back: a filter that the kernel refuses
 * removes the old one and leaves the event on. -EBUSY when the event is on. KT_E_KERNEL_REFUSED
 * with the instance's error_log message when the log's command is ours. -EOPNOTSUPP: the event
 * takes no filter. */
int instance_set_filter(const Instance *instance,
                const char *system,
                const char *event,
                const char *filter,
                Reason *reason);
