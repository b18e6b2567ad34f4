/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* pair.h of the fake kernel: events made of two others are there where kprobes are. As in the
 * kernel an event goes only when no trigger hands values to it and no instance has it on, a first
 * trigger only when no second one refers to its variables, and an instance not at all while such a
 * trigger stands (fake_instance_is_kept). */

#include "kernel/pair.h"

#include <errno.h>
#include <string.h>

#include "fake-model.h"

bool pair_is_supported(const Tracefs *tracefs) {
        (void)tracefs;
        pthread_mutex_lock(&kernel.lock);
        bool is_supported = kernel.probes != NULL;
        pthread_mutex_unlock(&kernel.lock);
        return is_supported;
}

/* "TYPE NAME; …" */
static char *make_format(const char *name, const char *fields) {
        GString *text = g_string_new(NULL);
        g_auto(GStrv) list = g_strsplit(fields, "; ", -1);

        g_string_append_printf(text,
                        "name: %s\nID: 901\nformat:\n"
                        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
                        name);
        for (guint i = 0; list[i]; i++)
                g_string_append_printf(text,
                                "\tfield:%s%s;\toffset:%u;\tsize:8;\tsigned:0;\n",
                                g_str_has_prefix(list[i], "char[]") ? "__data_loc " : "",
                                list[i],
                                8 + 8 * i);
        g_string_append(text, "\nprint fmt: \"\"\n");
        return g_string_free(text, FALSE);
}

int pair_check_supported(const Tracefs *tracefs, Reason *reason) {
        return pair_is_supported(tracefs) ? 0 : reason_set(reason, KT_E_NO_TRACING, "no pairs");
}

int pair_define(const Tracefs *tracefs, const char *name, const char *fields, Reason *reason) {
        (void)tracefs;
        int r = fake_begin_reason(FAKE_WRITE, reason);

        if (r == 0 && !kernel.probes)
                r = reason_set(reason, KT_E_NO_TRACING, "no pairs");
        if (r == 0 && fake_event_find(PAIR_SYSTEM, name))
                r = -EEXIST;
        if (r == 0) {
                FakeEvent *event = g_new0(FakeEvent, 1);

                event->key = g_strdup_printf(PAIR_SYSTEM ":%s", name);
                event->can_be_used = true;
                event->format = make_format(name, fields);
                g_ptr_array_add(kernel.events, event);
                g_ptr_array_add(kernel.probes,
                                g_strdup_printf("s:" PAIR_SYSTEM "/%s %s", name, fields));
        }
        return fake_finish(r, "pair %s %s", name, fields);
}

/* Does a trigger in any instance have this in it? */
static bool is_mentioned(const char *text) {
        GHashTableIter instances, events;
        gpointer instance, state;

        g_hash_table_iter_init(&instances, kernel.instances);
        while (g_hash_table_iter_next(&instances, NULL, &instance)) {
                g_hash_table_iter_init(&events, ((FakeInstance *)instance)->events);
                while (g_hash_table_iter_next(&events, NULL, &state)) {
                        GPtrArray *triggers = ((EventState *)state)->triggers;

                        for (guint i = 0; triggers && i < triggers->len; i++)
                                if (strstr(triggers->pdata[i], text))
                                        return true;
                }
        }
        return false;
}

bool fake_instance_is_kept(const FakeInstance *instance) {
        GHashTableIter events;
        gpointer state;

        g_hash_table_iter_init(&events, instance->events);
        while (g_hash_table_iter_next(&events, NULL, &state)) {
                GPtrArray *triggers = ((EventState *)state)->triggers;

                for (guint i = 0; triggers && i < triggers->len; i++)
                        if (strstr(triggers->pdata[i], "=common_timestamp"))
                                return true;
        }
        return false;
}

static int remove_event(const char *name) {
        FakeEvent *event = fake_event_find(PAIR_SYSTEM, name);
        g_autofree char *line = g_strdup_printf("s:" PAIR_SYSTEM "/%s ", name);

        if (!event)
                return 0;
        if (is_mentioned(name))
                return -EBUSY;
        for (guint i = 0; i < kernel.probes->len; i++)
                if (g_str_has_prefix(kernel.probes->pdata[i], line)) {
                        g_ptr_array_remove_index(kernel.probes, i);
                        break;
                }
        g_ptr_array_remove(kernel.events, event);
        return 0;
}

int pair_remove(const Tracefs *tracefs, const char *name) {
        (void)tracefs;
        int r = fake_begin(FAKE_WRITE);

        r = r ?: remove_event(name);
        return fake_finish(r, "pair -:%s", name);
}

int pair_remove_all(const Tracefs *tracefs,
                const char *prefix,
                bool (*keeps)(const char *event, void *userdata),
                void *userdata) {
        (void)tracefs;
        (void)prefix;
        return 0;
}

int pair_install(const Instance *instance,
                const char *system,
                const char *event,
                const char *trigger,
                Reason *reason) {
        int r = fake_begin_reason(FAKE_WRITE, reason);
        FakeInstance *fake = fake_instance_find(instance->name);
        FakeEvent *found = fake_event_find(system, event);

        if (r == 0 && (!fake || !found))
                r = -ENOENT;
        if (r == 0)
                r = fake_trigger_write(fake_event_get_state(fake, found->key), trigger);
        return fake_finish(r, "lay %s %s:%s %s", instance->name, system, event, trigger);
}

/* "p0_t" of "hist:keys=…:p0_t=common_timestamp…": what a second one would refer to. */
static char *get_variable(const char *trigger) {
        const char *end = strstr(trigger, "=common_timestamp"), *start = end;

        while (end && start > trigger && start[-1] != ':')
                start--;
        return end ? g_strdup_printf("$%.*s", (int)(end - start), start) : NULL;
}

int pair_lift(const Instance *instance,
                const char *system,
                const char *event,
                const char *trigger) {
        g_autofree char *command = g_strdup_printf("!%s", trigger);
        g_autofree char *variable = get_variable(trigger);
        int r = fake_begin(FAKE_WRITE);
        FakeInstance *fake = fake_instance_find(instance->name);
        FakeEvent *found = fake_event_find(system, event);

        if (r == 0 && (!fake || !found))
                r = -ENOENT;
        if (r == 0 && variable && !strstr(trigger, "onmatch") && is_mentioned(variable))
                r = -EBUSY;
        if (r == 0)
                r = fake_trigger_write(fake_event_get_state(fake, found->key), command);
        return fake_finish(r, "lift %s %s:%s", instance->name, system, event);
}

bool pair_line_is(const char *line, size_t size, const char *trigger) {
        size_t n = strcspn(trigger, " ");

        return size > n && strncmp(line, trigger, n) == 0;
}

int pair_read_dropped(const Instance *instance,
                const char *system,
                const char *event,
                const char *trigger,
                uint64_t *ret) {
        (void)trigger;
        (void)instance;
        (void)system;
        (void)event;
        int r = fake_begin(FAKE_READ);
        *ret = 7;
        return fake_finish_read(r);
}

int pair_clear_all(const Instance *instance, const char *prefix) {
        (void)instance;
        (void)prefix;
        return 0;
}

int pair_lift_all(const Instance *instance) {
        (void)instance;
        return 0;
}
