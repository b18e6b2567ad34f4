/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/probe.h"

/* KT_E_NO_TRACING: not supported, with the reason. */
int probe_check_supported(const Tracefs *tracefs, ProbeKind kind, Reason *reason);
/* As probe_read(), but from such a list. */
int probe_list_find(const char *list, const char *group, const char *name, char **ret);
/* Defines one event with one location per line: all of them or none. KT_E_KERNEL_REFUSED: with the
 * kernel's message. KT_E_NO_TRACING: the kernel has no such probes. ret_column: position in the
 * refused line, from 1; 0: not known. */
int probe_define(const Tracefs *tracefs,
                ProbeKind kind,
                const char *lines,
                size_t *ret_column,
                Reason *reason);
/* Returns whether the definition in the kernel is this one, with all its lines. */
bool probe_line_is_same(const char *stands, const char *definition);
/* Removes all other probes, of all kinds, in the groups whose names begin with `prefix`. A probe in
 * use stays, with those after it in the list: -EBUSY. */
int probe_remove_groups(const Tracefs *tracefs, const char *prefix, const ProbeKeeper *keeper);
/* Reads the counts of all instances since the definition. file: for a probe in a program, the path
 * in its definition; misses are not counted there. -ENOENT: the kernel has no such probe or, for
 * its own functions, several with that name. */
int probe_read_counts(const Tracefs *tracefs,
                const char *file,
                const char *name,
                uint64_t *ret_hits,
                uint64_t *ret_misses);
