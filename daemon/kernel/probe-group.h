/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/probe.h"

/* KT_E_NO_TRACING: no, and why. */
int probe_check_supported(const Tracefs *tracefs, ProbeKind kind, Reason *reason);
/* What probe_read() gives, out of such a list. */
int probe_list_find(const char *list, const char *group, const char *name, char **ret);
/* One event, at as many places as there are lines: all of them or none. KT_E_KERNEL_REFUSED in the
 * kernel's own words, KT_E_NO_TRACING where there are no such probes. ret_column: in the line that
 * the kernel refuses, from 1; 0: it does not tell. */
int probe_define(const Tracefs *tracefs,
                ProbeKind kind,
                const char *lines,
                size_t *ret_column,
                Reason *reason);
/* Is what stands in the kernel this definition, with all its lines? */
bool probe_line_is_same(const char *stands, const char *definition);
/* All others of the groups that begin so, of all kinds. What is in use stays, and what comes behind
 * it: -EBUSY. */
int probe_remove_groups(const Tracefs *tracefs, const char *prefix, const ProbeKeeper *keeper);
/* Of all instances since it was defined. file: of a user's, the path in its definition; misses are
 * not counted there. -ENOENT: the kernel has none or, of its own functions, several of that name.
 */
int probe_read_counts(const Tracefs *tracefs,
                const char *file,
                const char *name,
                uint64_t *ret_hits,
                uint64_t *ret_misses);
