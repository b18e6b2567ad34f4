/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Definitions of probes: global, each instance enables them for itself. Called on the worker
 * thread by cred-guard.c and probe-group.c; owns none of them.
 *
 * It relies on these behaviours of the kernel:
 * - kprobe_events is missing where the kernel has no kprobes, uprobe_events where it has no
 *   uprobes, and a write without O_TRUNC adds or removes one definition;
 * - dynamic_events lists and takes those on events ("e:"), and lists the other kinds too;
 * - it reads back as "p:GROUP/NAME SYMBOL ARGS" a line, arguments as they were written;
 * - a definition that another one with the same event name follows becomes a second probe of the
 *   same event;
 * - removing a definition that was ever on wipes the ring buffers of the instances that had it on.
 */

#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_ 128

static const char *const files[_PROBE_KIND_N] = {
        [PROBE_KERNEL] = "kprobe_events",
        [PROBE_USER] = "uprobe_events",
        [PROBE_EVENT] = "dynamic_events",
};

bool probe_is_supported(const Tracefs *tracefs, ProbeKind kind) {
        return faccessat(tracefs->fd, files[kind], W_OK, AT_EACCESS) == 0;
}

/* "p:GROUP/NAME SYMBOL": the line after the colon, or NULL. The type may carry a number ("r10"). */
static const char *line_event(const char *line) {
        size_t type = strcspn(line, ": \n");

        return line[type] == ':' ? line + type + 1 : NULL;
}

int probe_read(const Tracefs *tracefs,
                ProbeKind kind,
                const char *group,
                const char *name,
                char **ret) {
        _cleanup_free_ char *text = NULL;
        char event[NAME_MAX_];
        size_t n = 0;

        int size = snprintf(event, sizeof(event), "%s/%s ", group, name);
        if (size < 0 || (size_t)size >= sizeof(event))
                return -EINVAL;
        int r = tracefs_read(tracefs->fd, files[kind], &text, NULL);
        if (r < 0)
                return r;

        /* The lines that are wanted move to the front. */
        for (char *line = text, *next; *line; line = next) {
                size_t length = strcspn(line, "\n");
                const char *found = line_event(line);

                next = line + length + (line[length] == '\n');
                if (!found || strncmp(found, event, (size_t)size) != 0)
                        continue;
                if (n > 0)
                        text[n++] = '\n';
                memmove(text + n, line, length);
                n += length;
        }
        text[n] = '\0';
        *ret = n > 0 ? TAKE_PTR(text) : NULL;
        return 0;
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
