/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Detects writes to an instance's control files with inotify. Created by session and history on the
 * worker thread, read in the event loop; owns the inotify descriptor and one descriptor per
 * directory.
 *
 * It relies on these behaviours of the kernel (tests/kernel/test-contract.c):
 * - a write to a tracefs file, or opening it with O_TRUNC, by any process and through any mount,
 *   raises IN_MODIFY on its directory; reading does not;
 * - opening one raises IN_OPEN there, before the first read;
 * - eventfs (6.6 and later) recreates the inodes of its directories when they are unused, and a
 *   watch on an old inode no longer reports events: so each directory is kept open;
 * - an open directory does not prevent the removal of an instance.
 *
 * It does not know which process wrote: session knows when we did. */

#include "kernel/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

typedef struct WatchDirectory {
        char *path;
        int fd;
        int mark;
} WatchDirectory;

struct Watch {
        int top_fd;               /* borrowed */
        const char *const *names; /* NULL-terminated; NULL: all */
        uint32_t mask;
        int fd;
        bool was_emptied;
        WatchDirectory *directories;
        size_t n_directories;
};

/* trace_clock: timestamps decide which tasks were members at a time. trace: opening it with O_TRUNC
 * empties the ring. */
static const char *const instance_names[] = {
        "set_event_pid",
        "set_event_notrace_pid",
        "set_event",
        "tracing_on",
        "trace",
        "trace_clock",
        "tracing_cpumask",
        "current_tracer",
        "buffer_size_kb",
        "trace_options",
        "event-fork",
        "overwrite",
        "enable",
        "filter",
        "trigger",
        NULL,
};

static const char *const probe_names[] = {
        "kprobe_events",
        "uprobe_events",
        "dynamic_events",
        NULL,
};

/* Opening one of these, to read it, takes records out of the ring. */
static const char *const taking_names[] = { "trace_pipe", "trace_pipe_raw", NULL };

static int watch_make(int top_fd, const char *const *names, Watch **ret) {
        _cleanup_(watch_free_cleanup) Watch *watch = calloc(1, sizeof(*watch));

        if (!watch)
                return -ENOMEM;
        watch->top_fd = top_fd;
        watch->names = names;
        watch->mask = IN_MODIFY | IN_ONLYDIR;
        watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (watch->fd < 0)
                return -errno;
        *ret = TAKE_PTR(watch);
        return 0;
}

int watch_new(const Instance *instance, Watch **ret) {
        return watch_make(instance->fd, instance_names, ret);
}

int watch_new_alone(const Instance *instance, Watch **ret) {
        int r = watch_make(instance->fd, NULL, ret);

        if (r == 0)
                (*ret)->mask |= IN_OPEN;
        return r;
}

int watch_new_probes(const Tracefs *tracefs, Watch **ret) {
        _cleanup_(watch_free_cleanup) Watch *watch = NULL;

        int r = watch_make(tracefs->fd, probe_names, &watch);
        r = r ?: watch_add(watch, ".");
        if (r == 0)
                *ret = TAKE_PTR(watch);
        return r;
}

Watch *watch_free(Watch *watch) {
        if (!watch)
                return NULL;
        for (size_t i = 0; i < watch->n_directories; i++) {
                close_cleanup(&watch->directories[i].fd);
                free(watch->directories[i].path);
        }
        free(watch->directories);
        close_cleanup(&watch->fd);
        free(watch);
        return NULL;
}

int watch_add(Watch *watch, const char *directory) {
        _cleanup_close_ int fd = -1;
        char path[64];

        for (size_t i = 0; i < watch->n_directories; i++)
                if (strcmp(watch->directories[i].path, directory) == 0)
                        return 0;
        WatchDirectory *bigger =
                        reallocarray(watch->directories, watch->n_directories + 1, sizeof(*bigger));
        if (!bigger)
                return -ENOMEM;
        watch->directories = bigger;
        fd = openat(watch->top_fd, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        int mark = inotify_add_watch(watch->fd, path, watch->mask);
        if (mark < 0)
                return -errno;
        char *copy = strdup(directory);
        if (!copy)
                return -ENOMEM;
        bigger[watch->n_directories++] =
                        (WatchDirectory){ .path = copy, .fd = TAKE_FD(fd), .mark = mark };
        return 0;
}

int watch_get_fd(const Watch *watch) {
        return watch->fd;
}

static const char *find_directory(const Watch *watch, int mark) {
        for (size_t i = 0; i < watch->n_directories; i++)
                if (watch->directories[i].mark == mark)
                        return watch->directories[i].path;
        return "?";
}

static bool is_among(const char *name, const char *const *names) {
        for (size_t i = 0; names[i]; i++)
                if (strcmp(name, names[i]) == 0)
                        return true;
        return false;
}

static bool matters(const Watch *watch, const struct inotify_event *event) {
        /* Events were lost, or the directory is gone. */
        if (event->len == 0)
                return (event->mask & IN_OPEN) == 0; /* of the directory itself */
        if (event->mask & IN_OPEN)
                return is_among(event->name, taking_names);
        return !watch->names || is_among(event->name, watch->names);
}

bool watch_take(Watch *watch, char ret_name[static WATCH_NAME_MAX]) {
        char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
        bool found = false;
        ssize_t n;

        while ((n = read(watch->fd, buffer, sizeof(buffer))) > 0)
                for (char *p = buffer; p < buffer + n;) {
                        const struct inotify_event *event = (struct inotify_event *)p;

                        if (event->len > 0 && strcmp(event->name, "trace") == 0)
                                watch->was_emptied = true;
                        if (!found && matters(watch, event)) {
                                found = true;
                                snprintf(ret_name,
                                                WATCH_NAME_MAX,
                                                "%s/%s",
                                                find_directory(watch, event->wd),
                                                event->len > 0 ? event->name : "");
                        }
                        p += sizeof(*event) + event->len;
                }
        return found;
}

bool watch_was_emptied(Watch *watch) {
        bool was_emptied = watch->was_emptied;

        watch->was_emptied = false;
        return was_emptied;
}
