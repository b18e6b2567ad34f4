/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* instance.h on the model of the fake kernel. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "fake-model.h"
#include "kernel/buffer.h"
#include "kernel/filter.h"
#include "kernel/statistics.h"

/* instance.h */

static FakeInstance *find_instance(const Instance *instance) {
        return g_hash_table_lookup(kernel.instances, instance->name);
}

static int open_instance(const Tracefs *tracefs, const char *name, Instance **ret) {
        if (!g_hash_table_contains(kernel.instances, name))
                return -ENOENT;
        Instance *instance = calloc(1, sizeof(*instance));
        g_assert(instance);
        instance->tracefs = tracefs;
        instance->name = strdup(name);
        instance->fd = fake_handle_new(name);
        *ret = instance;
        return 0;
}

int instance_create(const Tracefs *tracefs, const char *id, Instance **ret) {
        g_autofree char *name = g_strconcat(KT_INSTANCE_PREFIX, id, NULL);
        int r = fake_begin(FAKE_CREATE);
        if (r == 0 && g_hash_table_contains(kernel.instances, name))
                r = -EEXIST;
        if (r == 0) {
                fake_instance_new(name);
                r = open_instance(tracefs, name, ret);
        }
        return fake_finish(r, "create %s", name);
}

int instance_open(const Tracefs *tracefs, const char *name, Instance **ret) {
        int r = fake_begin(FAKE_OPEN);
        if (r == 0)
                r = open_instance(tracefs, name, ret);
        return fake_finish_read(r);
}

Instance *instance_free(Instance *instance) {
        if (!instance)
                return NULL;
        fake_handle_close(instance->fd);
        free(instance->name);
        free(instance);
        return NULL;
}

int instance_remove(const Tracefs *tracefs, const char *name) {
        int r = fake_begin(FAKE_REMOVE);
        FakeInstance *instance = fake_instance_find(name);
        for (unsigned i = 0; instance && i < CPUS_MAX && r == 0; i++)
                if (fake_instance_has_reader(instance, i))
                        r = -EBUSY;
        if (instance && r == 0 && fake_instance_is_kept(instance))
                r = -EBUSY;
        if (r == 0)
                g_hash_table_remove(kernel.instances, name);
        return fake_finish(r, "remove %s", name);
}

int instance_list(const Tracefs *tracefs, char ***ret) {
        int r = fake_begin(FAKE_READ);
        if (r != 0)
                return fake_finish_read(r);
        GHashTableIter iter;
        gpointer name;
        size_t n = 0;
        char **names = calloc(g_hash_table_size(kernel.instances) + 1, sizeof(*names));
        g_assert(names);
        g_hash_table_iter_init(&iter, kernel.instances);
        while (g_hash_table_iter_next(&iter, &name, NULL))
                if (g_str_has_prefix(name, KT_INSTANCE_PREFIX))
                        names[n++] = strdup(name);
        *ret = names;
        return fake_finish_read(0);
}

char **instance_list_free(char **names) {
        for (char **name = names; name && *name; name++)
                free(*name);
        free(names);
        return NULL;
}

int instance_set_buffer_kb(const Instance *instance, uint64_t kb) {
        int r = fake_begin(FAKE_BUFFER);
        FakeInstance *fake = find_instance(instance);
        if (r == 0)
                r = !fake ? -ENOENT : kb == 0 ? -EINVAL : 0;
        if (r == 0)
                fake->buffer_kb = kb;
        return fake_finish(r, "buffer %s %" PRIu64, instance->name, kb);
}

int instance_set_subbuf_kb(const Instance *instance, uint64_t kb) {
        int r = fake_begin(FAKE_SUBBUF);
        FakeInstance *fake = find_instance(instance);
        if (r == 0)
                r = !fake ? -ENOENT : kb == 0 ? -EINVAL : 0;
        if (r == 0)
                fake->subbuf_kb = kb;
        return fake_finish(r, "subbuf %s %" PRIu64, instance->name, kb);
}

int instance_get_subbuf_size(const Instance *instance, size_t *ret) {
        int r = fake_begin(FAKE_READ);
        const FakeInstance *fake = find_instance(instance);
        if (r == 0 && !fake)
                r = -ENOENT;
        if (r == 0)
                *ret = fake->subbuf_kb * 1024;
        return fake_finish_read(r);
}

int instance_set_clock(const Instance *instance, const char *clock, Reason *reason) {
        static const char *const clocks[] = {
                "local", "global", "mono", "mono_raw", "boot", "tai"
        };
        int r = fake_begin_reason(FAKE_CLOCK, reason);
        FakeInstance *fake = find_instance(instance);
        bool is_known = false;

        for (size_t i = 0; i < G_N_ELEMENTS(clocks); i++)
                is_known = is_known || g_str_equal(clocks[i], clock);
        if (r == 0 && !is_known)
                r = reason_set(reason, KT_E_KERNEL_REFUSED, "clock '%s' is unknown", clock);
        if (r == 0 && !fake)
                r = -ENOENT;
        if (r == 0) {
                g_free(fake->clock);
                fake->clock = g_strdup(clock);
        }
        return fake_finish(r, "clock %s %s", instance->name, clock);
}

int instance_set_option(const Instance *instance, const char *option, bool on) {
        int r = fake_begin(FAKE_OPTION);
        FakeInstance *fake = find_instance(instance);
        if (r == 0 && !fake)
                r = -ENOENT;
        if (r == 0) {
                g_autofree char *path = g_strconcat("options/", option, NULL);

                fake_instance_touch(fake, path);
                g_hash_table_insert(fake->options, g_strdup(option), GINT_TO_POINTER(on));
        }
        return fake_finish(r, "option %s %s %s", instance->name, option, fake_on_off(on));
}

int instance_add_pid(const Instance *instance, pid_t tid) {
        int r = fake_begin(FAKE_PID);
        FakeInstance *fake = find_instance(instance);
        if (r == 0)
                r = !fake ? -ENOENT : tid <= 0 ? -EINVAL : 0;
        if (r == 0) {
                fake_instance_touch(fake, "set_event_pid");
                fake_instance_add_pid(fake, tid);
        }
        return fake_finish(r, "pid %s %d", instance->name, tid);
}

int instance_add_pids(const Instance *instance, const pid_t *tids, size_t n) {
        int r = 0;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = instance_add_pid(instance, tids[i]);
        if (kernel.on_pid_write)
                kernel.on_pid_write();
        return r;
}

int instance_read_pids(const Instance *instance, pid_t **ret, size_t *ret_n) {
        int r = fake_begin(FAKE_READ);
        const FakeInstance *fake = find_instance(instance);
        if (r == 0 && !fake)
                r = -ENOENT;
        if (r != 0)
                return fake_finish_read(r);
        pid_t *pids = calloc(fake->pids->len + 1, sizeof(*pids));
        g_assert(pids);
        for (guint i = 0; i < fake->pids->len; i++)
                pids[i] = g_array_index(fake->pids, pid_t, i);
        *ret = pids;
        *ret_n = fake->pids->len;
        return fake_finish_read(0);
}

int instance_has_pid(const Instance *instance, pid_t tid, bool *ret) {
        _cleanup_free_ pid_t *pids = NULL;
        size_t n;
        int r = instance_read_pids(instance, &pids, &n);
        if (r != 0)
                return r;
        *ret = false;
        for (size_t i = 0; i < n; i++)
                *ret = *ret || pids[i] == tid;
        return 0;
}

int instance_get_tracing(const Instance *instance, bool *ret) {
        int r = fake_begin(FAKE_READ);
        const FakeInstance *fake = find_instance(instance);
        if (r == 0 && !fake)
                r = -ENOENT;
        if (r == 0)
                *ret = fake->tracing;
        return fake_finish_read(r);
}

int instance_set_tracing(const Instance *instance, bool on) {
        int r = fake_begin(FAKE_TRACING);
        FakeInstance *fake = find_instance(instance);
        if (r == 0 && !fake)
                r = -ENOENT;
        if (r == 0)
                fake->tracing = on;
        return fake_finish(r, "tracing %s %s", instance->name, fake_on_off(on));
}

/* The state of an event that can be used; *ret_error is set otherwise. */
static EventState *get_state(const Instance *instance,
                const char *system,
                const char *event,
                int *ret_error) {
        FakeInstance *fake = find_instance(instance);
        const FakeEvent *known = fake_event_find(system, event);
        if (fake && known && known->can_be_used)
                return fake_event_get_state(fake, known->key);
        *ret_error = fake && known ? -EOPNOTSUPP : -ENOENT;
        return NULL;
}

int instance_set_filter(const Instance *instance,
                const char *system,
                const char *event,
                const char *filter,
                Reason *reason) {
        int r = fake_begin_reason(FAKE_FILTER, reason), error = 0;
        EventState *state = get_state(instance, system, event, &error);
        if (r == 0)
                r = state && state->on ? -EBUSY : error;
        if (r == 0 && strstr(filter, "nosuch"))
                r = reason_set(reason,
                                KT_E_KERNEL_REFUSED,
                                "the kernel refuses the filter of %s:%s: Field not found",
                                system,
                                event);
        if (state && r != -EBUSY) {
                g_free(state->filter);
                state->filter = r == 0 ? g_strdup(filter) : NULL;
        }
        return fake_finish(r, "filter %s %s:%s %s", instance->name, system, event, filter);
}

int instance_add_filter(const Instance *instance,
                const char *system,
                const char *event,
                const char *filter,
                Reason *reason) {
        return instance_set_filter(instance, system, event, filter, reason);
}

int instance_enable_event(const Instance *instance,
                const char *system,
                const char *event,
                bool on) {
        int r = fake_begin(FAKE_ENABLE), error = 0;
        EventState *state = get_state(instance, system, event, &error);
        if (r == 0 && !state)
                r = -ENOENT; /* ftrace:print has no `enable` */
        if (r == 0) {
                g_autofree char *path = g_strdup_printf("events/%s/%s/enable", system, event);

                fake_instance_touch(find_instance(instance), path);
                state->on = on;
        }
        return fake_finish(r, "enable %s %s:%s %s", instance->name, system, event, fake_on_off(on));
}

int instance_enable_system(const Instance *instance, const char *system, bool on) {
        int r = fake_begin(FAKE_ENABLE);
        FakeInstance *fake = find_instance(instance);
        g_autofree char *prefix = g_strconcat(system, ":", NULL);
        size_t n = 0;

        for (guint i = 0; r == 0 && fake && i < kernel.events->len; i++) {
                const FakeEvent *event = kernel.events->pdata[i];
                if (!event->can_be_used || !g_str_has_prefix(event->key, prefix))
                        continue;
                fake_event_get_state(fake, event->key)->on = on;
                n++;
        }
        if (r == 0 && n == 0)
                r = -ENOENT;
        return fake_finish(r, "enable %s %s %s", instance->name, system, fake_on_off(on));
}

bool instance_wait_for_handlers(void) {
        return true;
}

int instance_disable_all(const Instance *instance) {
        int r = fake_begin(FAKE_DISABLE_ALL);
        FakeInstance *fake = find_instance(instance);
        if (r == 0 && !fake)
                r = -ENOENT;
        if (r == 0) {
                GHashTableIter iter;
                gpointer state;
                g_hash_table_iter_init(&iter, fake->events);
                while (g_hash_table_iter_next(&iter, NULL, &state))
                        ((EventState *)state)->on = false;
        }
        return fake_finish(r, "disable-all %s", instance->name);
}

int instance_n_cpus(const Instance *instance, unsigned *ret) {
        int r = fake_begin(FAKE_READ);
        if (r == 0)
                *ret = kernel.n_cpus;
        return fake_finish_read(r);
}

/* Another description of the same file or pipe, as a second open(2) of it would be. */
static int reopen(int fd, int flags) {
        char path[32];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        int opened = open(path, flags | O_CLOEXEC);
        return opened < 0 ? -errno : opened;
}

static int open_feed(FakeInstance *instance, unsigned cpu) {
        int fds[2];

        if (fake_instance_has_reader(instance, cpu))
                return reopen(instance->feeds[cpu], O_RDONLY | O_NONBLOCK);
        close_cleanup(&instance->feeds[cpu]);
        if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        instance->feeds[cpu] = fds[1];
        return fds[0];
}

static int open_stats(FakeInstance *instance, unsigned cpu) {
        int r = instance->stats[cpu] < 0
                                ? fake_instance_write_stats(instance, cpu, &(CpuStatistics){})
                                : 0;
        return r < 0 ? r : reopen(instance->stats[cpu], O_RDONLY);
}

static int open_text(const char *text) {
        int fd = memfd_create("fake-file", MFD_CLOEXEC);
        if (fd >= 0 && text && pwrite(fd, text, strlen(text), 0) < 0)
                close_cleanup(&fd);
        return fd < 0 ? -errno : fd;
}

static int open_pipe(FakeInstance *instance) {
        if (instance->pipe < 0)
                instance->pipe = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        int fd = instance->pipe < 0 ? -1 : fcntl(instance->pipe, F_DUPFD_CLOEXEC, 0);
        return fd < 0 ? -errno : fd;
}

static int open_file(FakeInstance *instance, const char *path) {
        static const char *const others[] = {
                "buffer_percent", "snapshot", "trace", "trace_marker"
        };
        char file[32];
        unsigned cpu;

        if (sscanf(path, "per_cpu/cpu%u/%31s", &cpu, file) == 2 && cpu < kernel.n_cpus) {
                if (g_str_equal(file, "trace_pipe_raw"))
                        return open_feed(instance, cpu);
                return g_str_equal(file, "stats") ? open_stats(instance, cpu) : -ENOENT;
        }
        if (g_str_equal(path, "trace_pipe"))
                return open_pipe(instance);
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
                if (g_str_equal(path, others[i]))
                        return open_text(NULL);
        g_autofree char *text = fake_instance_read_file(instance, path);
        return text ? open_text(text) : -ENOENT;
}

int instance_open_file(const Instance *instance, const char *path, int flags) {
        int r = fake_begin(FAKE_OPEN_FILE);
        FakeInstance *fake = find_instance(instance);
        if (r == 0)
                r = fake ? open_file(fake, path) : -ENOENT;
        return fake_finish_read(r);
}

int instance_read_statistics_fd(int stats_fd, CpuStatistics *ret) {
        int r = fake_begin(FAKE_READ);
        char text[512] = "";
        CpuStatistics s = {};
        uint64_t sec, usec;

        if (r == 0 && pread(stats_fd, text, sizeof(text) - 1, 0) < 0)
                r = -errno;
        if (r == 0 && sscanf(text,
                                      "entries: %" SCNu64 " overrun: %" SCNu64
                                      " commit overrun: %" SCNu64 " bytes: %" SCNu64
                                      " oldest event ts: %" SCNu64 ".%" SCNu64
                                      " now ts: %*f dropped events: %" SCNu64
                                      " read events: %" SCNu64,
                                      &s.entries,
                                      &s.overrun,
                                      &s.commit_overrun,
                                      &s.bytes,
                                      &sec,
                                      &usec,
                                      &s.dropped,
                                      &s.read) != 8)
                r = -EBADMSG;
        if (r == 0) {
                s.oldest_nsec = sec * 1000000000 + usec * 1000;
                *ret = s;
        }
        return fake_finish_read(r);
}

int instance_read_statistics(const Instance *instance, unsigned cpu, CpuStatistics *ret) {
        pthread_mutex_lock(&kernel.lock);
        FakeInstance *fake = find_instance(instance);
        _cleanup_close_ int fd = fake && cpu < kernel.n_cpus ? open_stats(fake, cpu) : -ENOENT;
        pthread_mutex_unlock(&kernel.lock);
        return fd < 0 ? fd : instance_read_statistics_fd(fd, ret);
}

/* As kernels without CONFIG_TRACER_SNAPSHOT. */
int instance_allocate_snapshot(const Instance *instance) {
        return -EOPNOTSUPP;
}

int instance_swap(const Instance *instance) {
        return -EOPNOTSUPP;
}

int instance_resize_snapshot(const Instance *instance) {
        int r = fake_begin(FAKE_BUFFER);

        if (r == 0 && !find_instance(instance))
                r = -ENOENT;
        return fake_finish(r, "resize-snapshot %s", instance->name);
}

int instance_clear_snapshot(const Instance *instance) {
        return -EOPNOTSUPP;
}

int instance_clear(const Instance *instance) {
        int r = fake_begin(FAKE_CLEAR);
        FakeInstance *fake = find_instance(instance);
        if (r == 0 && !fake)
                r = -ENOENT;
        for (unsigned i = 0; r == 0 && i < kernel.n_cpus; i++)
                r = fake_instance_write_stats(fake, i, &(CpuStatistics){});
        return fake_finish(r, "clear %s", instance->name);
}

/* buffer.h: nobody but the tests writes into these rings. */

int buffer_wait_quiet(const Instance *instance _unused_) {
        return 0;
}
