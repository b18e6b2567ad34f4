/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lifetime unit:NAME: finds the cgroup of the unit, and reports when its last process has left. A
 * plan step on the worker thread finds the cgroup, because that walks the tree. The event loop
 * watches it, for session.c and, after a restart, for adopt.c. It needs neither D-Bus nor systemd,
 * because the kernel sends the notification.
 *
 * A user may name any unit that has processes: this ends only the user's own session, and the
 * cgroup file system shows to all users which units have processes. The owner of the processes does
 * not matter, unlike for a scope.
 *
 * It relies on these behaviours of the kernel:
 * - cgroup.events wakes pollers with POLLPRI when `populated` changes, which also counts the
 *   processes in subdirectories (cgroup-v2.rst);
 * - it does so at most every 10 ms (CGROUP_FILE_NOTIFY_MIN_INTV of kernel/cgroup/cgroup.c). It
 *   reports a change within that time later, and never if the cgroup is removed before that. So
 *   each wake-up is followed by one more check;
 * - reading the file of a removed cgroup fails with ENODEV. */

#include "scope/unit-watch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "scope/cgroup.h"

#define LOOK_AGAIN_USEC 50000

struct UnitWatch {
        UnitWatchHandler handler;
        void *userdata;
        int fd;
        sd_event_source *io, *timer;
};

void unit_place_clear(UnitPlace *place) {
        free(place->path);
        *place = (UnitPlace){};
}

/* Returns 1 if the cgroup has processes, 0 if it has none or was removed. */
static int read_populated(int fd) {
        char text[256];
        ssize_t size = pread(fd, text, sizeof(text) - 1, 0);

        if (size < 0)
                return errno == ENODEV ? 0 : -errno;
        text[size] = '\0';
        const char *word = strstr(text, "populated ");
        return word && word[strlen("populated ")] == '1';
}

static int open_events(int cgroup, int *ret) {
        *ret = openat(cgroup, "cgroup.events", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (*ret < 0)
                return errno == ENOENT || errno == ENODEV ? 0 : -errno;
        return read_populated(*ret);
}

/* For root, a unit of the system comes before units of users or containers with the same name. */
static int unit_watch_find_path(int root, const char *name, uid_t uid, char **ret, Reason *reason) {
        const UnitQuery query = { name, uid, uid == 0 };
        int r = cgroup_find_unit(root, &query, ret, reason);

        return r == -ENOENT && uid == 0 ? cgroup_find_delegated_unit(root, name, ret, reason) : r;
}

/* Sets other reasons than cgroup.c, because those mention scopes. */
static int unit_watch_refuse(int r, const char *name, Reason *reason) {
        switch (r) {
        case -ENOENT:
                return reason_set(reason,
                                KT_E_NO_SUCH_PROCESS,
                                "lifetime: unit:%.200s has no processes, or there is none: start it first",
                                name);
        case KT_E_KERNEL_REFUSED:
                return reason_set(reason,
                                r,
                                "lifetime: this machine has no cgroup v2 tree at /sys/fs/cgroup: write "
                                "client or linger");
        case KT_E_LIMIT_REACHED:
                return reason_set(reason,
                                r,
                                "lifetime: there are too many cgroups to look for unit:%.200s: write "
                                "client or linger",
                                name);
        case KT_E_INVALID_SPEC:
                return reason_set(reason,
                                r,
                                "lifetime: there are two units called unit:%.200s: name another",
                                name);
        default:
                return r;
        }
}

static int find_populated(const char *name, uid_t uid, UnitPlace *ret, Reason *reason) {
        _cleanup_close_ int root = -1, cgroup = -1, events = -1;
        _cleanup_free_ char *path = NULL;
        struct stat st;

        int r = cgroup_open_root(&root, reason);
        r = r ?: unit_watch_find_path(root, name, uid, &path, reason);
        r = r ?: cgroup_open(root, path, &cgroup);
        if (r != 0)
                return r;
        if (fstat(cgroup, &st) < 0)
                return -errno;
        r = open_events(cgroup, &events);
        if (r <= 0)
                return r < 0 ? r : -ENOENT;
        *ret = (UnitPlace){ TAKE_PTR(path), st.st_ino };
        return 0;
}

int unit_place_find(const Spec *spec, uid_t uid, UnitPlace *ret, Reason *reason) {
        if (spec->lifetime != LIFETIME_UNIT)
                return 0;
        int r = find_populated(spec->lifetime_unit, uid, ret, reason);
        return r == 0 ? 0 : unit_watch_refuse(r, spec->lifetime_unit, reason);
}

/* Reports once, because the handler may free the watch. */
static void unit_watch_report(UnitWatch *watch) {
        (void)sd_event_source_set_enabled(watch->io, SD_EVENT_OFF);
        (void)sd_event_source_set_enabled(watch->timer, SD_EVENT_OFF);
        watch->handler(watch->userdata);
}

static int on_look_again(sd_event_source *source _unused_, uint64_t usec _unused_, void *userdata) {
        UnitWatch *watch = userdata;

        if (read_populated(watch->fd) <= 0)
                unit_watch_report(watch);
        return 0;
}

static int on_event(sd_event_source *source _unused_,
                int fd,
                uint32_t events _unused_,
                void *userdata) {
        UnitWatch *watch = userdata;

        /* A file that cannot be read counts as empty. */
        if (read_populated(fd) <= 0) {
                unit_watch_report(watch);
                return 0;
        }
        (void)sd_event_source_set_time_relative(watch->timer, LOOK_AGAIN_USEC);
        (void)sd_event_source_set_enabled(watch->timer, SD_EVENT_ONESHOT);
        return 0;
}

static int open_place(const UnitPlace *place, int *ret) {
        _cleanup_close_ int root = -1, cgroup = -1, events = -1;
        Reason reason;
        struct stat st;

        int r = cgroup_open_root(&root, &reason);
        r = r ?: cgroup_open(root, place->path, &cgroup);
        if (r != 0)
                return -ESRCH;
        if (fstat(cgroup, &st) < 0)
                return -errno;
        if (st.st_ino != place->id)
                return -ESRCH;
        r = open_events(cgroup, &events);
        if (r <= 0)
                return r < 0 ? r : -ESRCH;
        *ret = TAKE_FD(events);
        return 0;
}

int unit_watch_new(sd_event *event,
                const UnitPlace *place,
                UnitWatchHandler handler,
                void *userdata,
                UnitWatch **ret) {
        _cleanup_(unit_watch_free_cleanup) UnitWatch *watch = calloc(1, sizeof(*watch));

        if (!watch)
                return -ENOMEM;
        *watch = (UnitWatch){ .handler = handler, .userdata = userdata, .fd = -1 };
        int r = open_place(place, &watch->fd);
        if (r < 0)
                return r;
        r = sd_event_add_io(event, &watch->io, watch->fd, EPOLLPRI, on_event, watch);
        if (r < 0)
                return r;
        r = sd_event_add_time_relative(
                        event, &watch->timer, CLOCK_MONOTONIC, 0, 0, on_look_again, watch);
        if (r < 0)
                return r;
        (void)sd_event_source_set_enabled(watch->timer, SD_EVENT_OFF);
        *ret = TAKE_PTR(watch);
        return 0;
}

UnitWatch *unit_watch_free(UnitWatch *watch) {
        if (!watch)
                return NULL;
        sd_event_source_disable_unref(watch->io);
        sd_event_source_disable_unref(watch->timer);
        close_cleanup(&watch->fd);
        free(watch);
        return NULL;
}
