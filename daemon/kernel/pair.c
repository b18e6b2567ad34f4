/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Paired events: synthetic events that the kernel makes from two other events, and the hist
 * triggers that set their values. Called by session on the worker thread, and at start to clean up
 * after a killed daemon.
 *
 * It relies on these behaviours of the kernel (6.1):
 * - dynamic_events takes "s:NAME TYPE NAME; …", lists it as "s:synthetic/NAME<tab>…", and "-:" with
 *   that name removes it: EBUSY while a trigger refers to it or it is on somewhere;
 * - every instance that has such an event on gets all its records, whichever instance made them: so
 *   each session has events of its own;
 * - a trigger is written to the event's trigger file and reads back with more attributes than were
 *   written: "hist:keys=…:vals=hitcount:…:sort=hitcount:size=…:clock=…[:onmatch(…)…] if …
 *   [active]"; "!" and either text removes it; EBUSY while another trigger refers to its variables;
 * - a trigger with a timestamp sets the instance's clock, which empties the rings;
 * - rmdir of an instance is refused (EBUSY) while such a trigger with variables stands;
 * - the pid list applies to triggers; the event's filter and tracing_on do not. tracing_on only
 *   stops the synthetic records;
 * - the hist file has, for each trigger, "# trigger info: " with the text of the trigger file, its
 *   entries, and at the end "    Dropped: N". */

#include "kernel/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/error-log.h"
#include "kernel/event.h"
#include "kernel/path.h"

#define DEFINITIONS_FILE "dynamic_events"
#define TRIGGER_MAX      4095 /* bytes in one write */
#define HIST             "hist:"
#define ACTIVE           " [active]"
#define SECOND           ":onmatch("

bool pair_is_supported(const Tracefs *tracefs) {
        return faccessat(tracefs->fd, "synthetic_events", F_OK, 0) == 0 &&
               faccessat(tracefs->fd, DEFINITIONS_FILE, W_OK, AT_EACCESS) == 0;
}

int pair_check_supported(const Tracefs *tracefs, Reason *reason) {
        if (pair_is_supported(tracefs))
                return 0;
        return reason_set(reason,
                        KT_E_NO_TRACING,
                        "this kernel cannot pair events: it was built without hist triggers "
                        "or synthetic events");
}

static int pair_refuse(int dirfd, const char *command, int error, Reason *reason) {
        _cleanup_free_ char *log = NULL;
        LogEntry entry;

        if (tracefs_read(dirfd, "error_log", &log, NULL) == 0 &&
                        error_log_find(log, command, &entry))
                return reason_set(reason,
                                KT_E_KERNEL_REFUSED,
                                "the kernel refuses to pair the events: %.*s",
                                (int)entry.message_size,
                                entry.message);
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "the kernel refuses to pair the events: %s",
                        strerrordesc_np(-error));
}

int pair_define(const Tracefs *tracefs, const char *name, const char *fields, Reason *reason) {
        _cleanup_free_ char *line = NULL;

        int r = pair_check_supported(tracefs, reason);
        if (r != 0)
                return r;
        if (asprintf(&line, "s:%s %s", name, fields) < 0) {
                line = NULL;
                return -ENOMEM;
        }
        r = tracefs_write(tracefs->fd, DEFINITIONS_FILE, line);
        return r == 0 || r == -ENOMEM ? r : pair_refuse(tracefs->fd, line, r, reason);
}

int pair_remove(const Tracefs *tracefs, const char *name) {
        char command[256];

        int size = snprintf(command, sizeof(command), "-:" PAIR_SYSTEM "/%s", name);
        if (size < 0 || (size_t)size >= sizeof(command))
                return -EINVAL;
        int r = tracefs_write(tracefs->fd, DEFINITIONS_FILE, command);
        return r == -ENOENT ? 0 : r;
}

/* Returns the name of the next synthetic event whose name begins with prefix, or NULL. */
static const char *next_definition(char **rest, const char *prefix) {
        static const char head[] = "s:" PAIR_SYSTEM "/";
        char *line;

        while ((line = strsep(rest, "\n"))) {
                char *name = line + strlen(head);

                if (strncmp(line, head, strlen(head)) == 0 &&
                                strncmp(name, prefix, strlen(prefix)) == 0) {
                        name[strcspn(name, "\t ")] = '\0';
                        return name;
                }
        }
        return NULL;
}

int pair_remove_all(const Tracefs *tracefs,
                const char *prefix,
                bool (*keeps)(const char *event, void *userdata),
                void *userdata) {
        _cleanup_free_ char *text = NULL;
        int r = 0;

        if (!pair_is_supported(tracefs))
                return 0;
        int error = tracefs_read_list(tracefs->fd, DEFINITIONS_FILE, &text);
        if (error < 0)
                return error;
        char *rest = text;
        for (const char *name; (name = next_definition(&rest, prefix));) {
                if (keeps && keeps(name, userdata))
                        continue;
                error = pair_remove(tracefs, name);
                r = r ?: error;
        }
        return r;
}

int pair_install(const Instance *instance,
                const char *system,
                const char *event,
                const char *trigger,
                Reason *reason) {
        TracefsPath path;

        int r = path_format(&path, "events", system, event, "trigger", NULL);
        if (r < 0)
                return r;
        if (strlen(trigger) > TRIGGER_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "args: together they are %zu bytes for the kernel, which takes %d: "
                                "make two probes of them",
                                strlen(trigger),
                                TRIGGER_MAX);
        r = tracefs_write(instance->fd, path.text, trigger);
        if (r == -ENOMEM)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "the kernel has no memory to pair the events");
        return r == 0 ? 0 : pair_refuse(instance->fd, trigger, r, reason);
}

int pair_lift(const Instance *instance,
                const char *system,
                const char *event,
                const char *trigger) {
        _cleanup_free_ char *text = NULL;
        TracefsPath path;

        int r = path_format(&path, "events", system, event, "trigger", NULL);
        if (r < 0)
                return r;
        if (asprintf(&text, "!%s", trigger) < 0) {
                text = NULL;
                return -ENOMEM;
        }
        r = tracefs_write(instance->fd, path.text, text);
        return r == -ENOENT ? 0 : r;
}

/* Returns whether the line has the trigger's attributes, in this order. */
static bool has_attributes(const char *line, size_t size, const char *trigger) {
        const char *at = line, *end = line + size;
        size_t length;

        for (const char *word = trigger; *word; word += length + (word[length] == ':')) {
                length = strcspn(word, ":");
                const char *found = memmem(at, (size_t)(end - at), word, length);
                if (!found)
                        return false;
                at = found + length;
        }
        return true;
}

bool pair_line_is(const char *line, size_t size, const char *trigger) {
        size_t tail = strlen(ACTIVE);

        return size > tail && strncmp(line, HIST, strlen(HIST)) == 0 &&
               memcmp(line + size - tail, ACTIVE, tail) == 0 && has_attributes(line, size, trigger);
}

int pair_read_dropped(const Instance *instance,
                const char *system,
                const char *event,
                const char *trigger,
                uint64_t *ret) {
        static const char head[] = "# trigger info: ", key[] = "    Dropped: ";
        _cleanup_free_ char *text = NULL;
        TracefsPath path;
        bool is_meant = false;

        int r = path_format(&path, "events", system, event, "hist", NULL);
        r = r ?: tracefs_read(instance->fd, path.text, &text, NULL);
        if (r < 0)
                return r;
        *ret = 0;
        for (const char *line = text; *line; line += *line == '\n') {
                size_t size = strcspn(line, "\n");

                if (size > strlen(head) && strncmp(line, head, strlen(head)) == 0)
                        is_meant = pair_line_is(line + strlen(head), size - strlen(head), trigger);
                else if (is_meant && strncmp(line, key, strlen(key)) == 0)
                        *ret = strtoull(line + strlen(key), NULL, 10);
                line += size;
        }
        return 0;
}

static int clear_triggers(const Instance *instance, const char *name) {
        TracefsPath path;

        if (path_format(&path, "events", PAIR_SYSTEM, name, "trigger", NULL) < 0)
                return 0;
        int trigger = openat(instance->fd, path.text, O_WRONLY | O_TRUNC | O_CLOEXEC);
        if (trigger < 0)
                return errno == ENOENT ? 0 : -errno;
        close(trigger);
        return 0;
}

int pair_clear_all(const Instance *instance, const char *prefix) {
        _cleanup_free_ char *text = NULL;

        int r = tracefs_read_list(instance->tracefs->fd, DEFINITIONS_FILE, &text);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        char *rest = text;
        for (const char *name; (name = next_definition(&rest, prefix));) {
                int error = clear_triggers(instance, name);

                r = r ?: error;
        }
        return r;
}

/* Removes triggers that a killed daemon left. */

static int lift_lines(const Instance *instance, const char *path, bool is_second) {
        _cleanup_free_ char *text = NULL;
        int r = 0;

        int error = tracefs_read(instance->fd, path, &text, NULL);
        if (error < 0)
                return error == -ENOENT || error == -ENODEV ? 0 : error;
        for (char *line = text, *next; *line; line = next) {
                size_t size = strcspn(line, "\n"), tail = strlen(ACTIVE);
                char command[TRIGGER_MAX + 2];

                next = line + size + (line[size] == '\n');
                line[size] = '\0';
                if (strncmp(line, HIST, strlen(HIST)) != 0 || size >= TRIGGER_MAX || size <= tail ||
                                (strstr(line, SECOND) != NULL) != is_second)
                        continue;
                if (strcmp(line + size - tail, ACTIVE) == 0)
                        line[size - tail] = '\0';
                (void)snprintf(command, sizeof(command), "!%s", line);
                error = tracefs_write(instance->fd, path, command);
                r = r ?: error;
        }
        return r;
}

static int lift_all_of(const Instance *instance, const EventList *events, bool is_second) {
        int r = 0;

        for (size_t i = 0; i < events->n_names; i++) {
                int system = (int)strcspn(events->names[i], ":"), error;
                char path[PATH_MAX];

                (void)snprintf(path,
                                sizeof(path),
                                "events/%.*s/%s/trigger",
                                system,
                                events->names[i],
                                events->names[i] + system + 1);
                error = lift_lines(instance, path, is_second);
                r = r ?: error;
        }
        return r;
}

int pair_lift_all(const Instance *instance) {
        _cleanup_(event_list_free_cleanup) EventList *events = NULL;

        int r = event_list_load(instance->tracefs, NULL, &events);
        if (r < 0)
                return r;
        /* Remove the second triggers first, because they refer to the first ones. */
        r = lift_all_of(instance, events, true);
        int r2 = lift_all_of(instance, events, false);
        return r ?: r2;
}
