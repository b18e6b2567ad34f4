/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* tracefs.h and event.h on the model of the fake kernel. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/fd.h"
#include "fake-model.h"

/* tracefs.h */

int tracefs_open(const char *path, Tracefs **ret, Reason *reason) {
        int r = fake_begin_reason(FAKE_TRACEFS_OPEN, reason);
        if (r != 0)
                return fake_finish_read(r);
        Tracefs *tracefs = calloc(1, sizeof(*tracefs));
        g_assert(tracefs);
        tracefs->fd = fake_handle_new("-");
        tracefs->path = strdup(path);
        *ret = tracefs;
        return fake_finish_read(0);
}

/* As for the triggers: a kernel without kprobes has none. */
bool tracefs_has_hist(const Tracefs *tracefs) {
        (void)tracefs;
        return kernel.probes != NULL;
}

Tracefs *tracefs_free(Tracefs *tracefs) {
        if (!tracefs)
                return NULL;
        fake_handle_close(tracefs->fd);
        free(tracefs->path);
        free(tracefs);
        return NULL;
}

static const char *handle_name(int dirfd) {
        const char *name = g_hash_table_lookup(kernel.handles, GINT_TO_POINTER(dirfd));
        g_assert(name); /* an fd that is closed, or that never was a directory of tracefs */
        return name;
}

static int write_pids(FakeInstance *instance, const char *text) {
        g_auto(GStrv) words = g_strsplit_set(text, " \n", -1);
        for (char **word = words; *word; word++) {
                char *end;
                long pid = strtol(*word, &end, 10);
                if (*end || pid < 0)
                        return -EINVAL;
                if (**word)
                        fake_instance_add_pid(instance, (pid_t)pid);
        }
        return 0;
}

/* "events/SYSTEM/NAME/FILE": the event's state, or NULL. */
static EventState *find_event_file(FakeInstance *instance, const char *path, const char *file) {
        g_auto(GStrv) parts = g_strsplit(path, "/", -1);
        if (g_strv_length(parts) != 4 || !g_str_equal(parts[0], "events") ||
                        !g_str_equal(parts[3], file))
                return NULL;
        const FakeEvent *event = fake_event_find(parts[1], parts[2]);
        return event && event->can_be_used ? fake_event_get_state(instance, event->key) : NULL;
}

static int write_file(const char *name, const char *path, const char *text, bool truncate) {
        FakeInstance *instance = fake_instance_find(name);
        EventState *state;

        if (!instance)
                return -ENOENT;
        fake_instance_touch(instance, path);
        if (g_str_equal(path, "trace_marker") || g_str_equal(path, "trace"))
                return 0;
        if (g_str_equal(path, "trace_clock")) {
                g_free(instance->clock);
                instance->clock = g_strdup(text);
                return 0;
        }
        if (g_str_equal(path, "buffer_size_kb")) {
                instance->buffer_kb = g_ascii_strtoull(text, NULL, 10);
                return 0;
        }
        if (g_str_equal(path, "set_event_pid")) {
                if (truncate)
                        g_array_set_size(instance->pids, 0);
                return write_pids(instance, text);
        }
        if (g_str_equal(path, "tracing_on")) {
                instance->tracing = *text == '1';
                return 0;
        }
        state = find_event_file(instance, path, "enable");
        if (state) {
                state->on = *text == '1';
                return 0;
        }
        state = find_event_file(instance, path, "trigger");
        if (state)
                return fake_trigger_write(state, text);
        state = find_event_file(instance, path, "filter");
        if (!state)
                return -ENOENT;
        g_free(state->filter);
        state->filter = g_str_equal(text, "0") ? NULL : g_strdup(text);
        return 0;
}

void fake_kernel_write(const char *name, const char *path, const char *text) {
        pthread_mutex_lock(&kernel.lock);
        g_assert_cmpint(write_file(name, path, text, g_str_equal(path, "set_event_pid")), ==, 0);
        pthread_mutex_unlock(&kernel.lock);
}

static int do_write(int dirfd, const char *path, const char *text, bool truncate) {
        int r = fake_begin(FAKE_WRITE);
        const char *name = handle_name(dirfd);
        if (r == 0)
                r = write_file(name, path, text, truncate);
        return fake_finish(r, "%s %s %s %s", truncate ? "truncate" : "write", name, path, text);
}

int tracefs_write(int dirfd, const char *path, const char *text) {
        return do_write(dirfd, path, text, false);
}

int tracefs_write_truncate(int dirfd, const char *path, const char *text) {
        return do_write(dirfd, path, text, true);
}

char *fake_instance_print_pids(const FakeInstance *instance, const char *separator) {
        GString *text = g_string_new(NULL);
        for (guint i = 0; i < instance->pids->len; i++)
                g_string_append_printf(
                                text, "%d%s", g_array_index(instance->pids, pid_t, i), separator);
        return g_string_free(text, FALSE);
}

static char *read_event_file(FakeInstance *instance, const char *path) {
        g_auto(GStrv) parts = g_strsplit(path, "/", -1);
        if (g_strv_length(parts) == 4 && g_str_equal(parts[0], "events") &&
                        g_str_equal(parts[3], "format")) {
                const FakeEvent *event = fake_event_find(parts[1], parts[2]);
                return event ? g_strdup(event->format) : NULL;
        }
        const EventState *state = instance ? find_event_file(instance, path, "enable") : NULL;
        if (state)
                return g_strdup(state->on ? "1\n" : "0\n");
        state = instance ? find_event_file(instance, path, "trigger") : NULL;
        if (state)
                return fake_trigger_read(state);
        state = instance ? find_event_file(instance, path, "hist") : NULL;
        if (state)
                return fake_hist_read(state);
        state = instance ? find_event_file(instance, path, "filter") : NULL;
        if (state)
                return g_strdup_printf("%s\n", state->filter ? state->filter : "none");
        return NULL;
}

/* An event probe that is on here: "e:GROUP/NAME SYSTEM.EVENT ..." */
static bool has_event_probe(FakeInstance *instance, const char *key) {
        g_autofree char *base = g_strdelimit(g_strdup(key), ":", '.');

        for (guint i = 0; kernel.probes && i < kernel.probes->len; i++) {
                g_auto(GStrv) words = g_strsplit(kernel.probes->pdata[i], " ", 3);
                if (!g_str_has_prefix(words[0], "e:") || !words[1] || !g_str_equal(words[1], base))
                        continue;
                g_autofree char *probe = g_strdelimit(g_strdup(words[0] + 2), "/", ':');
                const EventState *state = g_hash_table_lookup(instance->events, probe);
                if (state && state->on)
                        return true;
        }
        return false;
}

/* The kernel also lists events that are soft-enabled: by a trigger, or by an event probe. */
static char *print_set_event(FakeInstance *instance) {
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < kernel.events->len; i++) {
                const FakeEvent *event = kernel.events->pdata[i];
                const EventState *state = g_hash_table_lookup(instance->events, event->key);

                if ((state && (state->on || (state->triggers && state->triggers->len > 0))) ||
                                has_event_probe(instance, event->key))
                        g_string_append_printf(text, "%s\n", event->key);
        }
        return g_string_free(text, FALSE);
}

char *fake_instance_read_file(FakeInstance *instance, const char *path) {
        if (g_str_equal(path, "set_event"))
                return print_set_event(instance);
        if (g_str_equal(path, "set_event_pid"))
                return fake_instance_print_pids(instance, "\n");
        if (g_str_equal(path, "tracing_on"))
                return g_strdup(instance->tracing ? "1\n" : "0\n");
        if (g_str_equal(path, "trace_clock"))
                return g_strdup_printf("[%s]\n", instance->clock);
        if (g_str_equal(path, "buffer_size_kb"))
                return g_strdup_printf("%" PRIu64 "\n", instance->buffer_kb);
        if (g_str_equal(path, "buffer_subbuf_size_kb"))
                return g_strdup_printf("%" PRIu64 "\n", instance->subbuf_kb);
        if (g_str_has_prefix(path, "options/"))
                return g_strdup_printf("%d\n",
                                GPOINTER_TO_INT(g_hash_table_lookup(
                                                instance->options, path + strlen("options/"))));
        if (g_str_has_prefix(path, "events/header_"))
                return g_strdup(g_hash_table_lookup(kernel.files, path));
        return read_event_file(instance, path);
}

/* malloc'ed: the contract of tracefs_read is free(3). */
static int give_text(char *text, char **ret, size_t *ret_size) {
        if (!text)
                return -ENOENT;
        *ret = strdup(text);
        if (ret_size)
                *ret_size = strlen(text);
        g_free(text);
        return 0;
}

static void count_read(const char *path) {
        if (!g_str_equal(path, "available_filter_functions"))
                return;
        kernel.n_function_reads++;
        kernel.n_function_reads_in_loop += pthread_equal(pthread_self(), kernel.loop) != 0;
}

int tracefs_read(int dirfd, const char *path, char **ret, size_t *ret_size) {
        int r = fake_begin(FAKE_READ);
        count_read(path);
        if (r != 0)
                return fake_finish_read(r);
        const char *name = handle_name(dirfd);
        FakeInstance *instance = fake_instance_find(name);
        char *text = NULL;
        if (instance)
                text = fake_instance_read_file(instance, path);
        else if (g_str_equal(name, "-")) {
                text = g_strdup(g_hash_table_lookup(kernel.files, path));
                if (!text)
                        text = read_event_file(NULL, path);
        }
        return fake_finish_read(give_text(text, ret, ret_size));
}

int tracefs_read_list(int dirfd, const char *path, char **ret) {
        return tracefs_read(dirfd, path, ret, NULL);
}

int tracefs_open_file(int dirfd, const char *path) {
        _cleanup_free_ char *text = NULL;

        int r = tracefs_read(dirfd, path, &text, NULL);
        return r < 0 ? r : fd_memfd_sealed(path, text, strlen(text));
}

int tracefs_read_u64(int dirfd, const char *path, uint64_t *ret) {
        _cleanup_free_ char *text = NULL;
        int r = tracefs_read(dirfd, path, &text, NULL);
        if (r == 0)
                *ret = g_ascii_strtoull(text, NULL, 10);
        return r;
}

/* event.h */

static int compare_keys(gconstpointer a, gconstpointer b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int event_list_load(const Tracefs *tracefs, const EventList *earlier, EventList **ret) {
        if (kernel.on_list_read)
                kernel.on_list_read();
        int r = fake_begin(FAKE_READ);
        if (r != 0)
                return fake_finish_read(r);
        kernel.n_list_reads++;
        EventList *list = g_new0(EventList, 1);
        list->names = g_new0(const char *, kernel.events->len + 1);
        for (guint i = 0; i < kernel.events->len; i++) {
                const FakeEvent *event = kernel.events->pdata[i];
                /* As in the kernel, whose list has only what can be enabled. */
                if (event->can_be_used)
                        list->names[list->n_names++] = g_strdup(event->key);
        }
        qsort(list->names, list->n_names, sizeof(*list->names), compare_keys);
        /* Those that the list is joined with are not its own. */
        GString *text = g_string_new(NULL);
        for (size_t i = 0; i < list->n_names; i++)
                g_string_append_len(text, list->names[i], (gssize)strlen(list->names[i]) + 1);
        const char *at = list->text = g_string_free(text, FALSE);
        for (size_t i = 0; i < list->n_names; i++, at += strlen(at) + 1) {
                g_free((char *)list->names[i]);
                list->names[i] = at;
        }
        *ret = list;
        return fake_finish_read(0);
}

/* None: no session of the tests shares. */
int event_list_load_dynamic(const Tracefs *tracefs, EventList **ret) {
        *ret = g_new0(EventList, 1);
        return 0;
}

EventList *event_list_free(EventList *list) {
        if (!list)
                return NULL;
        free(list->names);
        free(list->text);
        free(list);
        return NULL;
}

bool event_list_has(const EventList *list, const char *name) {
        for (size_t i = 0; i < list->n_names; i++)
                if (g_str_equal(list->names[i], name))
                        return true;
        return false;
}

static const char print_format[] =
                "name: print\nID: 5\nformat:\n"
                "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
                "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\n"
                "print fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n";

/* Probes that were defined, what the tests say of others' probes and of modules, and how many
 * events the tests have added. */
int event_read_origins(const Tracefs *tracefs, char **ret) {
        int r = fake_begin(FAKE_READ);
        if (r != 0)
                return fake_finish_read(r);
        GString *text = g_string_new(g_hash_table_lookup(kernel.files, "dynamic_events"));
        for (guint i = 0; kernel.probes && i < kernel.probes->len; i++)
                g_string_append_printf(text, "%s\n", (const char *)kernel.probes->pdata[i]);
        const char *modules = g_hash_table_lookup(kernel.files, "modules");
        g_string_append(text, modules ?: "");
        g_string_append_printf(text, "%u events\n", kernel.events->len);
        *ret = g_string_free(text, FALSE);
        return fake_finish_read(0);
}

int event_read_format(const Tracefs *tracefs,
                const char *system,
                const char *name,
                char **ret,
                size_t *ret_size) {
        int r = fake_begin(FAKE_READ);
        if (r != 0)
                return fake_finish_read(r);
        kernel.n_format_reads++;
        /* Not among the events that can be turned on. */
        if (g_str_equal(system, "ftrace") && g_str_equal(name, "print"))
                return fake_finish_read(give_text(g_strdup(print_format), ret, ret_size));
        const FakeEvent *event = fake_event_find(system, name);
        return fake_finish_read(give_text(event ? g_strdup(event->format) : NULL, ret, ret_size));
}
