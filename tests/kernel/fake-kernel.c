/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a test does to the fake kernel and asks of it; the floors above see fake-tracefs.c and
 * fake-instance.c. */

#include "fake-kernel.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "fake-model.h"

static void add_event(const char *system, const char *name, const char *fields, const char *print) {
        FakeEvent *event = g_new0(FakeEvent, 1);
        event->key = g_strdup_printf("%s:%s", system, name);
        event->can_be_used = !g_str_equal(system, "ftrace");
        event->format = g_strdup_printf("name: %s\nID: %u\nformat:\n"
                                        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;"
                                        "\tsigned:0;\n"
                                        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;"
                                        "\tsigned:0;\n"
                                        "\tfield:unsigned char common_preempt_count;\toffset:3;"
                                        "\tsize:1;\tsigned:0;\n"
                                        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
                                        "\n%s\nprint fmt: %s\n",
                        name,
                        100 + kernel.events->len,
                        fields,
                        print);
        g_ptr_array_add(kernel.events, event);
}

#define FIELD(declaration, offset, size, is_signed) \
        "\tfield:" declaration ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";\n"

static void add_boot_events(void) {
        static const char exec[] = FIELD("__data_loc char[] filename", 8, 4, 0)
                        FIELD("pid_t pid", 12, 4, 1) FIELD("pid_t old_pid", 16, 4, 1);
        static const char enter[] =
                        FIELD("long id", 8, 8, 1) FIELD("unsigned long args[6]", 16, 48, 0);
        static const char leave[] = FIELD("long id", 8, 8, 1) FIELD("long ret", 16, 8, 1);
        static const char task[] = FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1);
        static const char fork[] = FIELD("char parent_comm[16]", 8, 16, 0)
                        FIELD("pid_t parent_pid", 24, 4, 1) FIELD("char child_comm[16]", 28, 16, 0)
                                        FIELD("pid_t child_pid", 44, 4, 1);
        static const char open[] =
                        FIELD("int __syscall_nr", 8, 4, 1) FIELD("const char * filename", 16, 8, 0);
        static const char print[] =
                        FIELD("unsigned long ip", 8, 8, 0) FIELD("char buf[]", 16, 0, 0);

        add_event("ftrace", "print", print, "\"%ps: %s\", (void *)REC->ip, REC->buf");
        add_event("raw_syscalls", "sys_enter", enter, "\"NR %ld\", REC->id");
        add_event("raw_syscalls", "sys_exit", leave, "\"NR %ld = %ld\", REC->id, REC->ret");
        add_event("sched", "sched_process_exec", exec, "\"pid=%d\", REC->pid");
        add_event("sched", "sched_process_exit", task, "\"pid=%d\", REC->pid");
        add_event("sched", "sched_process_fork", fork, "\"child_pid=%d\", REC->child_pid");
        add_event("sched", "sched_switch", task, "\"pid=%d\", REC->pid");
        add_event("sched", "sched_waking", task, "\"pid=%d\", REC->pid");
        add_event("signal", "signal_generate", task, "\"pid=%d\", REC->pid");
        add_event("syscalls", "sys_enter_openat", open, "\"%s\", REC->filename");
        add_event("syscalls", "sys_exit_openat", leave, "\"%ld\", REC->ret");
        add_event("task", "task_rename", task, "\"pid=%d\", REC->pid");
}

void fake_kernel_reset(void) {
        pthread_mutex_lock(&kernel.lock);
        fake_model_reset();
        kernel.loop = pthread_self();
        kernel.n_function_reads = kernel.n_function_reads_in_loop = 0;
        add_boot_events();
        pthread_mutex_unlock(&kernel.lock);

        fake_kernel_set_file("events/header_page",
                        FIELD("u64 timestamp", 0, 8, 0) FIELD("local_t commit", 8, 8, 1) FIELD(
                                        "int overwrite", 8, 1, 1) FIELD("char data", 16, 4080, 0));
        fake_kernel_set_file("events/header_event",
                        "# compressed entry header\n\ttype_len    :    5 bits\n");
        fake_kernel_set_file("saved_cmdlines", "1 systemd\n2 kthreadd\n");
        fake_kernel_set_file("printk_formats", "");
}

void fake_kernel_add_event(const char *system, const char *name, const char *format) {
        pthread_mutex_lock(&kernel.lock);
        FakeEvent *event = fake_event_find(system, name);
        if (!event) {
                add_event(system, name, FIELD("int value", 8, 4, 1), "\"%d\", REC->value");
                event = kernel.events->pdata[kernel.events->len - 1];
        }
        if (format) {
                g_free(event->format);
                event->format = g_strdup(format);
        }
        pthread_mutex_unlock(&kernel.lock);
}

void fake_kernel_set_cpus(unsigned n_cpus) {
        g_assert(n_cpus > 0 && n_cpus <= CPUS_MAX);
        pthread_mutex_lock(&kernel.lock);
        kernel.n_cpus = n_cpus;
        pthread_mutex_unlock(&kernel.lock);
}

void fake_kernel_add_instance(const char *name) {
        pthread_mutex_lock(&kernel.lock);
        fake_instance_new(name);
        pthread_mutex_unlock(&kernel.lock);
}

void fake_kernel_set_file(const char *path, const char *text) {
        pthread_mutex_lock(&kernel.lock);
        g_hash_table_insert(kernel.files, g_strdup(path), g_strdup(text));
        pthread_mutex_unlock(&kernel.lock);
}

size_t fake_kernel_take_format_reads(void) {
        pthread_mutex_lock(&kernel.lock);
        size_t n = kernel.n_format_reads;
        kernel.n_format_reads = 0;
        pthread_mutex_unlock(&kernel.lock);
        return n;
}

size_t fake_kernel_take_list_reads(void) {
        pthread_mutex_lock(&kernel.lock);
        size_t n = kernel.n_list_reads;
        kernel.n_list_reads = 0;
        pthread_mutex_unlock(&kernel.lock);
        return n;
}

size_t fake_kernel_take_function_reads(size_t *ret_in_loop) {
        pthread_mutex_lock(&kernel.lock);
        size_t n = kernel.n_function_reads;
        *ret_in_loop = kernel.n_function_reads_in_loop;
        kernel.n_function_reads = kernel.n_function_reads_in_loop = 0;
        pthread_mutex_unlock(&kernel.lock);
        return n;
}

void fake_kernel_on_pid_write(void (*callback)(void)) {
        pthread_mutex_lock(&kernel.lock);
        kernel.on_pid_write = callback;
        pthread_mutex_unlock(&kernel.lock);
}

void fake_kernel_on_list_read(void (*callback)(void)) {
        pthread_mutex_lock(&kernel.lock);
        kernel.on_list_read = callback;
        pthread_mutex_unlock(&kernel.lock);
}

static FakeInstance *get_instance(const char *name) {
        FakeInstance *instance = fake_instance_find(name);
        g_assert(instance);
        return instance;
}

void fake_kernel_change_tracing(const char *name, bool on) {
        pthread_mutex_lock(&kernel.lock);
        get_instance(name)->tracing = on;
        pthread_mutex_unlock(&kernel.lock);
}

void fake_kernel_change_pids(const char *name, const pid_t *pids, size_t n_pids) {
        pthread_mutex_lock(&kernel.lock);
        FakeInstance *instance = get_instance(name);
        g_array_set_size(instance->pids, 0);
        for (size_t i = 0; i < n_pids; i++)
                fake_instance_add_pid(instance, pids[i]);
        pthread_mutex_unlock(&kernel.lock);
}

void fake_kernel_set_statistics(const char *name, unsigned cpu, const CpuStatistics *statistics) {
        g_assert(cpu < CPUS_MAX);
        pthread_mutex_lock(&kernel.lock);
        g_assert(fake_instance_write_stats(get_instance(name), cpu, statistics) == 0);
        pthread_mutex_unlock(&kernel.lock);
}

bool fake_kernel_feed(const char *name, unsigned cpu, const void *data, size_t size) {
        g_assert(cpu < CPUS_MAX);
        pthread_mutex_lock(&kernel.lock);
        FakeInstance *instance = get_instance(name);
        bool fed = fake_instance_has_reader(instance, cpu) &&
                   write(instance->feeds[cpu], data, size) == (ssize_t)size;
        pthread_mutex_unlock(&kernel.lock);
        return fed;
}

/* The final state */

static int compare_strings(gconstpointer a, gconstpointer b) {
        return strcmp(a, b);
}

static void describe_settings(GString *text, FakeInstance *instance) {
        g_string_append_printf(text,
                        "  buffer-kb %" PRIu64 ", subbuf-kb %" PRIu64 ", clock %s, tracing %s",
                        instance->buffer_kb,
                        instance->subbuf_kb,
                        instance->clock,
                        fake_on_off(instance->tracing));
        GList *options = g_list_sort(g_hash_table_get_keys(instance->options), compare_strings);
        for (GList *i = options; i; i = i->next)
                g_string_append_printf(text,
                                "%s%s%s",
                                i == options ? ", options " : " ",
                                g_hash_table_lookup(instance->options, i->data) ? "" : "-",
                                (char *)i->data);
        g_list_free(options);
        g_string_append_c(text, '\n');
        if (instance->pids->len > 0) {
                g_autofree char *pids = fake_instance_print_pids(instance, " ");
                g_string_append_printf(text, "  pids %s\n", g_strchomp(pids));
        }
}

static void describe_events(GString *text, FakeInstance *instance) {
        GList *keys = g_list_sort(g_hash_table_get_keys(instance->events), compare_strings);
        for (GList *i = keys; i; i = i->next) {
                const EventState *state = g_hash_table_lookup(instance->events, i->data);
                guint n_triggers = state->triggers ? state->triggers->len : 0;
                if (!state->on && !state->filter && n_triggers == 0)
                        continue;
                g_string_append_printf(
                                text, "  event %s %s", (char *)i->data, fake_on_off(state->on));
                if (state->filter)
                        g_string_append_printf(text, " filter %s", state->filter);
                if (n_triggers > 0)
                        g_string_append_printf(text, " triggers %u", n_triggers);
                g_string_append_c(text, '\n');
        }
        g_list_free(keys);
}

char *fake_kernel_describe(void) {
        GString *text = g_string_new(NULL);
        pthread_mutex_lock(&kernel.lock);
        GList *names = g_list_sort(g_hash_table_get_keys(kernel.instances), compare_strings);
        for (GList *i = names; i; i = i->next) {
                FakeInstance *instance = g_hash_table_lookup(kernel.instances, i->data);
                g_string_append_printf(text, "instance %s\n", instance->name);
                describe_settings(text, instance);
                describe_events(text, instance);
        }
        g_list_free(names);
        for (guint i = 0; kernel.probes && i < kernel.probes->len; i++)
                g_string_append_printf(text, "probe %s\n", (char *)kernel.probes->pdata[i]);
        pthread_mutex_unlock(&kernel.lock);
        return g_string_free(text, FALSE);
}

size_t fake_kernel_n_instances(void) {
        pthread_mutex_lock(&kernel.lock);
        size_t n = g_hash_table_size(kernel.instances);
        pthread_mutex_unlock(&kernel.lock);
        return n;
}

bool fake_kernel_has_instance(const char *name) {
        pthread_mutex_lock(&kernel.lock);
        bool has = g_hash_table_contains(kernel.instances, name);
        pthread_mutex_unlock(&kernel.lock);
        return has;
}

/* The journal */

char *fake_kernel_get_journal(void) {
        GString *text = g_string_new(NULL);
        pthread_mutex_lock(&kernel.lock);
        for (guint i = 0; i < kernel.journal->len; i++)
                g_string_append_printf(text, "%s\n", (char *)kernel.journal->pdata[i]);
        pthread_mutex_unlock(&kernel.lock);
        return g_string_free(text, FALSE);
}

void fake_kernel_clear_journal(void) {
        pthread_mutex_lock(&kernel.lock);
        g_ptr_array_set_size(kernel.journal, 0);
        pthread_mutex_unlock(&kernel.lock);
}

ssize_t fake_kernel_find(const char *pattern, size_t from) {
        ssize_t found = -1;
        pthread_mutex_lock(&kernel.lock);
        for (size_t i = from; i < kernel.journal->len && found < 0; i++)
                if (fnmatch(pattern, kernel.journal->pdata[i], 0) == 0)
                        found = (ssize_t)i;
        pthread_mutex_unlock(&kernel.lock);
        return found;
}
