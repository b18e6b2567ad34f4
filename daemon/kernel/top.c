/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The top-level buffer, for boot traces. Called only by boot/boot-trace.c, on the worker thread;
 * that file documents when. It relies on set_event: opened without O_TRUNC, "!SYSTEM:EVENT" turns
 * one event off and does not change the others. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "kernel/top.h"

int top_open(const Tracefs *tracefs, Instance **ret) {
        Instance *top = calloc(1, sizeof(*top));

        if (!top)
                return -ENOMEM;
        top->tracefs = tracefs;
        top->name = strdup("");
        top->fd = openat(tracefs->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (!top->name || top->fd < 0) {
                int r = top->name ? -errno : -ENOMEM;

                close_cleanup(&top->fd);
                free(top->name);
                free(top);
                return r;
        }
        *ret = top;
        return 0;
}

int top_is_idle(const Instance *top, bool *ret) {
        _cleanup_free_ char *tracer = NULL;

        int r = tracefs_read(top->fd, "current_tracer", &tracer, NULL);
        if (r == 0)
                *ret = strcmp(tracer, "nop\n") == 0;
        return r;
}

int top_read_enabled(const Instance *instance, char **ret) {
        return tracefs_read_list(instance->fd, "set_event", ret);
}

int top_turn_off(const Instance *instance, const char *event) {
        char text[300];

        int n = snprintf(text, sizeof(text), "!%s\n", event);
        if (n < 0 || (size_t)n >= sizeof(text))
                return -EINVAL;
        return tracefs_write(instance->fd, "set_event", text);
}
