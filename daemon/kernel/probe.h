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
/* What stands in the kernel for this event, without the line's end: NULL when nothing does. Several
 * probes of one event: all their lines. */
int probe_read(const Tracefs *tracefs,
                ProbeKind kind,
                const char *group,
                const char *name,
                char **ret);
/* All that stands of a kind; "" where there are none. */
int probe_read_list(const Tracefs *tracefs, ProbeKind kind, char **ret);
/* One definition in the kernel's syntax: "p:GROUP/NAME SYMBOL ARG…". -EEXIST. Several of kernel
 * functions, a line each, PROBE_BATCH_MAX bytes at most: carried out one by one up to the first
 * that fails. */
int probe_add(const Tracefs *tracefs, ProbeKind kind, const char *definition);
/* Wipes the buffers of all instances that ever had it on. 0 when there is none, -EBUSY while an
 * instance uses it. */
int probe_remove(const Tracefs *tracefs, ProbeKind kind, const char *group, const char *name);

/* Which definitions stay; event: "GROUP/NAME", `size` bytes. */
typedef struct ProbeKeeper {
        bool (*keeps)(const char *event, size_t size, void *userdata);
        void *userdata;
} ProbeKeeper;
