/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Creates, lists, controls and removes a trace instance of the kernel. Called by session, mostly on
 * the worker thread. Owns the fd of the instance's directory and no kernel state: the code that
 * created an instance must remove it. buffer.c handles its buffer, filter.c its filters.
 *
 * It relies on these behaviours of the kernel:
 * - an open directory of an instance does not prevent its removal, most open files do;
 * - a new instance has tracing_on = 1 and every event off;
 * - set_event_pid opened without O_TRUNC appends, and with an empty list all tasks are traced;
 * - membarrier(MEMBARRIER_CMD_GLOBAL) is synchronize_rcu(), and event handlers run with preemption
 *   off: after the call, all handlers that began before it have ended.
 *
 * It does not cache what it wrote: the kernel has the only copy. It does not know the order of the
 * fence's steps: scope/arm.c does. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "kernel/buffer.h"
#include "kernel/instance.h"
#include "kernel/path.h"

Instance *instance_free(Instance *instance) {
        if (!instance)
                return NULL;
        close_cleanup(&instance->fd);
        free(instance->name);
        free(instance);
        return NULL;
}

int instance_open(const Tracefs *tracefs, const char *name, Instance **ret) {
        TracefsPath path;
        int r = path_format(&path, "instances", name, NULL);
        if (r < 0)
                return r;

        _cleanup_(instance_free_cleanup) Instance *instance = calloc(1, sizeof(*instance));
        if (!instance)
                return -ENOMEM;
        instance->tracefs = tracefs;
        instance->fd = -1;
        instance->name = strdup(name);
        if (!instance->name)
                return -ENOMEM;
        instance->fd = openat(
                        tracefs->fd, path.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (instance->fd < 0)
                return -errno;

        *ret = TAKE_PTR(instance);
        return 0;
}

int instance_create(const Tracefs *tracefs, const char *id, Instance **ret) {
        char name[NAME_MAX + 1];
        TracefsPath path;

        /* The kernel accepts any name, even with newlines. */
        int n = snprintf(name, sizeof(name), KT_INSTANCE_PREFIX "%s", id);
        if (n < 0 || (size_t)n >= sizeof(name))
                return -EINVAL;
        int r = path_format(&path, "instances", name, NULL);
        if (r < 0)
                return r;

        if (mkdirat(tracefs->fd, path.text, 0700) < 0)
                return -errno;
        r = instance_open(tracefs, name, ret);
        if (r < 0)
                (void)instance_remove(tracefs, name); /* report the first error */
        return r;
}

int instance_remove(const Tracefs *tracefs, const char *name) {
        TracefsPath path;
        int r = path_format(&path, "instances", name, NULL);
        if (r < 0)
                return r;
        if (unlinkat(tracefs->fd, path.text, AT_REMOVEDIR) < 0 && errno != ENOENT)
                return -errno;
        return 0;
}

char **instance_list_free(char **names) {
        if (!names)
                return NULL;
        for (char **name = names; *name; name++)
                free(*name);
        free(names);
        return NULL;
}

int instance_list(const Tracefs *tracefs, char ***ret) {
        _cleanup_(instance_list_free_cleanup) char **names = calloc(1, sizeof(*names));
        _cleanup_(fd_close_directory_cleanup) DIR *dir = NULL;
        size_t n = 0;

        if (!names)
                return -ENOMEM;
        int r = fd_open_directory(tracefs->fd, "instances", &dir);
        if (r < 0)
                return r;
        for (;;) {
                errno = 0;
                struct dirent *entry = readdir(dir);
                if (!entry) {
                        if (errno != 0)
                                return -errno;
                        break;
                }
                if (strncmp(entry->d_name, KT_INSTANCE_PREFIX, strlen(KT_INSTANCE_PREFIX)) != 0)
                        continue;

                char **grown = reallocarray(names, n + 2, sizeof(*names));
                if (!grown)
                        return -ENOMEM;
                names = grown;
                names[n] = strdup(entry->d_name);
                if (!names[n])
                        return -ENOMEM;
                names[++n] = NULL;
        }
        *ret = TAKE_PTR(names);
        return 0;
}

int instance_set_clock(const Instance *instance, const char *clock, Reason *reason) {
        _cleanup_free_ char *known = NULL;

        int r = tracefs_write(instance->fd, "trace_clock", clock);
        if (r != -EINVAL)
                return r;
        r = tracefs_read(instance->fd, "trace_clock", &known, NULL);
        if (r < 0)
                return r;
        known[strcspn(known, "\n")] = '\0';
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "clock: %s is unknown to the kernel, which has: %s",
                        clock,
                        known);
}

int instance_set_option(const Instance *instance, const char *option, bool on) {
        TracefsPath path;
        int r = path_format(&path, "options", option, NULL);
        if (r < 0)
                return r;
        return tracefs_write(instance->fd, path.text, on ? "1" : "0");
}

int instance_add_pid(const Instance *instance, pid_t tid) {
        char text[16];

        /* The effect of 0 or a negative number in the list is not defined. */
        if (tid <= 0)
                return -EINVAL;
        snprintf(text, sizeof(text), "%d\n", tid);
        return tracefs_write(instance->fd, "set_event_pid", text);
}

/* Limits one write to a few thousand bytes: the kernel accepts any length, but holds its lock
 * during the write. */
#define PIDS_PER_WRITE 256

static int add_some_pids(const Instance *instance, const pid_t *tids, size_t n) {
        char text[PIDS_PER_WRITE * 12];
        size_t at = 0;

        for (size_t i = 0; i < n; i++) {
                if (tids[i] <= 0)
                        return -EINVAL;
                at += (size_t)snprintf(text + at, sizeof(text) - at, "%d\n", tids[i]);
        }
        return tracefs_write(instance->fd, "set_event_pid", text);
}

int instance_add_pids(const Instance *instance, const pid_t *tids, size_t n) {
        for (size_t at = 0; at < n; at += PIDS_PER_WRITE) {
                int r = add_some_pids(instance, tids + at, MIN_OF(n - at, (size_t)PIDS_PER_WRITE));
                if (r < 0)
                        return r;
        }
        return 0;
}

int instance_read_pids(const Instance *instance, pid_t **ret, size_t *ret_n) {
        _cleanup_free_ char *text = NULL;
        size_t size, n = 0;

        int r = tracefs_read(instance->fd, "set_event_pid", &text, &size);
        if (r < 0)
                return r;

        /* A number and its newline take at least two bytes. */
        _cleanup_free_ pid_t *pids = calloc(size / 2 + 1, sizeof(*pids));
        if (!pids)
                return -ENOMEM;
        for (char *p = text; *p;) {
                char *end;
                long pid = strtol(p, &end, 10);
                if (end == p || (*end != '\n' && *end != '\0') || pid < 0 || pid > INT32_MAX)
                        return -EBADMSG;
                pids[n++] = (pid_t)pid;
                p = end + (*end == '\n');
        }

        *ret = TAKE_PTR(pids);
        *ret_n = n;
        return 0;
}

int instance_has_pid(const Instance *instance, pid_t tid, bool *ret) {
        _cleanup_free_ pid_t *pids = NULL;
        size_t n;

        int r = instance_read_pids(instance, &pids, &n);
        if (r < 0)
                return r;
        bool found = false;
        for (size_t i = 0; i < n && !found; i++)
                found = pids[i] == tid;
        *ret = found;
        return 0;
}

int instance_get_tracing(const Instance *instance, bool *ret) {
        uint64_t on;
        int r = tracefs_read_u64(instance->fd, "tracing_on", &on);
        if (r == 0)
                *ret = on != 0;
        return r;
}

int instance_set_tracing(const Instance *instance, bool on) {
        return tracefs_write(instance->fd, "tracing_on", on ? "1" : "0");
}

int instance_enable_event(const Instance *instance,
                const char *system,
                const char *event,
                bool on) {
        TracefsPath path;
        int r = path_format(&path, "events", system, event, "enable", NULL);
        if (r < 0)
                return r;
        return tracefs_write(instance->fd, path.text, on ? "1" : "0");
}

int instance_enable_system(const Instance *instance, const char *system, bool on) {
        TracefsPath path;
        int r = path_format(&path, "events", system, "enable", NULL);
        if (r < 0)
                return r;
        return tracefs_write(instance->fd, path.text, on ? "1" : "0");
}

bool instance_wait_for_handlers(void) {
        return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0;
}

int instance_disable_all(const Instance *instance) {
        int r = tracefs_write(instance->fd, "events/enable", "0");
        if (r < 0)
                return r;

        return instance_wait_for_handlers() ? 0 : buffer_wait_quiet(instance);
}

int instance_open_file(const Instance *instance, const char *path, int flags) {
        if (*path == '/' || strstr(path, ".."))
                return -EINVAL;
        int fd = openat(instance->fd, path, flags | O_CLOEXEC | O_NOFOLLOW);
        return fd < 0 ? -errno : fd;
}
