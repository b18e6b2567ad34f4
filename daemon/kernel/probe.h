/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "tracefs.h"

/* May this process define probes here? */
bool probe_is_supported(const Tracefs *tracefs);
/* What stands in the kernel for this event, without the line's end: NULL when nothing does. Several
 * probes of one event: all their lines. */
int probe_read(const Tracefs *tracefs, const char *group, const char *name, char **ret);
/* One definition in the kernel's syntax: "p:GROUP/NAME SYMBOL ARG…". -EEXIST. */
int probe_add(const Tracefs *tracefs, const char *definition);
/* Wipes the buffers of all instances that ever had it on. 0 when there is none, -EBUSY while an
 * instance uses it. */
int probe_remove(const Tracefs *tracefs, const char *group, const char *name);
