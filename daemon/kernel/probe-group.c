/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The probes in our groups. Called by session: definitions are made on the worker thread; those of
 * a killed daemon are removed before any session is created.
 *
 * It relies on these behaviours of the kernel:
 * - a refused definition changes nothing and adds an error to the top-level error_log, which all
 *   users share;
 * - EILSEQ means that the address is inside an instruction, ENOENT that the symbol does not exist,
 *   EINVAL any other error;
 * - "r:" reads back with a number, "r10:", in kprobe_events alone;
 * - both files accept many lines in one write, execute them one by one and stop at the first error;
 * - a second location of an event is listed on a separate line after the first; "-:" removes all of
 *   them;
 * - from 7.2 on, a line that begins with '#' is a comment;
 * - a kernel without event probes also has dynamic_events, and refuses "e:" with EINVAL without an
 *   error in the log;
 * - kprobe_profile has one "NAME HITS MISSES" per line, without the group, summed over all
 *   instances; uprobe_profile has "FILE NAME HITS" with the file as it was written. */

#include "kernel/probe-group.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/error-log.h"
#include "kernel/probe.h"

#define EVENT_MAX 200 /* bytes of "GROUP/NAME" */

static const char *skip_number(const char *line) {
        return *line ? line + 1 + strspn(line + 1, "0123456789") : line;
}

bool probe_line_is_same(const char *stands, const char *definition) {
        return *stands == *definition && strcmp(skip_number(stands), skip_number(definition)) == 0;
}

static int probe_group_refuse(const Tracefs *tracefs,
                const char *definition,
                int error,
                size_t *ret_column,
                Reason *reason) {
        _cleanup_free_ char *log = NULL;
        LogEntry entry;

        if (error == -EILSEQ)
                return reason_set(reason,
                                KT_E_KERNEL_REFUSED,
                                "the kernel refuses the place: no instruction begins there");
        if (tracefs_read(tracefs->fd, "error_log", &log, NULL) == 0 &&
                        error_log_find(log, definition, &entry)) {
                *ret_column = entry.column;
                return reason_set(reason,
                                KT_E_KERNEL_REFUSED,
                                "the kernel refuses the probe: %.*s",
                                (int)entry.message_size,
                                entry.message);
        }
        if (*definition == 'e' && error == -EINVAL) /* errors in the definition are logged */
                return reason_set(reason,
                                KT_E_NO_TRACING,
                                "this kernel takes no such probes: it was built without event "
                                "probes");
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "the kernel refuses the probe: %s",
                        strerrordesc_np(-error));
}

static int define_line(const Tracefs *tracefs,
                ProbeKind kind,
                const char *line,
                size_t *ret_column,
                Reason *reason) {
        int r = probe_add(tracefs, kind, line);

        return r == 0 || r == -ENOMEM ? r
                                      : probe_group_refuse(tracefs, line, r, ret_column, reason);
}

/* "p:GROUP/NAME SYMBOL": the line after the colon, or NULL. The type may carry a number ("r10"). */
static const char *line_event(const char *line) {
        size_t type = strcspn(line, ": \n");

        return *line != '#' && line[type] == ':' ? line + type + 1 : NULL;
}

int probe_list_find(const char *list, const char *group, const char *name, char **ret) {
        char event[EVENT_MAX];
        size_t n = 0;

        int size = snprintf(event, sizeof(event), "%s/%s ", group, name);
        if (size < 0 || (size_t)size >= sizeof(event))
                return -EINVAL;
        _cleanup_free_ char *lines = NULL;
        for (const char *line = list, *next; *line; line = next) {
                size_t length = strcspn(line, "\n");
                const char *found = line_event(line);

                next = line + length + (line[length] == '\n');
                if (!found || strncmp(found, event, (size_t)size) != 0)
                        continue;
                if (!lines) /* no further lines follow */
                        lines = malloc(strlen(line) + 1);
                if (!lines)
                        return -ENOMEM;
                if (n > 0)
                        lines[n++] = '\n';
                memcpy(lines + n, line, length);
                n += length;
                lines[n] = '\0';
        }
        *ret = TAKE_PTR(lines);
        return 0;
}

int probe_check_supported(const Tracefs *tracefs, ProbeKind kind, Reason *reason) {
        static const char *const names[_PROBE_KIND_N] = {
                [PROBE_KERNEL] = "kprobes",
                [PROBE_USER] = "uprobes",
                [PROBE_EVENT] = "event probes",
        };

        if (probe_is_supported(tracefs, kind))
                return 0;
        return reason_set(reason,
                        KT_E_NO_TRACING,
                        "this kernel takes no such probes: it was built without %s",
                        names[kind]);
}

int probe_define(const Tracefs *tracefs,
                ProbeKind kind,
                const char *lines,
                size_t *ret_column,
                Reason *reason) {
        char group[EVENT_MAX], name[EVENT_MAX];
        int r = probe_check_supported(tracefs, kind, reason);

        *ret_column = 0;
        for (const char *line = lines; r == 0 && *line; line += *line == '\n') {
                size_t size = strcspn(line, "\n");
                _cleanup_free_ char *copy = strndup(line, size);

                r = copy ? define_line(tracefs, kind, copy, ret_column, reason) : -ENOMEM;
                /* The event did not exist before, so this call made everything that exists now. */
                if (r != 0 && line > lines &&
                                sscanf(lines, "%*[^:]:%199[^/]/%199[^ ]", group, name) == 2)
                        (void)probe_remove(tracefs, kind, group, name);
                line += size;
        }
        return r;
}

/* "p:GROUP/NAME …": returns the part between colon and blank if the group begins with `prefix`. */
static bool line_is_of(const char *line, const char *prefix, const char **ret, size_t *ret_size) {
        const char *event = line + strcspn(line, ":\n");

        if (*line == '#' || *event != ':' || strncmp(event + 1, prefix, strlen(prefix)) != 0)
                return false;
        *ret = event + 1;
        *ret_size = strcspn(event + 1, " \n");
        return true;
}

/* Returns whether this is the first line of its event. */
static bool line_is_first(const char *text, const char *event, size_t size) {
        char key[EVENT_MAX + 2];

        (void)snprintf(key, sizeof(key), ":%.*s ", (int)size, event);
        return strstr(text, key) == event - 1;
}

static int write_batch(const Tracefs *tracefs, ProbeKind kind, char *batch, size_t *size) {
        int r = *size > 0 ? probe_add(tracefs, kind, batch) : 0;

        *size = 0;
        return r;
}

static int remove_groups(const Tracefs *tracefs,
                ProbeKind kind,
                const char *prefix,
                const ProbeKeeper *keeper) {
        _cleanup_free_ char *text = NULL;
        char batch[PROBE_BATCH_MAX + EVENT_MAX + 8];
        size_t used = 0, size;
        const char *event;

        if (!probe_is_supported(tracefs, kind))
                return 0;
        int r = probe_read_list(tracefs, kind, &text);
        for (const char *line = text; r == 0 && *line; line += line[0] == '\n') {
                if ((kind != PROBE_EVENT || *line == 'e') &&
                                line_is_of(line, prefix, &event, &size) && size < EVENT_MAX &&
                                !keeper->keeps(event, size, keeper->userdata) &&
                                line_is_first(text, event, size))
                        used += (size_t)snprintf(batch + used,
                                        sizeof(batch) - used,
                                        "-:%.*s\n",
                                        (int)size,
                                        event);
                line += strcspn(line, "\n");
                if (used >= PROBE_BATCH_MAX)
                        r = write_batch(tracefs, kind, batch, &used);
        }
        return r ?: write_batch(tracefs, kind, batch, &used);
}

int probe_remove_groups(const Tracefs *tracefs, const char *prefix, const ProbeKeeper *keeper) {
        int r = 0;

        /* Continue after an error: probes in use of one kind must not keep those of another
         * kind. */
        for (ProbeKind kind = 0; kind < _PROBE_KIND_N; kind++) {
                int error = remove_groups(tracefs, kind, prefix, keeper);

                r = r ?: error;
        }
        return r;
}

/* Reads "  NAME  HITS  MISSES" if the line is for this name. */
static bool read_kernel_line(const char *line,
                const char *name,
                uint64_t *ret_hits,
                uint64_t *ret_misses) {
        uint64_t hits, misses;
        char found[128];

        if (sscanf(line, " %127s %" SCNu64 " %" SCNu64, found, &hits, &misses) != 3 ||
                        strcmp(found, name) != 0)
                return false;
        *ret_hits = hits;
        *ret_misses = misses;
        return true;
}

/* "  FILE NAME  HITS" */
static bool read_user_line(const char *line, const char *file, const char *name, uint64_t *ret) {
        char found_file[256], found[128];
        uint64_t hits;

        if (sscanf(line, " %255s %127s %" SCNu64, found_file, found, &hits) != 3 ||
                        strcmp(found_file, file) != 0 || strcmp(found, name) != 0)
                return false;
        *ret = hits;
        return true;
}

int probe_read_counts(const Tracefs *tracefs,
                const char *file,
                const char *name,
                uint64_t *ret_hits,
                uint64_t *ret_misses) {
        _cleanup_free_ char *text = NULL;
        uint64_t hits = 0, misses = 0, sum = 0;
        unsigned n = 0;

        int r = tracefs_read_list(tracefs->fd, file ? "uprobe_profile" : "kprobe_profile", &text);
        for (const char *line = text; r == 0 && *line; line += line[0] == '\n') {
                if (file ? read_user_line(line, file, name, &hits)
                         : read_kernel_line(line, name, &hits, &misses)) {
                        sum += hits;
                        n++;
                }
                line += strcspn(line, "\n");
        }
        if (r < 0)
                return r;
        if (n == 0 || (!file && n > 1))
                return -ENOENT;
        *ret_hits = sum;
        *ret_misses = misses;
        return 0;
}
