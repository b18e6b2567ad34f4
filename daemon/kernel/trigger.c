/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Triggers of an instance's events. Called by session on the worker thread.
 *
 * It relies on these behaviours of the kernel (tests/kernel/test-trigger.c checks each):
 * - a trigger is written to the event's trigger file and reads back as "COMMAND:unlimited if
 *   CONDITION" or "COMMAND:count=N if CONDITION", N being the remaining count; a hist reads back
 *   with all its attributes, in the order keys, vals, sort, size, followed by " [active]" or "
 *   [paused]";
 * - a trigger that the kernel refuses changes nothing;
 * - an event accepts one of traceon and traceoff, one snapshot, one stacktrace, and one of
 *   enable_event and disable_event for each other event;
 * - "!" and the command removes it; its count and condition are not needed, except that the
 *   condition of a hist distinguishes it from other hists;
 * - triggers are evaluated even while the event is off and while tracing_on is 0, independent of
 *   the event's filter and of other triggers' conditions. Triggers with a condition are evaluated
 *   only for tasks in the pid list; a trigger without one (except hist) is evaluated for all tasks
 *   if no trigger of the event has a condition;
 * - an event with triggers, and one that another event turns on or off, shows "0*" or "1*" in its
 *   enable file; writing 0 to it, or to that of all events, does not stop its triggers;
 * - an event with a trigger, and the event of an event probe that is on, are listed in set_event
 *   also while their enable file says "0*" and they record nothing. */

#include "kernel/trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/error-log.h"
#include "kernel/path.h"

#define TRIGGER_MAX 4095 /* bytes in one write */
#define HIST        "hist:"

static bool is_hist(const Trigger *trigger) {
        return strncmp(trigger->command, HIST, strlen(HIST)) == 0;
}

bool trigger_is_known(const Instance *instance,
                const char *system,
                const char *event,
                const char *command) {
        bool needs_hist = strncmp(command, HIST, strlen(HIST)) == 0;
        TracefsPath path;

        if (path_format(&path, "events", system, event, needs_hist ? "hist" : "trigger", NULL) <
                                        0 ||
                        faccessat(instance->fd, path.text, F_OK, 0) < 0)
                return false;
        return strcmp(command, "snapshot") != 0 ||
               faccessat(instance->fd, "snapshot", F_OK, 0) == 0;
}

static int write_command(const Instance *instance,
                const char *system,
                const char *event,
                const char *command) {
        TracefsPath path;

        int r = path_format(&path, "events", system, event, "trigger", NULL);
        return r ?: tracefs_write(instance->fd, path.text, command);
}

static int trigger_make_text(const Trigger *trigger,
                const char *before,
                const char *behind,
                bool has_condition,
                char **ret) {
        bool has = has_condition && trigger->condition;

        if (asprintf(ret,
                            "%s%s%s%s%s",
                            before,
                            trigger->command,
                            behind,
                            has ? " if " : "",
                            has ? trigger->condition : "") < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int trigger_refuse(const Instance *instance,
                const Trigger *trigger,
                const char *text,
                int error,
                Reason *reason) {
        _cleanup_free_ char *log = NULL;
        LogEntry entry;

        if (tracefs_read(instance->fd, "error_log", &log, NULL) == 0 &&
                        error_log_find(log, text, &entry))
                return reason_set(reason,
                                KT_E_KERNEL_REFUSED,
                                "the kernel refuses %.*s: %.*s",
                                (int)strcspn(trigger->command, ":"),
                                trigger->command,
                                (int)entry.message_size,
                                entry.message);
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "the kernel refuses %.*s: %s",
                        (int)strcspn(trigger->command, ":"),
                        trigger->command,
                        strerrordesc_np(-error));
}

int trigger_install(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger,
                Reason *reason) {
        _cleanup_free_ char *text = NULL;
        char count[32] = "";

        if (trigger->count != TRIGGER_WITHOUT_END)
                (void)snprintf(count, sizeof(count), ":%" PRIu64, trigger->count);
        int r = trigger_make_text(trigger, "", count, true, &text);
        if (r < 0)
                return r;
        if (strlen(text) > TRIGGER_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "it has %zu bytes for the kernel, which takes %d: write a shorter filter",
                                strlen(text),
                                TRIGGER_MAX);
        r = write_command(instance, system, event, text);
        if (r == -ENOMEM)
                return reason_set(reason, KT_E_LIMIT_REACHED, "the kernel has no memory for it");
        return r == 0 ? 0 : trigger_refuse(instance, trigger, text, r, reason);
}

int trigger_lift(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger) {
        _cleanup_free_ char *text = NULL;

        int r = trigger_make_text(trigger, "!", "", is_hist(trigger), &text);
        r = r ?: write_command(instance, system, event, text);
        return r == -ENOENT ? 0 : r;
}

int trigger_pause(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger,
                bool pause) {
        _cleanup_free_ char *text = NULL;

        int r = trigger_make_text(trigger, "", pause ? ":pause" : ":cont", true, &text);
        return r ?: write_command(instance, system, event, text);
}

int trigger_clear(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger) {
        _cleanup_free_ char *text = NULL;

        int r = trigger_make_text(trigger, "", ":clear", true, &text);
        return r ?: write_command(instance, system, event, text);
}

int trigger_read(const Instance *instance, const char *system, const char *event, char **ret) {
        TracefsPath path;

        int r = path_format(&path, "events", system, event, "trigger", NULL);
        return r ?: tracefs_read(instance->fd, path.text, ret, NULL);
}

int trigger_read_enabled(const Instance *instance,
                const char *system,
                const char *event,
                bool *ret) {
        _cleanup_free_ char *text = NULL;
        TracefsPath path;

        int r = path_format(&path, "events", system, event, "enable", NULL);
        r = r ?: tracefs_read(instance->fd, path.text, &text, NULL);
        if (r == 0)
                *ret = text[0] == '1';
        return r;
}
