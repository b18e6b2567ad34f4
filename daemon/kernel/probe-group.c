/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Probes of the groups that are ours. Called by session: definitions are made on the worker thread,
 * what a killed daemon left is removed before any session is made.
 *
 * It relies on these behaviours of the kernel:
 * - a definition that it refuses changes nothing and leaves a complaint in the top-level error_log,
 *   which everybody shares;
 * - EILSEQ means that the place is in the middle of an instruction, ENOENT that no such symbol
 *   exists, EINVAL everything else;
 * - "r:" reads back with a number, "r10:";
 * - kprobe_events takes many lines in one write, carries them out one by one and stops at the first
 *   that fails;
 * - kprobe_profile has "NAME HITS MISSES" a line, without the group, for all instances together. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error-log.h"
#include "probe.h"

#define PROBE_FILE   "kprobe_events"
#define PROFILE_FILE "kprobe_profile"
#define BATCH_MAX    3500 /* the kernel takes 4095 in one write */

static const char *skip_number(const char *line) {
        return *line ? line + 1 + strspn(line + 1, "0123456789") : line;
}

bool probe_line_is_same(const char *stands, const char *definition) {
        return *stands == *definition && strcmp(skip_number(stands), skip_number(definition)) == 0;
}

static int refuse(const Tracefs *tracefs, const char *definition, int error, Reason *reason) {
        _cleanup_free_ char *log = NULL;
        LogEntry entry;

        if (error == -EILSEQ)
                return reason_set(reason,
                                KT_E_KERNEL_REFUSED,
                                "the kernel refuses the place: no instruction begins there");
        if (tracefs_read(tracefs->fd, "error_log", &log, NULL) == 0 &&
                        error_log_find(log, definition, &entry))
                return reason_set(reason,
                                KT_E_KERNEL_REFUSED,
                                "the kernel refuses the probe: %.*s",
                                (int)entry.message_size,
                                entry.message);
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "the kernel refuses the probe: %s",
                        strerrordesc_np(-error));
}

int probe_define(const Tracefs *tracefs, const char *definition, Reason *reason) {
        int r = probe_is_supported(tracefs) ? probe_add(tracefs, definition) : -EOPNOTSUPP;

        if (r == -EOPNOTSUPP)
                return reason_set(reason,
                                KT_E_NO_TRACING,
                                "this kernel takes no probes: it was built without kprobes");
        return r == 0 || r == -ENOMEM ? r : refuse(tracefs, definition, r, reason);
}

/* "p:GROUP/NAME …": the part between colon and blank, when the group begins so. */
static bool line_is_of(const char *line, const char *prefix, const char **ret, size_t *ret_size) {
        const char *event = line + strcspn(line, ":\n");

        if (*event != ':' || strncmp(event + 1, prefix, strlen(prefix)) != 0)
                return false;
        *ret = event + 1;
        *ret_size = strcspn(event + 1, " \n");
        return true;
}

static int write_batch(const Tracefs *tracefs, char *batch, size_t *size) {
        int r = *size > 0 ? tracefs_write(tracefs->fd, PROBE_FILE, batch) : 0;

        *size = 0;
        return r;
}

int probe_remove_groups(const Tracefs *tracefs, const char *prefix, const char *except) {
        _cleanup_free_ char *text = NULL;
        char batch[BATCH_MAX + 256];
        size_t used = 0, size;
        const char *event;
        int r = 0;

        if (!probe_is_supported(tracefs))
                return 0;
        r = tracefs_read(tracefs->fd, PROBE_FILE, &text, NULL);
        for (const char *line = text; r == 0 && *line; line += line[0] == '\n') {
                if (line_is_of(line, prefix, &event, &size) && size < 200 &&
                                strncmp(event, except, strlen(except)) != 0)
                        used += (size_t)snprintf(batch + used,
                                        sizeof(batch) - used,
                                        "-:%.*s\n",
                                        (int)size,
                                        event);
                line += strcspn(line, "\n");
                if (used >= BATCH_MAX)
                        r = write_batch(tracefs, batch, &used);
        }
        return r ?: write_batch(tracefs, batch, &used);
}

int probe_read_counts(const Tracefs *tracefs,
                const char *name,
                uint64_t *ret_hits,
                uint64_t *ret_misses) {
        _cleanup_free_ char *text = NULL;
        unsigned n = 0;

        int r = tracefs_read(tracefs->fd, PROFILE_FILE, &text, NULL);
        for (const char *line = text; r == 0 && *line; line += line[0] == '\n') {
                uint64_t hits, misses;
                char found[128];

                if (sscanf(line, " %127s %" SCNu64 " %" SCNu64, found, &hits, &misses) == 3 &&
                                strcmp(found, name) == 0) {
                        *ret_hits = hits;
                        *ret_misses = misses;
                        n++;
                }
                line += strcspn(line, "\n");
        }
        return r ?: n == 1 ? 0 : -ENOENT;
}
