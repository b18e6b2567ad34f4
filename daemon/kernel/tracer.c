/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tracers of an instance, and the CPUs it records on. Called by session.
 *
 * It relies on these behaviours of the kernel:
 * - tracing_cpumask takes groups of eight hexadecimal digits, the lowest CPUs last;
 * - set_ftrace_filter accepts a word when white space follows it, and returns EINVAL if the word
 *   matches no function; opened with O_TRUNC it is empty, and empty means all functions, shown as
 *   "#### all functions enabled ####";
 * - set_ftrace_notrace lists functions that are not traced, in the same syntax; it takes
 *   precedence;
 * - writing current_tracer clears the ring, even if the tracer does not change, and returns EINVAL
 *   for a name that is not in the instance's available_tracers. So it is set once, before
 *   recording, and set_ftrace_notrace stops it: without any function to trace the kernel patches no
 *   code;
 * - function_graph of an instance (since 6.11) takes set_ftrace_notrace into account only when it
 * is set: a later change has no effect, in either direction. So tracing_on stops it.
 *
 * The spec checks the characters of a glob: a ':' would make it a command. */

#include "kernel/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

int instance_set_cpus(const Instance *instance,
                const CpuList *cpus,
                unsigned n_cpus,
                Reason *reason) {
        unsigned last = cpu_list_get_last(cpus);
        char text[CPU_LIST_MAX / 32 * 9 + 1];
        size_t at = 0;

        if (last >= n_cpus)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "cpus: there is no CPU %u: this machine has 0 to %u",
                                last,
                                n_cpus - 1);
        for (unsigned group = last / 32 + 1; group-- > 0;)
                at += (size_t)snprintf(text + at,
                                sizeof(text) - at,
                                "%08" PRIx32 "%s",
                                (uint32_t)(cpus->words[group / 2] >> group % 2 * 32),
                                group ? "," : "");
        return tracefs_write(instance->fd, "tracing_cpumask", text);
}

/* -1: none. */
static int hex_digit(char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int instance_get_cpus(const Instance *instance, CpuList *ret) {
        _cleanup_free_ char *text = NULL;
        CpuList list = {};
        unsigned at = 0; /* number of the digit's lowest CPU */
        size_t size;

        int r = tracefs_read(instance->fd, "tracing_cpumask", &text, &size);
        if (r < 0)
                return r;
        while (size-- > 0 && at < CPU_LIST_MAX) {
                int digit = hex_digit(text[size]);

                if (digit < 0)
                        continue;
                list.words[at / 64] |= (uint64_t)digit << at % 64;
                at += 4;
        }
        *ret = list;
        return 0;
}

/* An empty list would trace every function of the kernel. */
static int check_functions(const Instance *instance, Reason *reason) {
        char first[2] = "";

        int fd = instance_open_file(instance, "set_ftrace_filter", O_RDONLY);
        if (fd < 0)
                return fd;
        ssize_t n = read(fd, first, 1);
        int r = n < 0 ? -errno : 0;
        close(fd);
        if (r == 0 && (n == 0 || *first == '#'))
                return reason_set(reason,
                                KT_E_KERNEL_REFUSED,
                                "functions: the kernel would record all: nothing was done");
        return r;
}

static int refuse_all(Reason *reason) {
        return reason_set(
                        reason, KT_E_KERNEL_REFUSED, "tracer: this kernel cannot trace functions");
}

/* The list is separated by blanks. */
static bool has_word(const char *list, const char *word) {
        size_t size = strlen(word);

        for (const char *p = list; (p = strstr(p, word)); p += size)
                if ((p == list || p[-1] == ' ') && (!p[size] || strchr(" \n", p[size])))
                        return true;
        return false;
}

int tracer_check_known(const Tracefs *tracefs, const char *tracer, Reason *reason) {
        _cleanup_free_ char *known = NULL;

        int r = tracefs_read(tracefs->fd, "available_tracers", &known, NULL);
        if (r < 0)
                return r;
        if (faccessat(tracefs->fd, "set_ftrace_filter", F_OK, 0) < 0)
                return refuse_all(reason);
        known[strcspn(known, "\n")] = '\0';
        if (has_word(known, tracer))
                return 0;
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "tracer: this kernel has no %s; it has: %s",
                        tracer,
                        known);
}

static int refuse_functions(int r, const char *glob, Reason *reason) {
        if (r == -EINVAL)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "functions: %s matches no function that can be traced: see "
                                "available_filter_functions in tracefs",
                                glob);
        if (r == -ENOENT || r == -EACCES || r == -EPERM)
                return refuse_all(reason);
        return r;
}

static int write_functions(const Instance *instance,
                const char *file,
                char *const *globs,
                size_t n_globs,
                Reason *reason) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < n_globs; i++) {
                char text[256];

                snprintf(text, sizeof(text), "%s\n", globs[i]);
                r = i == 0 ? tracefs_write_truncate(instance->fd, file, text)
                           : tracefs_write(instance->fd, file, text);
                r = refuse_functions(r, globs[i], reason);
        }
        return r;
}

static int tracer_set_filter(const Instance *instance,
                char *const *globs,
                size_t n_globs,
                Reason *reason) {
        int r = write_functions(instance, "set_ftrace_filter", globs, n_globs, reason);

        return r ?: check_functions(instance, reason);
}

bool tracer_needs_tracing_on(const char *tracer) {
        return strcmp(tracer, "function_graph") == 0;
}

int instance_run_tracer(const Instance *instance, char *const *globs, size_t n_globs, bool on) {
        if (on)
                return tracefs_write_truncate(instance->fd, "set_ftrace_notrace", "\n");
        return write_functions(instance, "set_ftrace_notrace", globs, n_globs, NULL);
}

static int set_tracer(const Instance *instance, const char *tracer, Reason *reason) {
        _cleanup_free_ char *known = NULL;

        int r = tracefs_write(instance->fd, "current_tracer", tracer);
        if (r != -EINVAL)
                return r;
        r = tracefs_read(instance->fd, "available_tracers", &known, NULL);
        if (r < 0)
                return r;
        known[strcspn(known, "\n")] = '\0';
        return reason_set(reason,
                        KT_E_KERNEL_REFUSED,
                        "tracer: this kernel has no %s for instances; it has: %s",
                        tracer,
                        known);
}

int instance_set_tracer(const Instance *instance,
                const char *tracer,
                char *const *globs,
                size_t n_globs,
                Reason *reason) {
        int r = tracer_set_filter(instance, globs, n_globs, reason);

        if (r == 0)
                r = tracer_needs_tracing_on(tracer)
                                    ? instance_set_tracing(instance, false)
                                    : instance_run_tracer(instance, globs, n_globs, false);
        return r ?: set_tracer(instance, tracer, reason);
}
