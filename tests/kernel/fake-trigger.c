/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* trigger.h of the fake kernel. As in the kernel an event has one of traceon and traceoff, one
 * snapshot, one stacktrace and one switch of each other event, what is refused changes nothing, and
 * an event with triggers says so in its enable file. Nothing ever fires. Lines are read by the real
 * trigger-line.c. */

#include "kernel/trigger.h"

#include <errno.h>
#include <string.h>

#include "fake-model.h"

bool trigger_is_known(const Instance *instance,
                const char *system,
                const char *event,
                const char *command) {
        (void)instance;
        bool needs_probes = g_str_has_prefix(command, "hist:") || g_str_equal(command, "snapshot");

        pthread_mutex_lock(&kernel.lock);
        bool is_known = fake_event_find(system, event) && (!needs_probes || kernel.probes);
        pthread_mutex_unlock(&kernel.lock);
        return is_known;
}

/* What two triggers of one place share. */
static char *get_place(const char *text) {
        const char *name = strchr(text, ':');

        if (g_str_has_prefix(text, "traceo"))
                return g_strdup("trace");
        if (g_str_has_prefix(text, "enable_event:") || g_str_has_prefix(text, "disable_event:")) {
                const char *end = strchr(strchr(name + 1, ':') + 1, ':');

                return g_strndup(name, end ? (gsize)(end - name) : strcspn(name, " "));
        }
        return g_strndup(
                        text, g_str_has_prefix(text, "hist:") ? strlen(text) : strcspn(text, ": "));
}

static gint find_place(const EventState *state, const char *text) {
        g_autofree char *place = get_place(text);

        for (guint i = 0; state->triggers && i < state->triggers->len; i++) {
                g_autofree char *other = get_place(state->triggers->pdata[i]);

                if (g_str_equal(place, other))
                        return (gint)i;
        }
        return -1;
}

static char *make_text(const Trigger *trigger) {
        g_autofree char *count = trigger->count == TRIGGER_WITHOUT_END
                                                 ? g_strdup("")
                                                 : g_strdup_printf(":count=%" G_GUINT64_FORMAT,
                                                                   trigger->count);

        return g_strconcat(trigger->listed ? "hist:" : trigger->command,
                        trigger->listed ?: "",
                        count,
                        trigger->condition ? " if " : "",
                        trigger->condition ?: "",
                        NULL);
}

static EventState *find_state(const Instance *instance, const char *system, const char *event) {
        FakeInstance *fake = fake_instance_find(instance->name);
        FakeEvent *found = fake_event_find(system, event);

        return fake && found ? fake_event_get_state(fake, found->key) : NULL;
}

/* The lock is held. */
static void touch(const Instance *instance, const char *system, const char *event) {
        g_autofree char *path = g_strdup_printf("events/%s/%s/trigger", system, event);
        FakeInstance *fake = fake_instance_find(instance->name);

        if (fake)
                fake_instance_touch(fake, path);
}

int trigger_install(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger,
                Reason *reason) {
        g_autofree char *text = make_text(trigger);
        int r = fake_begin_reason(FAKE_WRITE, reason);
        EventState *state = find_state(instance, system, event);

        if (r == 0 && !state)
                r = -ENOENT;
        if (r == 0 && find_place(state, text) >= 0)
                r = reason_set(reason, KT_E_KERNEL_REFUSED, "File exists");
        if (r == 0)
                r = fake_trigger_write(state, text);
        touch(instance, system, event);
        return fake_finish(r, "trigger %s:%s %s", system, event, text);
}

int trigger_lift(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger) {
        g_autofree char *text = make_text(trigger);
        int r = fake_begin(FAKE_WRITE);
        EventState *state = find_state(instance, system, event);
        gint at = r == 0 && state ? find_place(state, text) : -1;

        if (at >= 0)
                g_ptr_array_remove_index(state->triggers, (guint)at);
        touch(instance, system, event);
        return fake_finish(r, "trigger %s:%s !%s", system, event, trigger->command);
}

int trigger_pause(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger,
                bool pause) {
        int r = fake_begin(FAKE_WRITE);

        touch(instance, system, event);
        return fake_finish(r,
                        "trigger %s:%s %s %s",
                        system,
                        event,
                        pause ? "pause" : "cont",
                        trigger->command);
}

int trigger_clear(const Instance *instance,
                const char *system,
                const char *event,
                const Trigger *trigger) {
        int r = fake_begin(FAKE_WRITE);

        touch(instance, system, event);
        return fake_finish(r, "trigger %s:%s clear %s", system, event, trigger->command);
}

int trigger_read(const Instance *instance, const char *system, const char *event, char **ret) {
        int r = fake_begin(FAKE_READ);
        EventState *state = find_state(instance, system, event);

        if (r == 0 && !state)
                r = -ENOENT;
        if (r == 0) {
                g_autofree char *text = fake_trigger_read(state);

                *ret = strdup(text);
        }
        return fake_finish_read(r);
}

int trigger_read_enabled(const Instance *instance,
                const char *system,
                const char *event,
                bool *ret) {
        int r = fake_begin(FAKE_READ);
        EventState *state = find_state(instance, system, event);

        if (r == 0 && !state)
                r = -ENOENT;
        if (r == 0)
                *ret = state->on;
        return fake_finish_read(r);
}
