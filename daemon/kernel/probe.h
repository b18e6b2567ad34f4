/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "kernel/tracefs.h"

/* The kernel has a separate list for each kind. */
typedef enum ProbeKind {
        PROBE_KERNEL, /* on kernel functions */
        PROBE_USER,   /* in programs and libraries */
        PROBE_EVENT,  /* on other events */
        _PROBE_KIND_N,
} ProbeKind;

#define PROBE_BATCH_MAX 3500 /* the kernel accepts 4095 bytes in one write */

/* Returns whether this process may define such probes here. */
bool probe_is_supported(const Tracefs *tracefs, ProbeKind kind);
/* Reads the definition of this event in the kernel, without the newline: NULL if there is no
 * definition. If the event has several probes, all their lines. */
int probe_read(const Tracefs *tracefs,
                ProbeKind kind,
                const char *group,
                const char *name,
                char **ret);
/* Reads all definitions of a kind; "" if there are no definitions. */
int probe_read_list(const Tracefs *tracefs, ProbeKind kind, char **ret);
/* Adds one definition in the kernel's syntax: "p:GROUP/NAME SYMBOL ARG…". -EEXIST: it already
 * exists. For kernel functions several lines are allowed, at most PROBE_BATCH_MAX bytes; the kernel
 * executes them one by one up to the first error. */
int probe_add(const Tracefs *tracefs, ProbeKind kind, const char *definition);
/* Removes a definition, which clears the buffers of all instances that ever had it on. Returns 0 if
 * it does not exist. -EBUSY: an instance uses it. */
int probe_remove(const Tracefs *tracefs, ProbeKind kind, const char *group, const char *name);

/* Decides which definitions stay; event: "GROUP/NAME", `size` bytes. */
typedef struct ProbeKeeper {
        bool (*keeps)(const char *event, size_t size, void *userdata);
        void *userdata;
} ProbeKeeper;
