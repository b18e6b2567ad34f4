/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the fence asks of the kernel beside instances: probes, triggers, the watch on an instance's
 * files, kernel.pid_max. cred-guard.c is the real one, on these. */

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "fake-model.h"
#include "kernel/pid-max.h"
#include "kernel/probe.h"
#include "kernel/watch.h"

void fake_kernel_set_kprobes(bool on) {
        pthread_mutex_lock(&kernel.lock);
        g_clear_pointer(&kernel.probes, g_ptr_array_unref);
        if (on)
                kernel.probes = g_ptr_array_new_with_free_func(g_free);
        pthread_mutex_unlock(&kernel.lock);
}

void fake_kernel_set_pid_max(uint64_t pid_max) {
        pthread_mutex_lock(&kernel.lock);
        kernel.pid_max = pid_max;
        pthread_mutex_unlock(&kernel.lock);
}

int pid_max_read(uint64_t *ret) {
        int r = fake_begin(FAKE_READ);
        if (r == 0)
                *ret = kernel.pid_max;
        return fake_finish_read(r);
}

/* probe.h */

/* uprobes are there with kprobes: one list holds both */
bool probe_is_supported(const Tracefs *tracefs, ProbeKind kind) {
        pthread_mutex_lock(&kernel.lock);
        bool is_supported = kernel.probes != NULL;
        pthread_mutex_unlock(&kernel.lock);
        return is_supported;
}

/* "p:GROUP/NAME ": which of them */
static gboolean find_probe(const char *event, guint *ret) {
        for (guint i = 0; i < kernel.probes->len; i++) {
                const char *line = kernel.probes->pdata[i];
                if (g_str_has_prefix(line + 2, event) && line[2 + strlen(event)] == ' ') {
                        *ret = i;
                        return TRUE;
                }
        }
        return FALSE;
}

static FakeEvent *event_of_probe(const char *event) {
        g_auto(GStrv) parts = g_strsplit(event, "/", 2);
        return fake_event_find(parts[0], parts[1]);
}

static bool event_is_used(const FakeEvent *event) {
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, kernel.instances);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const FakeInstance *instance = value;
                const EventState *state = g_hash_table_lookup(instance->events, event->key);
                if (state && (state->on || (state->triggers && state->triggers->len > 0)))
                        return true;
        }
        return false;
}

static int remove_probe(const char *name) {
        guint at;

        if (!find_probe(name, &at))
                return -ENOENT;
        FakeEvent *event = event_of_probe(name);
        if (event_is_used(event))
                return -EBUSY;
        g_ptr_array_remove_index(kernel.probes, at);
        g_ptr_array_remove(kernel.events, event);
        return 0;
}

int probe_read(const Tracefs *tracefs,
                ProbeKind kind,
                const char *group,
                const char *name,
                char **ret) {
        g_autofree char *event = g_strdup_printf("%s/%s", group, name);
        int r = fake_begin(FAKE_READ);
        guint at;

        if (r == 0)
                *ret = find_probe(event, &at) ? strdup(kernel.probes->pdata[at]) : NULL;
        return fake_finish_read(r);
}

int probe_read_list(const Tracefs *tracefs, ProbeKind kind, char **ret) {
        GString *list = g_string_new(NULL);
        int r = fake_begin(FAKE_READ);

        for (guint i = 0; r == 0 && kernel.probes && i < kernel.probes->len; i++)
                g_string_append_printf(list, "%s\n", (const char *)kernel.probes->pdata[i]);
        if (r == 0)
                *ret = strdup(list->str);
        g_string_free(list, TRUE);
        return fake_finish_read(r);
}

/* A second place of a user's probe is a line behind the first. "-:GROUP/NAME" removes one. */
static int add_probe(ProbeKind kind, const char *definition) {
        g_autofree char *name = g_strndup(definition + 2, strcspn(definition + 2, " "));
        guint at;

        if (g_str_has_prefix(definition, "-:"))
                return remove_probe(name);
        if (find_probe(name, &at)) {
                g_autofree char *first = kernel.probes->pdata[at];

                kernel.probes->pdata[at] =
                                kind == PROBE_USER ? g_strjoin("\n", first, definition, NULL)
                                                   : g_strdup(first);
                return kind == PROBE_USER ? 0 : -EEXIST;
        }
        g_ptr_array_add(kernel.probes, g_strdup(definition));
        FakeEvent *event = g_new0(FakeEvent, 1);
        event->key = g_strdelimit(g_strdup(name), "/", ':');
        event->can_be_used = true;
        event->format = g_strdup_printf("name: %s\nID: 900\nformat:\n\nprint fmt: \"\"\n", name);
        g_ptr_array_add(kernel.events, event);
        return 0;
}

int probe_add(const Tracefs *tracefs, ProbeKind kind, const char *definition) {
        int r = fake_begin(FAKE_WRITE);

        g_auto(GStrv) lines = g_strsplit(definition, "\n", -1);
        for (size_t i = 0; r == 0 && lines[i]; i++)
                r = *lines[i] ? add_probe(kind, lines[i]) : 0;
        return fake_finish(r, "probe %s", definition);
}

int probe_remove(const Tracefs *tracefs, ProbeKind kind, const char *group, const char *name) {
        g_autofree char *event = g_strdup_printf("%s/%s", group, name);
        int r = fake_begin(FAKE_WRITE);

        r = r ?: remove_probe(event);
        return fake_finish(r == -ENOENT ? 0 : r, "probe -:%s", event);
}

/* Triggers */

static gint find_trigger(const EventState *state, const char *text) {
        for (guint i = 0; state->triggers && i < state->triggers->len; i++)
                if (g_str_equal(state->triggers->pdata[i], text))
                        return (gint)i;
        return -1;
}

int fake_trigger_write(EventState *state, const char *text) {
        if (*text == '!') {
                gint at = find_trigger(state, text + 1);
                if (at < 0)
                        return -ENOENT;
                g_ptr_array_remove_index(state->triggers, (guint)at);
                return 0;
        }
        if (find_trigger(state, text) >= 0)
                return -EEXIST;
        if (!state->triggers)
                state->triggers = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(state->triggers, g_strdup(text));
        return 0;
}

/* "hist:keys=common_pid if C" -> "hist:keys=common_pid:vals=hitcount:… if C [active]" */
char *fake_trigger_read(const EventState *state) {
        GString *text = g_string_new(NULL);

        for (guint i = 0; state->triggers && i < state->triggers->len; i++) {
                const char *trigger = state->triggers->pdata[i];
                const char *condition = strstr(trigger, " if ") ?: "";
                bool is_hist = g_str_has_prefix(trigger, "hist:");

                g_string_append_len(text, trigger, (gssize)strcspn(trigger, " "));
                g_string_append(text,
                                strstr(trigger, ":vals=") || strstr(trigger, ":count=") ? ""
                                : is_hist ? ":vals=hitcount:sort=hitcount:size=2048"
                                          : ":unlimited");
                g_string_append_printf(text, "%s%s\n", condition, is_hist ? " [active]" : "");
        }
        if (text->len == 0)
                g_string_append(text, "# Available triggers:\n# traceon traceoff hist\n");
        return g_string_free(text, FALSE);
}

char *fake_hist_read(const EventState *state) {
        for (guint i = 0; state->triggers && i < state->triggers->len; i++)
                if (g_str_has_prefix(state->triggers->pdata[i], "hist:"))
                        return g_strdup_printf(
                                        "# event histogram\n\n\nTotals:\n    Hits: %u\n    Entries: %u\n    Dropped: 0\n",
                                        state->n_hits,
                                        state->n_hits);
        return g_strdup("");
}

void fake_kernel_fire_guard(const char *name) {
        pthread_mutex_lock(&kernel.lock);
        FakeInstance *instance = fake_instance_find(name);
        g_assert(instance);
        EventState *state = fake_event_get_state(instance, "ktrace_guard:commit_creds");
        for (guint i = 0; state->triggers && i < state->triggers->len; i++) {
                if (g_str_has_prefix(state->triggers->pdata[i], "hist:"))
                        state->n_hits++;
                else
                        instance->tracing = false;
        }
        pthread_mutex_unlock(&kernel.lock);
}

/* watch.h */

struct Watch {
        char *instance;
        GPtrArray *directories;
        int fd;
        bool was_emptied;
        Watch *next;
};

static Watch *watches; /* under the kernel's lock */

static bool watch_covers(const Watch *watch, const char *path) {
        g_autofree char *directory = g_path_get_dirname(path);

        for (guint i = 0; i < watch->directories->len; i++)
                if (g_str_equal(watch->directories->pdata[i], directory))
                        return true;
        return false;
}

void fake_instance_touch(FakeInstance *instance, const char *path) {
        for (Watch *watch = watches; watch; watch = watch->next) {
                if (!g_str_equal(watch->instance, instance->name) || !watch_covers(watch, path))
                        continue;
                g_ptr_array_add(instance->touched, g_strdup(path));
                (void)eventfd_write(watch->fd, 1);
        }
}

int watch_new(const Instance *instance, Watch **ret) {
        int r = fake_begin(FAKE_READ);
        if (r == 0) {
                Watch *watch = g_new0(Watch, 1);
                watch->instance = g_strdup(instance->name);
                watch->directories = g_ptr_array_new_with_free_func(g_free);
                watch->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
                watch->next = watches;
                watches = *ret = watch;
        }
        return fake_finish_read(r);
}

int watch_new_alone(const Instance *instance, Watch **ret) {
        return watch_new(instance, ret);
}

int watch_new_probes(const Tracefs *tracefs, Watch **ret) {
        return watch_new(&(Instance){ .tracefs = tracefs, .name = (char *)"-" }, ret);
}

Watch *watch_free(Watch *watch) {
        if (!watch)
                return NULL;
        pthread_mutex_lock(&kernel.lock);
        for (Watch **at = &watches; *at; at = &(*at)->next)
                if (*at == watch) {
                        *at = watch->next;
                        break;
                }
        pthread_mutex_unlock(&kernel.lock);
        g_free(watch->instance);
        g_ptr_array_unref(watch->directories);
        close(watch->fd);
        g_free(watch);
        return NULL;
}

int watch_add(Watch *watch, const char *directory) {
        int r = fake_begin(FAKE_READ);
        if (r == 0)
                g_ptr_array_add(watch->directories, g_strdup(directory));
        return fake_finish_read(r);
}

int watch_get_fd(const Watch *watch) {
        return watch->fd;
}

bool watch_take(Watch *watch, char ret_name[static WATCH_NAME_MAX]) {
        eventfd_t count;

        pthread_mutex_lock(&kernel.lock);
        FakeInstance *instance = fake_instance_find(watch->instance);
        (void)eventfd_read(watch->fd, &count);
        bool found = instance && instance->touched->len > 0;
        if (found) {
                g_strlcpy(ret_name, instance->touched->pdata[0], WATCH_NAME_MAX);
                for (guint i = 0; i < instance->touched->len; i++)
                        if (g_str_equal(instance->touched->pdata[i], "trace"))
                                watch->was_emptied = true;
                g_ptr_array_set_size(instance->touched, 0);
        }
        pthread_mutex_unlock(&kernel.lock);
        return found;
}

bool watch_was_emptied(Watch *watch) {
        bool was_emptied = watch->was_emptied;

        watch->was_emptied = false;
        return was_emptied;
}
