/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads, adds and removes definitions of probes. They are global; each instance enables them
 * separately. Called on the worker thread by cred-guard.c and probe-group.c; owns no definitions.
 *
 * It relies on these behaviours of the kernel:
 * - kprobe_events is missing where the kernel has no kprobes, uprobe_events where it has no
 *   uprobes, and a write without O_TRUNC adds or removes one definition;
 * - dynamic_events lists and accepts probes on events ("e:"), and also lists the other kinds;
 * - a definition reads back as one "p:GROUP/NAME SYMBOL ARGS" per line, arguments as they were
 *   written;
 * - a second definition with the same event name adds a second probe to the same event;
 * - removing a definition clears the ring buffers of all instances that ever had it on. */

#include "kernel/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/probe-group.h"

#define NAME_MAX_ 128

static const char *const files[_PROBE_KIND_N] = {
        [PROBE_KERNEL] = "kprobe_events",
        [PROBE_USER] = "uprobe_events",
        [PROBE_EVENT] = "dynamic_events",
};

bool probe_is_supported(const Tracefs *tracefs, ProbeKind kind) {
        return faccessat(tracefs->fd, files[kind], W_OK, AT_EACCESS) == 0;
}

int probe_read_list(const Tracefs *tracefs, ProbeKind kind, char **ret) {
        int r = tracefs_read_list(tracefs->fd, files[kind], ret);

        if (r != -ENOENT)
                return r;
        *ret = strdup("");
        return *ret ? 0 : -ENOMEM;
}

int probe_read(const Tracefs *tracefs,
                ProbeKind kind,
                const char *group,
                const char *name,
                char **ret) {
        _cleanup_free_ char *list = NULL;

        int r = tracefs_read_list(tracefs->fd, files[kind], &list);
        return r ?: probe_list_find(list, group, name, ret);
}

int probe_add(const Tracefs *tracefs, ProbeKind kind, const char *definition) {
        return tracefs_write(tracefs->fd, files[kind], definition);
}

int probe_remove(const Tracefs *tracefs, ProbeKind kind, const char *group, const char *name) {
        char command[NAME_MAX_ + 2];

        int size = snprintf(command, sizeof(command), "-:%s/%s", group, name);
        if (size < 0 || (size_t)size >= sizeof(command))
                return -EINVAL;
        int r = tracefs_write(tracefs->fd, files[kind], command);
        return r == -ENOENT ? 0 : r;
}
