/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "kernel/tracefs.h"

/* The kernel keeps a list of each. */
typedef enum ProbeKind {
        PROBE_KERNEL, /* on functions of its own */
        PROBE_USER,   /* in programs and libraries */
        PROBE_EVENT,  /* on other events */
        _PROBE_KIND_N,
} ProbeKind;

#define PROBE_BATCH_MAX 3500 /* the kernel takes 4095 in one write */

/* May this process define such probes here? */
bool probe_is_supported(const Tracefs *tracefs, ProbeKind kind);
/* KT_E_NO_TRACING: no, and why. */
int probe_check_supported(const Tracefs *tracefs, ProbeKind kind, Reason *reason);
/* What stands in the kernel for this event, without the line's end: NULL when nothing does. Several
 * probes of one event: all their lines. */
int probe_read(const Tracefs *tracefs,
                ProbeKind kind,
                const char *group,
                const char *name,
                char **ret);
/* All that stands of a kind; "" where there are none. */
int probe_read_list(const Tracefs *tracefs, ProbeKind kind, char **ret);
/* What probe_read() gives, out of such a list. */
int probe_list_find(const char *list, const char *group, const char *name, char **ret);
/* One definition in the kernel's syntax: "p:GROUP/NAME SYMBOL ARG…". -EEXIST. Several of kernel
 * functions, a line each, PROBE_BATCH_MAX bytes at most: carried out one by one up to the first
 * that fails. */
int probe_add(const Tracefs *tracefs, ProbeKind kind, const char *definition);
/* Wipes the buffers of all instances that ever had it on. 0 when there is none, -EBUSY while an
 * instance uses it. */
int probe_remove(const Tracefs *tracefs, ProbeKind kind, const char *group, const char *name);

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

/* Which definitions stay; event: "GROUP/NAME", `size` bytes. */
typedef struct ProbeKeeper {
        bool (*keeps)(const char *event, size_t size, void *userdata);
        void *userdata;
} ProbeKeeper;

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
