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

/* The same as probe_add, told why not: KT_E_KERNEL_REFUSED in the kernel's own words,
 * KT_E_NO_TRACING where there are no probes. */
int probe_define(const Tracefs *tracefs, const char *definition, Reason *reason);
/* Is what stands in the kernel this definition? */
bool probe_line_is_same(const char *stands, const char *definition);
/* All of the groups that begin so, but that one ("GROUP/"). What is in use stays, and what comes
 * behind it: -EBUSY. */
int probe_remove_groups(const Tracefs *tracefs, const char *prefix, const char *except);
/* Of all instances since it was defined. -ENOENT: the kernel has none or several of that name. */
int probe_read_counts(const Tracefs *tracefs,
                const char *name,
                uint64_t *ret_hits,
                uint64_t *ret_misses);
