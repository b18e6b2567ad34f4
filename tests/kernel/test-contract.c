/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What daemon/kernel and the session's fence rely on, each with the sentence that stands there,
 * asked of the kernel that runs. A failure here is a kernel that behaves differently: the code that
 * says the sentence is wrong on it. */

#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kernel/buffer.h"
#include "kernel/event.h"
#include "kernel/filter.h"
#include "kernel/path.h"
#include "kernel/probe-group.h"
#include "kernel/probe.h"
#include "kernel/statistics.h"

#define SENTINEL 4194304

/* A new instance has tracing_on = 1 and every event off. */
static bool keeps_none(const char *event _unused_, size_t size _unused_, void *userdata _unused_) {
        return false;
}

static bool begins_so(const char *event, size_t size _unused_, void *userdata) {
        return strncmp(event, userdata, strlen(userdata)) == 0;
}

static void test_new_instance(Instance *instance) {
        _cleanup_free_ char *enabled = NULL;
        bool on = false;

        g_assert_cmpint(instance_get_tracing(instance, &on), ==, 0);
        g_assert_true(on);
        g_assert_cmpint(tracefs_read(instance->fd, "events/enable", &enabled, NULL), ==, 0);
        g_assert_cmpstr(enabled, ==, "0\n");
}

/* A filter that is refused removes the one before and leaves the event on. */
static void test_refused_filter_is_open(Instance *instance) {
        static const char path[] = "events/raw_syscalls/sys_enter/filter";
        Worker worker;

        worker_start(&worker);
        g_assert_cmpint(instance_add_pid(instance, worker.pid), ==, 0);
        g_assert_cmpint(instance_set_filter(
                                        instance, "raw_syscalls", "sys_enter", "id == 999", NULL),
                        ==,
                        0);
        g_assert_cmpint(instance_enable_event(instance, "raw_syscalls", "sys_enter", true), ==, 0);
        worker_call(&worker);
        g_assert_cmpuint(native_count(instance, worker.pid), ==, 0);

        g_assert_cmpint(tracefs_write(instance->fd, path, "nosuch == 1"), ==, -EINVAL);
        worker_call(&worker);
        g_assert_cmpuint(native_count(instance, worker.pid), >=, WORKER_CALLS);
        worker_stop(&worker);
}

/* The filter file then reads back the refused text, and writing "0" makes it "none". */
static void test_refused_filter_is_kept_as_text(Instance *instance) {
        static const char path[] = "events/raw_syscalls/sys_enter/filter";
        _cleanup_free_ char *refused = NULL, *cleared = NULL;

        g_assert_cmpint(tracefs_write(instance->fd, path, "nosuch == 1"), ==, -EINVAL);
        g_assert_cmpint(tracefs_read(instance->fd, path, &refused, NULL), ==, 0);
        g_assert_true(g_str_has_prefix(refused, "nosuch == 1\n"));
        g_assert_cmpint(tracefs_write(instance->fd, path, "0"), ==, 0);
        g_assert_cmpint(tracefs_read(instance->fd, path, &cleared, NULL), ==, 0);
        g_assert_cmpstr(cleared, ==, "none\n");
}

/* A refused write returns ENOENT for an open parenthesis. */
static void test_open_parenthesis(Instance *instance) {
        static const char path[] = "events/raw_syscalls/sys_enter/filter";
        g_assert_cmpint(tracefs_write(instance->fd, path, "(id == 1"), ==, -ENOENT);
}

/* The whole write is at most 4095 bytes. */
static void test_filter_length(Instance *instance) {
        static const char path[] = "events/raw_syscalls/sys_enter/filter";
        char text[4097];

        memset(text, ' ', sizeof(text));
        memcpy(text, "id == 1", strlen("id == 1"));
        text[4095] = '\0';
        g_assert_cmpint(tracefs_write(instance->fd, path, text), ==, 0);
        text[4095] = ' ';
        text[4096] = '\0';
        g_assert_cmpint(tracefs_write(instance->fd, path, text), ==, -EINVAL);
}

/* `!(common_flags & 88)` is accepted by every event that has a filter, joined to a fence or alone.
 */
static void test_context_filter(Instance *instance) {
        _cleanup_(event_list_free_cleanup) EventList *list = NULL;
        size_t n_without = 0;
        Reason reason = {};

        g_assert_cmpint(event_list_load(native_tracefs, NULL, &list), ==, 0);
        for (size_t i = 0; i < list->n_names; i++) {
                g_auto(GStrv) parts = g_strsplit(list->names[i], ":", 2);
                int r = instance_set_filter(instance,
                                parts[0],
                                parts[1],
                                "(common_pid != 0) && !(common_flags & 88)",
                                &reason);
                if (r == -EOPNOTSUPP)
                        n_without++;
                else if (r != 0)
                        g_error("%s: %d %s", list->names[i], r, reason.text);
        }
        g_assert_cmpuint(list->n_names, >, 100);
        g_assert_cmpuint(n_without, <, list->n_names / 100);
}

/* Events of the shipped policy all take a filter. */
static void test_shipped_events(Instance *instance) {
        static const char *const events[][2] = {
                { "raw_syscalls", "sys_enter" },
                { "raw_syscalls", "sys_exit" },
                { "syscalls", "sys_enter_openat" },
                { "syscalls", "sys_exit_openat" },
                { "sched", "sched_process_exec" },
                { "sched", "sched_process_exit" },
                { "sched", "sched_process_fork" },
                { "sched", "sched_process_wait" },
                { "task", "task_newtask" },
                { "task", "task_rename" },
                { "exceptions", "page_fault_user" },
                { "signal", "signal_deliver" },
        };
        _cleanup_(event_list_free_cleanup) EventList *list = NULL;

        g_assert_cmpint(event_list_load(native_tracefs, NULL, &list), ==, 0);
        for (size_t i = 0; i < ELEMENTSOF(events); i++) {
                /* Some architectures and configurations lack a few. */
                g_autofree char *full = g_strjoin(":", events[i][0], events[i][1], NULL);
                if (!event_list_has(list, full))
                        continue;
                g_assert_cmpint(instance_set_filter(instance,
                                                events[i][0],
                                                events[i][1],
                                                "!(common_flags & 88)",
                                                NULL),
                                ==,
                                0);
        }
}

/* All names of the kernel's own are names as path.c takes them. */
static void test_names(Instance *instance _unused_) {
        _cleanup_(event_list_free_cleanup) EventList *list = NULL;

        g_assert_cmpint(event_list_load(native_tracefs, NULL, &list), ==, 0);
        for (size_t i = 0; i < list->n_names; i++) {
                g_auto(GStrv) parts = g_strsplit(list->names[i], ":", 2);

                if (!path_is_name(parts[0]) || !path_is_name(parts[1]))
                        g_error("%s", list->names[i]);
        }
}

/* set_event_pid opened without O_TRUNC appends, with it it replaces. */
static void test_pids_append(Instance *instance) {
        g_assert_cmpint(instance_add_pid(instance, SENTINEL), ==, 0);
        g_assert_cmpint(instance_add_pid(instance, 1), ==, 0);
        native_assert_pids(instance, (pid_t[]){ 1, SENTINEL }, 2);
        g_assert_cmpint(tracefs_write_truncate(instance->fd, "set_event_pid", "4194304"), ==, 0);
        native_assert_pids(instance, (pid_t[]){ SENTINEL }, 1);
}

/* An empty list traces everybody. */
static void test_empty_list(Instance *instance) {
        Worker worker;

        worker_start(&worker);
        native_enable_calls(instance);
        worker_call(&worker);
        g_assert_cmpuint(native_count(instance, worker.pid), ==, WORKER_CALLS);
        worker_stop(&worker);
}

/* The sentinel pid is accepted, is nobody, and keeps the list from ever being empty: what is
 * enabled after the last process has ended still records nobody else. */
static void test_sentinel(Instance *instance) {
        Worker listed, stranger;

        worker_start(&listed);
        worker_start(&stranger);
        g_assert_cmpint(instance_add_pid(instance, SENTINEL), ==, 0);
        g_assert_cmpint(instance_set_option(instance, "event-fork", true), ==, 0);
        g_assert_cmpint(instance_add_pid(instance, listed.pid), ==, 0);
        worker_stop(&listed);
        g_assert_true(native_wait_unlisted(instance, listed.pid));
        native_assert_pids(instance, (pid_t[]){ SENTINEL }, 1);

        native_enable_calls(instance);
        worker_call(&stranger);
        g_assert_cmpuint(native_count(instance, 0), ==, 0);
        worker_stop(&stranger);
}

/* Without event-fork the pid of a dead process stays listed. */
static void test_dead_pid(Instance *instance) {
        Worker worker;

        worker_start(&worker);
        g_assert_cmpint(instance_add_pid(instance, worker.pid), ==, 0);
        worker_stop(&worker);
        g_usleep(200 * 1000);
        native_assert_pids(instance, &worker.pid, 1);
}

/* event-fork adds children and new threads; the list is one of threads: a thread that was there
 * before and is not listed is not traced. */
static void test_event_fork(Instance *instance) {
        Worker worker;

        worker_start(&worker);
        g_assert_cmpint(instance_set_option(instance, "event-fork", true), ==, 0);
        g_assert_cmpint(instance_add_pid(instance, worker.pid), ==, 0);
        native_enable_calls(instance);

        pid_t sibling = worker_call_in_thread(&worker);
        g_assert_cmpint(sibling, ==, worker.tid);
        g_assert_cmpuint(native_count(instance, sibling), ==, 0);
        pid_t thread = worker_call_in_new_thread(&worker);
        g_assert_cmpuint(native_count(instance, thread), ==, WORKER_CALLS);
        pid_t child = worker_call_in_child(&worker);
        g_assert_cmpuint(native_count(instance, child), ==, WORKER_CALLS);

        g_assert_cmpint(instance_add_pid(instance, sibling), ==, 0);
        worker_call_in_thread(&worker);
        g_assert_cmpuint(native_count(instance, sibling), ==, WORKER_CALLS);
        worker_stop(&worker);
}

/* A trace_pipe_raw or stats that is open keeps the instance from being removed; an open directory
 * or format does not. */
static void test_held_files(Instance *instance) {
        static const char *const holding[] = { "per_cpu/cpu0/trace_pipe_raw",
                "per_cpu/cpu0/stats" };
        Instance *other = NULL;

        for (size_t i = 0; i < ELEMENTSOF(holding); i++) {
                int fd = instance_open_file(instance, holding[i], O_RDONLY);
                g_assert_cmpint(fd, >=, 0);
                g_assert_cmpint(instance_remove(native_tracefs, instance->name), ==, -EBUSY);
                close(fd);
        }

        g_assert_cmpint(instance_create(native_tracefs, native_id(), &other), ==, 0);
        int format = instance_open_file(other, "events/sched/sched_switch/format", O_RDONLY);
        int directory = instance_open_file(other, "events/sched", O_RDONLY | O_DIRECTORY);
        g_assert_cmpint(format, >=, 0);
        g_assert_cmpint(directory, >=, 0);
        g_assert_cmpint(instance_remove(native_tracefs, other->name), ==, 0);
        close(format);
        close(directory);
        instance_free(other);
}

/* Fills the ring of one CPU with more than two sub-buffers. */
static int fill(const Instance *instance) {
        size_t subbuf_size;
        cpu_set_t one;

        CPU_ZERO(&one);
        CPU_SET(0, &one);
        if (sched_setaffinity(0, sizeof(one), &one) < 0)
                return -errno;
        g_assert_cmpint(instance_add_pid(instance, getpid()), ==, 0);
        native_enable_calls(instance);
        g_assert_cmpint(instance_get_subbuf_size(instance, &subbuf_size), ==, 0);
        for (size_t i = 0; i < subbuf_size / 16; i++)
                (void)syscall(SYS_getppid);
        g_assert_cmpint(instance_disable_all(instance), ==, 0);
        return 0;
}

static bool is_empty(int fd) {
        char buffer[65536];
        ssize_t n = read(fd, buffer, sizeof(buffer));
        return n == 0 || (n < 0 && errno == EAGAIN);
}

/* Once anyone has closed a duplicate of it (a child that inherited it, whoever passed it on), a
 * read of an empty trace_pipe_raw returns 0 instead of EAGAIN: that is no end, records that come
 * later are reported by poll and read. */
static void test_raw_read_after_close(Instance *instance) {
        _cleanup_close_ int fd = instance_open_file(
                        instance, "per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK);
        struct pollfd p = { .fd = fd, .events = POLLIN };
        char buffer[65536];

        g_assert_cmpint(read(fd, buffer, sizeof(buffer)), ==, -1);
        g_assert_cmpint(errno, ==, EAGAIN);
        close(dup(fd));
        g_assert_true(is_empty(fd));
        g_assert_cmpint(tracefs_write(instance->fd, "buffer_percent", "0"), ==, 0);
        g_assert_cmpint(poll(&p, 1, 0), ==, 0);

        if (fill(instance) < 0) {
                g_test_skip("CPU 0 is not for us");
                return;
        }
        g_assert_cmpint(poll(&p, 1, 1000), ==, 1);
        g_assert_cmpint(read(fd, buffer, sizeof(buffer)), >, 0);
}

/* A read of trace_pipe_raw returns at most one sub-buffer; meanwhile buffer_percent can be written
 * and the ring resized, cleared and switched. */
static void test_raw_read(Instance *instance) {
        _cleanup_free_ char *buffer = malloc(1024 * 1024);
        size_t subbuf_size;

        if (fill(instance) < 0) {
                g_test_skip("CPU 0 is not for us");
                return;
        }
        g_assert_cmpint(instance_get_subbuf_size(instance, &subbuf_size), ==, 0);
        int fd = instance_open_file(instance, "per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK);
        g_assert_cmpint(fd, >=, 0);
        for (int i = 0; i < 2; i++) {
                ssize_t n = read(fd, buffer, 1024 * 1024);
                g_assert_cmpint(n, >, 0);
                g_assert_cmpint(n, <=, (ssize_t)subbuf_size);
                g_assert_cmpint(tracefs_write(instance->fd, "buffer_percent", i ? "50" : "0"),
                                ==,
                                0);
        }
        g_assert_cmpint(instance_set_tracing(instance, false), ==, 0);
        g_assert_cmpint(instance_clear(instance), ==, 0);
        g_assert_cmpint(instance_set_buffer_kb(instance, 64), ==, 0);
        g_assert_true(is_empty(fd));
        close(fd);
}

/* per_cpu/cpuN/stats has the counters by these names; what is read moves from one to another. */
static void test_stats(Instance *instance) {
        _cleanup_free_ char *buffer = malloc(1024 * 1024);
        CpuStatistics before, after;

        if (fill(instance) < 0) {
                g_test_skip("CPU 0 is not for us");
                return;
        }
        int stats = instance_open_file(instance, "per_cpu/cpu0/stats", O_RDONLY);
        g_assert_cmpint(instance_read_statistics_fd(stats, &before), ==, 0);
        g_assert_cmpuint(before.entries, >, 0);
        g_assert_cmpuint(before.bytes, >, before.entries * 8);
        g_assert_cmpuint(before.read, ==, 0);

        int fd = instance_open_file(instance, "per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK);
        g_assert_cmpint(read(fd, buffer, 1024 * 1024), >, 0);
        close(fd);
        g_assert_cmpint(instance_read_statistics_fd(stats, &after), ==, 0);
        close(stats);
        g_assert_cmpuint(after.read, >, 0);
        g_assert_cmpuint(after.entries + after.read, ==, before.entries);
}

static uint64_t sum_dropped(Instance *instance) {
        unsigned n_cpus = 0;
        uint64_t n = 0;

        g_assert_cmpint(instance_n_cpus(instance, &n_cpus), ==, 0);
        for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
                CpuStatistics s;

                g_assert_cmpint(instance_read_statistics(instance, cpu, &s), ==, 0);
                n += s.dropped;
        }
        return n;
}

static int poll_once(int epoll_fd) {
        struct epoll_event event;

        return epoll_wait(epoll_fd, &event, 1, 200);
}

/* Each record wakes an edge-triggered poll of trace_pipe, whatever buffer_percent is and whatever
 * the ring holds. Events that a full ring drops do not. An open trace_pipe keeps the instance. */
static void test_poll_edges(Instance *instance) {
        _cleanup_close_ int pipe = instance_open_file(
                                            instance, "trace_pipe", O_RDONLY | O_NONBLOCK),
                            mark = instance_open_file(instance, "trace_marker", O_WRONLY),
                            epoll = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event event = { .events = EPOLLIN | EPOLLET };
        char text[1000];

        g_assert_cmpint(pipe, >=, 0);
        g_assert_cmpint(instance_remove(native_tracefs, instance->name), ==, -EBUSY);
        memset(text, 'x', sizeof(text));
        g_assert_cmpint(instance_set_option(instance, "overwrite", false), ==, 0);
        g_assert_cmpint(instance_set_buffer_kb(instance, 8), ==, 0);
        g_assert_cmpint(epoll_ctl(epoll, EPOLL_CTL_ADD, pipe, &event), ==, 0);
        g_assert_cmpint(poll_once(epoll), ==, 0);
        for (unsigned i = 0; i < 3; i++) {
                g_assert_cmpint(write(mark, "x", 1), ==, 1);
                g_assert_cmpint(poll_once(epoll), ==, 1);
                g_assert_cmpint(poll_once(epoll), ==, 0);
        }
        while (write(mark, text, sizeof(text)) > 0)
                ;
        g_assert_cmpint(poll_once(epoll), ==, 1);
        g_assert_cmpint(write(mark, text, sizeof(text)), <, 0);
        g_assert_cmpint(poll_once(epoll), ==, 0);
}

/* A mark fails with EBADF where the ring is full, and counts as dropped; where tracing_on is 0 it
 * fails with EBADF, too, and does not. */
static void test_refused_mark(Instance *instance) {
        _cleanup_close_ int fd = instance_open_file(instance, "trace_marker", O_WRONLY);
        char text[1000];
        unsigned n = 0;

        g_assert_cmpint(fd, >=, 0);
        memset(text, 'x', sizeof(text));
        g_assert_cmpint(instance_set_option(instance, "overwrite", false), ==, 0);
        g_assert_cmpint(instance_set_buffer_kb(instance, 8), ==, 0);
        while (write(fd, text, sizeof(text)) > 0)
                g_assert_cmpuint(n++, <, 10000);
        g_assert_cmpint(errno, ==, EBADF);
        uint64_t full = sum_dropped(instance);
        g_assert_cmpuint(full, >, 0);
        g_assert_cmpint(instance_set_tracing(instance, false), ==, 0);
        g_assert_cmpint(write(fd, text, sizeof(text)), <, 0);
        g_assert_cmpint(errno, ==, EBADF);
        g_assert_cmpuint(sum_dropped(instance), ==, full);
}

/* With overwrite off what finds the ring full is dropped and counted. */
static void test_dropped(Instance *instance) {
        CpuStatistics s;

        g_assert_cmpint(instance_set_option(instance, "overwrite", false), ==, 0);
        g_assert_cmpint(instance_set_buffer_kb(instance, 8), ==, 0);
        if (fill(instance) < 0) {
                g_test_skip("CPU 0 is not for us");
                return;
        }
        for (int i = 0; i < 2; i++)
                g_assert_cmpint(fill(instance) < 0 ? -1 : 0, ==, 0);
        g_assert_cmpint(instance_read_statistics(instance, 0, &s), ==, 0);
        g_assert_cmpuint(s.dropped, >, 0);
        g_assert_cmpuint(s.overrun, ==, 0);
}

/* After events/enable = 0 and membarrier no record arrives, however busy the traced are. */
static void test_disable_all(Instance *instance) {
        Worker workers[2];

        for (size_t i = 0; i < ELEMENTSOF(workers); i++) {
                worker_start(&workers[i]);
                g_assert_cmpint(instance_add_pid(instance, workers[i].pid), ==, 0);
        }
        for (size_t i = 0; i < ELEMENTSOF(workers); i++)
                worker_spin(&workers[i]);
        for (int i = 0; i < 5; i++) {
                uint64_t before = native_sum_offered(instance);
                native_enable_calls(instance);
                /* Other programs may have all CPUs for some time. */
                for (int k = 0; k < 1000 && native_sum_offered(instance) == before; k++)
                        g_usleep(10 * 1000);
                g_assert_cmpint(instance_disable_all(instance), ==, 0);
                uint64_t sum = native_sum_offered(instance);
                g_assert_cmpuint(sum, >, before);
                g_usleep(20 * 1000);
                g_assert_cmpuint(native_sum_offered(instance), ==, sum);
        }
        for (size_t i = 0; i < ELEMENTSOF(workers); i++)
                worker_stop(&workers[i]);
}

#define GROUP "ktrace_contract"

static bool has_kprobes(const Instance *instance) {
        if (probe_is_supported(instance->tracefs, PROBE_KERNEL))
                return true;
        g_test_skip("this kernel has no kprobes");
        return false;
}

/* A definition that the kernel refuses changes nothing; EILSEQ means that the place is in the
 * middle of an instruction (x86); the rest is in the top-level error_log with our command. */
static void test_probe_refused(Instance *instance) {
        static const struct {
                const char *line, *reported;
        } refused[] = {
#ifdef __x86_64__
                { "p:" GROUP "/x commit_creds+1", "no instruction begins there" },
#else /* all instructions have the same size: the kernel has no need to look */
                { "p:" GROUP "/x commit_creds+1", "Failed to register probe event" },
#endif
                { "p:" GROUP "/x no_such_function_here", "Invalid probed address or symbol" },
                { "p:" GROUP "/x vfs_read a=$retval", "$retval is not available" },
                { "p:" GROUP "/x vfs_read a=+0($arg1):u7", "Unknown type" },
        };

        if (!has_kprobes(instance))
                return;
        for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                _cleanup_free_ char *stands = NULL;
                Reason reason = {};
                size_t column;

                g_assert_cmpint(probe_define(instance->tracefs,
                                                PROBE_KERNEL,
                                                refused[i].line,
                                                &column,
                                                &reason),
                                ==,
                                KT_E_KERNEL_REFUSED);
                if (strstr(refused[i].line, ":u7"))
                        g_assert_cmpstr(refused[i].line + column - 1, ==, "u7");
                if (!strstr(reason.text, refused[i].reported))
                        g_error("%s: %s", refused[i].line, reason.text);
                g_assert_cmpint(probe_read(instance->tracefs, PROBE_KERNEL, GROUP, "x", &stands),
                                ==,
                                0);
                g_assert_null(stands);
        }
}

/* What is written reads back, but for the number behind r; many lines in one write are carried out
 * one by one. */
static void test_probe_reads_back(Instance *instance) {
        static const char *const lines[] = {
                "r:" GROUP "/a vfs_read ret=$retval:s64",
                "p:" GROUP
                "/b vfs_read m=+24(+16($arg1)):b3@5/32 l=+0($arg1):x64[4] c=$comm:string",
                "p:" GROUP "/c commit_creds u=+u8($arg1):u16 t=+0($arg1):ustring s=$arg1:symbol",
        };
        static const char *const names[] = { "a", "b", "c" };
        uint64_t hits = 1, misses = 1;

        if (!has_kprobes(instance))
                return;
        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_free_ char *stands = NULL;
                Reason reason = {};

                if (probe_define(instance->tracefs,
                                    PROBE_KERNEL,
                                    lines[i],
                                    &(size_t){ 0 },
                                    &reason) != 0)
                        g_error("%s: %s", lines[i], reason.text);
                g_assert_cmpint(probe_read(instance->tracefs,
                                                PROBE_KERNEL,
                                                GROUP,
                                                names[i],
                                                &stands),
                                ==,
                                0);
                if (!probe_line_is_same(stands, lines[i]))
                        g_error("%s reads back as %s", lines[i], stands);
                g_assert_false(probe_line_is_same(stands, lines[(i + 1) % ELEMENTSOF(lines)]));
        }
        g_assert_cmpint(probe_read_counts(instance->tracefs, NULL, "b", &hits, &misses), ==, 0);
        g_assert_cmpuint(hits, ==, 0);
        g_assert_cmpint(probe_remove_groups(instance->tracefs,
                                        GROUP,
                                        &(ProbeKeeper){ begins_so, (char *)GROUP "/b" }),
                        ==,
                        0);
        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_free_ char *stands = NULL;

                g_assert_cmpint(probe_read(instance->tracefs,
                                                PROBE_KERNEL,
                                                GROUP,
                                                names[i],
                                                &stands),
                                ==,
                                0);
                g_assert_true((stands != NULL) == (names[i][0] == 'b'));
        }
        g_assert_cmpint(probe_remove(instance->tracefs, PROBE_KERNEL, GROUP, "b"), ==, 0);
}

/* No file has the hits and misses of an fprobe: compile.c makes kprobes for this reason. */
static void test_fprobe_counts(Instance *instance) {
        uint64_t hits, misses;

        if (!has_kprobes(instance))
                return;
        if (probe_add(instance->tracefs, PROBE_EVENT, "f:" GROUP "/f vfs_read") != 0) {
                g_test_message("this kernel has no fprobes");
                return;
        }
        if (probe_read_counts(instance->tracefs, NULL, "f", &hits, &misses) != -ENOENT ||
                        faccessat(instance->tracefs->fd, "fprobe_profile", F_OK, 0) == 0)
                g_test_message("new: the kernel counts the hits of fprobes");
        g_assert_cmpint(probe_remove(instance->tracefs, PROBE_EVENT, GROUP, "f"), ==, 0);
}

/* Adds and removes a probe until it is killed, or until the test fails. */
static pid_t start_changing(const Tracefs *tracefs) {
        pid_t pid = fork();

        g_assert_cmpint(pid, >=, 0);
        if (pid == 0)
                prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (pid == 0) {
                (void)probe_add(tracefs, PROBE_USER, "p:" GROUP "/coming /bin/sh:0x1000");
                (void)probe_remove(tracefs, PROBE_USER, GROUP, "coming");
        }
        return pid;
}

static void stop_changing(const Tracefs *tracefs, pid_t pid) {
        kill(pid, SIGKILL);
        g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
        (void)probe_remove(tracefs, PROBE_USER, GROUP, "coming");
}

/* The list has every other event while a probe comes and goes. One text of the kernel does not. */
static void test_changing_events(Instance *instance) {
        _cleanup_(event_list_free_cleanup) EventList *before = NULL;
        unsigned n_seen = 0;

        g_assert_cmpint(event_list_load(instance->tracefs, NULL, &before), ==, 0);
        pid_t pid = start_changing(instance->tracefs);
        for (int i = 0; i < 50 || n_seen == 0; i++) {
                _cleanup_(event_list_free_cleanup) EventList *list = NULL;

                g_assert_cmpint(event_list_load(instance->tracefs, before, &list), ==, 0);
                for (size_t j = 0; j < before->n_names; j++)
                        if (!g_str_has_prefix(before->names[j], "ktrace") &&
                                        !event_list_has(list, before->names[j]))
                                g_error("%s is missing", before->names[j]);
                n_seen += event_list_has(list, GROUP ":coming");
        }
        stop_changing(instance->tracefs, pid);
}

/* A list of more than a page has every line that stays while probes before it go away. */
static void test_shrinking_list(Instance *instance) {
        enum { N_GOING = 100, N_STAYING = 100 };

        bool is_gone = false;

        for (unsigned i = 0; i < N_GOING + N_STAYING; i++) {
                g_autofree char *line = g_strdup_printf("p:" GROUP "/%s%u /bin/sh:0x%x",
                                i < N_GOING ? "goes" : "stays",
                                i,
                                i);

                g_assert_cmpint(probe_add(instance->tracefs, PROBE_USER, line), ==, 0);
        }
        pid_t pid = fork();
        g_assert_cmpint(pid, >=, 0);
        for (unsigned i = 0; pid == 0 && i < N_GOING; i++) {
                g_autofree char *name = g_strdup_printf("goes%u", i);

                if (probe_remove(instance->tracefs, PROBE_USER, GROUP, name) != 0)
                        _exit(1);
        }
        if (pid == 0)
                _exit(0);
        while (!is_gone) {
                _cleanup_free_ char *text = NULL;
                int status;

                is_gone = waitpid(pid, &status, WNOHANG) == pid;
                g_assert_true(!is_gone || status == 0);
                g_assert_cmpint(probe_read_list(instance->tracefs, PROBE_USER, &text), ==, 0);
                g_auto(GStrv) parts = g_strsplit(text, ":" GROUP "/stays", -1);
                g_assert_cmpuint(g_strv_length(parts), ==, N_STAYING + 1);
        }
        g_assert_cmpint(probe_remove_groups(instance->tracefs, GROUP, &(ProbeKeeper){ keeps_none }),
                        ==,
                        0);
}

/* Selects the function behind sync(), which has another name on some machines. */
static const char *set_function(const Instance *instance) {
        static const char *const names[] = {
                "__x64_sys_sync\n", "__arm64_sys_sync\n", "ksys_sync\n"
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (tracefs_write_truncate(instance->fd, "set_ftrace_filter", names[i]) == 0)
                        return names[i];
        return NULL;
}

static bool is_patched(const Instance *instance) {
        _cleanup_free_ char *text = NULL;

        g_assert_cmpint(tracefs_read(instance->tracefs->fd, "enabled_functions", &text, NULL),
                        ==,
                        0);
        return strstr(text, "sys_sync") != NULL;
}

static bool has_tracer(const Instance *instance, const char *name) {
        _cleanup_free_ char *text = NULL;

        g_assert_cmpint(tracefs_read(instance->fd, "available_tracers", &text, NULL), ==, 0);
        g_auto(GStrv) known = g_strsplit_set(text, " \n", -1);
        return g_strv_contains((const char *const *)known, name);
}

/* The list set_ftrace_notrace stops the function tracer of an instance, and continues it. */
static void test_notrace(Instance *instance) {
        const char *function = has_tracer(instance, "function") ? set_function(instance) : NULL;

        if (!function) {
                g_test_skip("instances have no tracer of functions");
                return;
        }
        for (size_t i = 0; i < 2; i++) {
                g_assert_cmpint(tracefs_write_truncate(
                                                instance->fd, "set_ftrace_notrace", function),
                                ==,
                                0);
                if (i == 0)
                        g_assert_cmpint(tracefs_write(instance->fd, "current_tracer", "function"),
                                        ==,
                                        0);
                g_assert_false(is_patched(instance));
                g_assert_cmpint(tracefs_write_truncate(instance->fd, "set_ftrace_notrace", "\n"),
                                ==,
                                0);
                g_assert_true(is_patched(instance));
        }
}

/* With an empty set_ftrace_notrace, function_graph of an instance patches the functions of its
 * filter. */
static void test_graph(Instance *instance) {
        const char *function =
                        has_tracer(instance, "function_graph") ? set_function(instance) : NULL;

        if (!function) {
                g_test_skip("instances have no function_graph");
                return;
        }
        g_assert_cmpint(tracefs_write(instance->fd, "current_tracer", "function_graph"), ==, 0);
        g_assert_true(is_patched(instance));
        g_assert_cmpint(tracefs_write_truncate(instance->fd, "set_ftrace_notrace", function),
                        ==,
                        0);
        if (!is_patched(instance))
                g_test_message("new: set_ftrace_notrace stops function_graph");
}

/* Not a failure: what no kernel up to 6.18 has in tracefs. On a newer kernel, read about it first.
 */
static void test_news(Instance *instance) {
        static const char known[] =
                        " README available_events available_filter_functions "
                        "available_filter_functions_addrs available_tracers buffer_percent "
                        "buffer_size_kb buffer_subbuf_size_kb buffer_total_size_kb "
                        "current_tracer dyn_ftrace_total_info dynamic_events enabled_functions "
                        "error_log events free_buffer function_profile_enabled hwlat_detector "
                        "instances kprobe_events kprobe_profile max_graph_depth options osnoise "
                        "per_cpu printk_formats rv saved_cmdlines saved_cmdlines_size "
                        "saved_tgids set_event set_event_notrace_pid set_event_pid "
                        "set_ftrace_filter set_ftrace_notrace set_ftrace_notrace_pid "
                        "set_ftrace_pid set_graph_function set_graph_notrace snapshot "
                        "stack_max_size stack_trace stack_trace_filter synthetic_events "
                        "timestamp_mode touched_functions trace trace_clock trace_marker "
                        "trace_marker_raw trace_options trace_pipe trace_stat tracing_cpumask "
                        "tracing_max_latency tracing_on tracing_thresh uprobe_events "
                        "uprobe_profile user_events_data user_events_status ";
        g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", instance->tracefs->fd);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        while ((name = g_dir_read_name(dir))) {
                g_autofree char *word = g_strdup_printf(" %s ", name);

                if (!strstr(known, word))
                        g_test_message("new: %s in tracefs", name);
        }
}

static void add_tests(void) {
        native_add_test("/contract/new-instance", test_new_instance);
        native_add_test("/contract/filter/refused-is-open", test_refused_filter_is_open);
        native_add_test("/contract/filter/refused-is-kept", test_refused_filter_is_kept_as_text);
        native_add_test("/contract/filter/open-parenthesis", test_open_parenthesis);
        native_add_test("/contract/filter/length", test_filter_length);
        native_add_test("/contract/filter/context", test_context_filter);
        native_add_test("/contract/filter/shipped-events", test_shipped_events);
        native_add_test("/contract/names", test_names);
        native_add_test("/contract/pids/append", test_pids_append);
        native_add_test("/contract/pids/empty-list", test_empty_list);
        native_add_test("/contract/pids/sentinel", test_sentinel);
        native_add_test("/contract/pids/dead", test_dead_pid);
        native_add_test("/contract/pids/event-fork", test_event_fork);
        native_add_test("/contract/held-files", test_held_files);
        native_add_test("/contract/ring/raw-read", test_raw_read);
        native_add_test("/contract/ring/raw-read-after-close", test_raw_read_after_close);
        native_add_test("/contract/ring/stats", test_stats);
        native_add_test("/contract/ring/dropped", test_dropped);
        native_add_test("/contract/ring/refused-mark", test_refused_mark);
        native_add_test("/contract/disable-all", test_disable_all);
        native_add_test("/contract/probe/refused", test_probe_refused);
        native_add_test("/contract/probe/reads-back", test_probe_reads_back);
        native_add_test("/contract/probe/fprobe-counts", test_fprobe_counts);
        native_add_test("/contract/events/changing", test_changing_events);
        native_add_test("/contract/events/shrinking-list", test_shrinking_list);
        native_add_test("/contract/tracer/notrace", test_notrace);
        native_add_test("/contract/tracer/graph", test_graph);
        native_add_test("/contract/poll-edges", test_poll_edges);
        native_add_test("/contract/news", test_news);
}

int main(int argc, char **argv) {
        return native_main(argc, argv, add_tests);
}
