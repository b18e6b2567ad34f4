/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Filters of an instance's events. Called by session on the worker thread, before the event is
 * enabled, or while it is on without a filter.
 *
 * It relies on these behaviours of the kernel:
 * - a refused write returns EINVAL (ENOENT for an open parenthesis), removes the old filter and
 *   leaves the event on or off: an event that is on then records everything, so it must be off, or
 *   record everything before;
 * - after a refusal the filter file contains the refused text; writing "0" resets it to "none";
 * - an accepted filter reads back as it was written, without the blanks around it;
 * - the whole write is at most 4095 bytes;
 * - error_log of the instance contains the error (error-log.c).
 *
 * It does not parse filters. It quotes the error_log only for our own command, because all users of
 * the instance share the log. */

#include "kernel/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "kernel/error-log.h"
#include "kernel/instance.h"
#include "kernel/path.h"

#define FILTER_WRITE_MAX 4095
#define NEAR_MAX         24

static size_t filter_line_size(const char *line) {
        return strcspn(line, "\n");
}

static int event_filter_refuse(const Instance *instance,
                const char *event,
                const char *filter,
                int error,
                Reason *reason) {
        _cleanup_free_ char *log = NULL;
        LogEntry entry;

        if (tracefs_read(instance->fd, "error_log", &log, NULL) < 0 ||
                        !error_log_find(log, filter, &entry))
                return reason_set(reason,
                                KT_E_KERNEL_REFUSED,
                                "the kernel refuses the filter of %s: %s",
                                event,
                                strerrordesc_np(-error));
        if (entry.column == 0 || entry.column > strlen(filter))
                return reason_set(reason,
                                KT_E_KERNEL_REFUSED,
                                "the kernel refuses the filter of %s: %.*s",
                                event,
                                (int)entry.message_size,
                                entry.message);
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "the kernel refuses the filter of %s: %.*s at column %zu ('%.*s')",
                        event,
                        (int)entry.message_size,
                        entry.message,
                        entry.column,
                        NEAR_MAX,
                        filter + entry.column - 1);
}

/* Removes blanks around the text, as the kernel does. Refuses control characters, because with them
 * the error_log would contain another text than the one that we compare. */
static int trim(const char *filter, char **ret, Reason *reason) {
        for (const unsigned char *p = (const unsigned char *)filter; *p; p++)
                if (*p < 0x20 || *p == 0x7f)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "filter contains a control character at column %zu",
                                        (size_t)(p - (const unsigned char *)filter) + 1);

        filter += strspn(filter, " ");
        size_t size = strlen(filter);
        while (size > 0 && filter[size - 1] == ' ')
                size--;
        if (size == 0)
                return reason_set(reason, KT_E_INVALID_SPEC, "filter is empty");
        if (size + 1 > FILTER_WRITE_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "filter is %zu bytes long, the kernel takes %d",
                                size,
                                FILTER_WRITE_MAX - 1);
        *ret = strndup(filter, size);
        return *ret ? 0 : -ENOMEM;
}

static int check_event_is_off(const Instance *instance, const char *directory) {
        _cleanup_free_ char *text = NULL;
        char path[PATH_MAX + sizeof("/enable")];

        snprintf(path, sizeof(path), "%s/enable", directory);
        int r = tracefs_read(instance->fd, path, &text, NULL);
        if (r == -ENOENT && faccessat(instance->fd, directory, F_OK, 0) == 0)
                return -EOPNOTSUPP; /* ftrace:print and similar events are never enabled */
        if (r < 0)
                return r;
        /* "0*": the event has a trigger but records nothing. */
        return text[0] == '0' ? 0 : -EBUSY;
}

static bool filter_stands(const Instance *instance, const char *path, const char *filter) {
        _cleanup_free_ char *text = NULL;

        if (tracefs_read(instance->fd, path, &text, NULL) < 0)
                return false;
        text[filter_line_size(text)] = '\0';
        return strcmp(text, filter) == 0;
}

static bool is_refusal(int error) {
        return error == -EINVAL || error == -ENOENT || error == -E2BIG || error == -ERANGE;
}

static int instance_put_filter(const Instance *instance,
                const char *system,
                const char *event,
                const char *filter,
                bool may_be_on,
                Reason *reason) {
        char path[PATH_MAX + sizeof("/filter")], name[2 * NAME_MAX + 2];
        _cleanup_free_ char *text = NULL;
        TracefsPath directory;

        int r = path_format(&directory, "events", system, event, NULL);
        if (r == 0)
                r = trim(filter, &text, reason);
        if (r == 0 && !may_be_on)
                r = check_event_is_off(instance, directory.text);
        if (r != 0)
                return r;

        snprintf(name, sizeof(name), "%s:%s", system, event);
        snprintf(path, sizeof(path), "%s/filter", directory.text);
        /* Check this before the write, because the write returns ENOENT for another error too. */
        if (faccessat(instance->fd, path, F_OK, 0) < 0)
                return errno == ENOENT ? -EOPNOTSUPP : -errno;

        r = tracefs_write(instance->fd, path, text);
        if (r == 0) {
                if (filter_stands(instance, path, text))
                        return 0;
                r = reason_set(reason,
                                KT_E_KERNEL_REFUSED,
                                "the kernel keeps another filter for %s than the one given",
                                name);
        } else if (is_refusal(r))
                r = event_filter_refuse(instance, name, text, r, reason);

        /* Remove the refused text from the file. No more is recorded than before, because the event
         * is off or had no filter. */
        (void)tracefs_write(instance->fd, path, "0");
        return r;
}

int instance_set_filter(const Instance *instance,
                const char *system,
                const char *event,
                const char *filter,
                Reason *reason) {
        return instance_put_filter(instance, system, event, filter, false, reason);
}

int instance_add_filter(const Instance *instance,
                const char *system,
                const char *event,
                const char *filter,
                Reason *reason) {
        return instance_put_filter(instance, system, event, filter, true, reason);
}
