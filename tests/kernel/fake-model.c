/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The state of the fake kernel and what every operation passes through: faults, delays, the
 * journal.
 *
 * One lock around one model; a delayed or held operation waits before it takes effect and without
 * the lock, so that others go on. It relies on poll(2) telling POLLERR on the writing end of a pipe
 * once the last reader has closed it, wherever the fd was passed to: that is how a held
 * trace_pipe_raw is found. */

#include "fake-model.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

FakeModel kernel = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void fake_event_free(gpointer p) {
        FakeEvent *event = p;
        g_free(event->key);
        g_free(event->format);
        g_free(event);
}

static void event_state_free(gpointer p) {
        EventState *state = p;
        g_free(state->filter);
        if (state->triggers)
                g_ptr_array_unref(state->triggers);
        g_free(state);
}

static void fake_instance_free(gpointer p) {
        FakeInstance *instance = p;
        g_free(instance->name);
        g_free(instance->clock);
        g_hash_table_unref(instance->options);
        g_array_unref(instance->pids);
        g_hash_table_unref(instance->events);
        g_ptr_array_unref(instance->touched);
        for (size_t i = 0; i < CPUS_MAX; i++) {
                close_cleanup(&instance->stats[i]);
                close_cleanup(&instance->feeds[i]);
        }
        close_cleanup(&instance->pipe);
        g_free(instance);
}

FakeInstance *fake_instance_new(const char *name) {
        FakeInstance *instance = g_new0(FakeInstance, 1);
        instance->name = g_strdup(name);
        instance->buffer_kb = BUFFER_KB_DEFAULT;
        instance->subbuf_kb = SUBBUF_KB_DEFAULT;
        instance->clock = g_strdup("local");
        instance->tracing = true;
        instance->options = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        instance->pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
        instance->events = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, event_state_free);
        instance->touched = g_ptr_array_new_with_free_func(g_free);
        for (size_t i = 0; i < CPUS_MAX; i++)
                instance->stats[i] = instance->feeds[i] = -1;
        instance->pipe = -1;
        g_hash_table_insert(kernel.instances, g_strdup(name), instance);
        return instance;
}

FakeEvent *fake_event_find(const char *system, const char *name) {
        g_autofree char *key = g_strdup_printf("%s:%s", system, name);
        for (guint i = 0; i < kernel.events->len; i++) {
                FakeEvent *event = kernel.events->pdata[i];
                if (g_str_equal(event->key, key))
                        return event;
        }
        return NULL;
}

EventState *fake_event_get_state(FakeInstance *instance, const char *key) {
        EventState *state = g_hash_table_lookup(instance->events, key);
        if (!state) {
                state = g_new0(EventState, 1);
                g_hash_table_insert(instance->events, g_strdup(key), state);
        }
        return state;
}

void fake_model_reset(void) {
        if (kernel.instances) {
                g_ptr_array_unref(kernel.events);
                g_hash_table_unref(kernel.instances);
                g_hash_table_unref(kernel.files);
                g_hash_table_unref(kernel.handles);
                g_ptr_array_unref(kernel.journal);
                if (kernel.probes)
                        g_ptr_array_unref(kernel.probes);
        }
        kernel.probes = NULL;
        kernel.pid_max = 4194304;
        kernel.events = g_ptr_array_new_with_free_func(fake_event_free);
        kernel.instances =
                        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, fake_instance_free);
        kernel.files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        kernel.handles = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        kernel.journal = g_ptr_array_new_with_free_func(g_free);
        kernel.n_cpus = 2;
        kernel.fail_in = 0;
        kernel.has_failed = kernel.is_holding = false;
        kernel.n_held = 0;
        memset(kernel.verb_fails, 0, sizeof(kernel.verb_fails));
        memset(kernel.delay_msec, 0, sizeof(kernel.delay_msec));
}

FakeInstance *fake_instance_find(const char *name) {
        return g_hash_table_lookup(kernel.instances, name);
}

static int compare_pids(gconstpointer a, gconstpointer b) {
        const pid_t *x = a, *y = b;
        return *x < *y ? -1 : *x > *y;
}

void fake_instance_add_pid(FakeInstance *instance, pid_t pid) {
        for (guint i = 0; i < instance->pids->len; i++)
                if (g_array_index(instance->pids, pid_t, i) == pid)
                        return;
        g_array_append_val(instance->pids, pid);
        g_array_sort(instance->pids, compare_pids);
}

bool fake_instance_has_reader(const FakeInstance *instance, unsigned cpu) {
        int fd = instance->feeds[cpu];
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        return fd >= 0 && poll(&p, 1, 0) >= 0 && !(p.revents & POLLERR);
}

/* Always the same size, so that a reader in between finds a whole text. */
int fake_instance_write_stats(FakeInstance *instance, unsigned cpu, const CpuStatistics *s) {
        char text[512];
        int *fd = &instance->stats[cpu];

        if (*fd < 0)
                *fd = memfd_create("fake-stats", MFD_CLOEXEC);
        int n = snprintf(text,
                        sizeof(text),
                        "entries: %20" PRIu64 "\noverrun: %20" PRIu64 "\ncommit overrun: %20" PRIu64
                        "\nbytes: %20" PRIu64 "\noldest event ts: %12" PRIu64 ".%06" PRIu64
                        "\nnow ts:     0.000000"
                        "\ndropped events: %20" PRIu64 "\nread events: %20" PRIu64 "\n",
                        s->entries,
                        s->overrun,
                        s->commit_overrun,
                        s->bytes,
                        s->oldest_nsec / 1000000000,
                        s->oldest_nsec / 1000 % 1000000,
                        s->dropped,
                        s->read);
        if (*fd < 0 || pwrite(*fd, text, (size_t)n, 0) != n)
                return -errno;
        return instance->pipe < 0 || eventfd_write(instance->pipe, 1) == 0 ? 0 : -errno;
}

/* A directory fd that can be reported from all others and closed like one. */
int fake_handle_new(const char *name) {
        int fd = memfd_create("fake-directory", MFD_CLOEXEC);
        if (fd < 0)
                return -errno;
        g_hash_table_insert(kernel.handles, GINT_TO_POINTER(fd), g_strdup(name));
        return fd;
}

void fake_handle_close(int fd) {
        pthread_mutex_lock(&kernel.lock);
        g_hash_table_remove(kernel.handles, GINT_TO_POINTER(fd));
        pthread_mutex_unlock(&kernel.lock);
        if (fd >= 0)
                close(fd);
}

/* Faults */

static void set_fault(unsigned nth, int error, bool counts_reads) {
        pthread_mutex_lock(&kernel.lock);
        kernel.fail_in = nth;
        kernel.fail_error = error;
        kernel.fail_counts_reads = counts_reads;
        kernel.has_failed = false;
        pthread_mutex_unlock(&kernel.lock);
}

void fake_kernel_fail(unsigned nth, int error) {
        set_fault(nth, error, false);
}

void fake_kernel_fail_any(unsigned nth, int error) {
        set_fault(nth, error, true);
}

void fake_kernel_fail_verb(FakeVerb verb, unsigned times, int error) {
        pthread_mutex_lock(&kernel.lock);
        kernel.verb_fails[verb] = times;
        kernel.verb_errors[verb] = error;
        pthread_mutex_unlock(&kernel.lock);
}

bool fake_kernel_has_failed(void) {
        pthread_mutex_lock(&kernel.lock);
        bool has_failed = kernel.has_failed;
        pthread_mutex_unlock(&kernel.lock);
        return has_failed;
}

void fake_kernel_delay(FakeVerb verb, unsigned msec) {
        pthread_mutex_lock(&kernel.lock);
        kernel.delay_msec[verb] = msec;
        pthread_mutex_unlock(&kernel.lock);
}

void fake_kernel_hold(FakeVerb verb) {
        pthread_mutex_lock(&kernel.lock);
        kernel.held_verb = verb;
        kernel.is_holding = true;
        pthread_mutex_unlock(&kernel.lock);
}

void fake_kernel_release(void) {
        pthread_mutex_lock(&kernel.lock);
        kernel.is_holding = false;
        pthread_cond_broadcast(&kernel.changed);
        pthread_mutex_unlock(&kernel.lock);
}

bool fake_kernel_wait_held(unsigned msec) {
        struct timespec until;
        int r = 0;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += msec / 1000;
        until.tv_nsec += (long)(msec % 1000) * 1000000;
        if (until.tv_nsec >= 1000000000) {
                until.tv_sec++;
                until.tv_nsec -= 1000000000;
        }

        pthread_mutex_lock(&kernel.lock);
        while (kernel.n_held == 0 && r == 0)
                r = pthread_cond_timedwait(&kernel.changed, &kernel.lock, &until);
        bool is_held = kernel.n_held > 0;
        pthread_mutex_unlock(&kernel.lock);
        return is_held;
}

static bool verb_matches(FakeVerb pattern, FakeVerb verb) {
        return pattern == FAKE_ANY || pattern == verb;
}

static int take_fault(FakeVerb verb) {
        for (FakeVerb v = FAKE_ANY; v < _FAKE_VERB_N; v++)
                if (kernel.verb_fails[v] > 0 && verb_matches(v, verb)) {
                        kernel.verb_fails[v]--;
                        return kernel.verb_errors[v];
                }
        if (kernel.fail_in == 0 || (verb == FAKE_READ && !kernel.fail_counts_reads))
                return 0;
        if (--kernel.fail_in > 0)
                return 0;
        kernel.has_failed = true;
        return kernel.fail_error;
}

int fake_begin(FakeVerb verb) {
        pthread_mutex_lock(&kernel.lock);
        g_assert(kernel.instances); /* fake_kernel_reset comes first */

        unsigned msec = MAX_OF(kernel.delay_msec[FAKE_ANY], kernel.delay_msec[verb]);
        if (msec > 0) {
                pthread_mutex_unlock(&kernel.lock);
                g_usleep(msec * 1000UL);
                pthread_mutex_lock(&kernel.lock);
        }
        if (kernel.is_holding && verb_matches(kernel.held_verb, verb)) {
                kernel.n_held++;
                pthread_cond_broadcast(&kernel.changed);
                while (kernel.is_holding)
                        pthread_cond_wait(&kernel.changed, &kernel.lock);
                kernel.n_held--;
        }
        return take_fault(verb);
}

int fake_begin_reason(FakeVerb verb, Reason *reason) {
        int r = fake_begin(verb);
        return r > 0 ? reason_set(reason, r, "the fake kernel was told to fail") : r;
}

int fake_finish_read(int r) {
        pthread_mutex_unlock(&kernel.lock);
        return r;
}

int fake_finish(int r, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        char *line = g_strdup_vprintf(format, ap);
        va_end(ap);
        if (r != 0) {
                char *failed = g_strdup_printf("%s = %d", line, r);
                g_free(line);
                line = failed;
        }
        g_ptr_array_add(kernel.journal, line);
        return fake_finish_read(r);
}

const char *fake_on_off(bool on) {
        return on ? "on" : "off";
}
