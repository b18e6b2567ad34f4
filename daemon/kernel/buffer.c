/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Resizes, swaps and clears the ring buffer of an instance, and waits until its writers have
 * finished. Called by session and by instance.c.
 *
 * It relies on these behaviours of the kernel:
 * - a task that writes buffer_size_kb is the first victim of the OOM killer while the kernel
 *   allocates (set_current_oom_origin), so a child process with no other work does the write;
 * - per_cpu/ has a directory for every possible CPU, also for one that is off;
 * - buffer_size_kb changes only the ring, and keeps the records that fit the new size. The next
 *   write of 1 to snapshot gives the second buffer the same size, in the memory of the writer.
 *   Since 6.1.69 events are neither recorded nor counted as lost while the size changes;
 * - writing 1 to snapshot allocates the second buffer if it does not exist, then swaps the two with
 *   their counters, and leaves tracing_on unchanged; writing 2 clears the second buffer; the file
 *   does not exist without CONFIG_TRACER_SNAPSHOT;
 * - opening trace with O_TRUNC clears the ring; the kernel itself waits for writers.
 *
 * It does not read records: the consumer does. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"
#include "kernel/buffer.h"
#include "kernel/statistics-total.h"

/* A handler runs with preemption off, so it takes microseconds; a virtual CPU that its host
 * descheduled may pause for some milliseconds. Four checks without a change are 20 ms of
 * silence. */
#define QUIET_STEP_NSEC (5 * 1000 * 1000)
#define QUIET_LOOKS     4
#define QUIET_STEPS_MAX 400

/* In this child the other threads do not exist but their locks do: use only system calls. */
static _Noreturn void write_and_exit(int fd, const char *text, size_t size, unsigned n_times) {
        int status = 0;

        for (unsigned i = 0; i < n_times && status == 0; i++) {
                long n;
                do
                        n = syscall(SYS_write, fd, text, size);
                while (n < 0 && errno == EINTR);
                status = n < 0 ? errno : (size_t)n == size ? 0 : EIO;
        }
        for (;;)
                syscall(SYS_exit_group, status);
}

static int wait_for_child(pid_t pid) {
        siginfo_t info;

        while (waitid(P_PID, (id_t)pid, &info, WEXITED | __WALL) < 0)
                if (errno != EINTR)
                        return -errno;
        if (info.si_code == CLD_EXITED)
                return -info.si_status;
        /* SIGKILL comes from the kernel's OOM killer, unless another process kills our children. */
        return info.si_status == SIGKILL ? -ENOMEM : -ECHILD;
}

static int write_in_child(const Instance *instance,
                const char *file,
                const char *text,
                unsigned n_times) {
        _cleanup_close_ int fd = openat(instance->fd, file, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;

        /* The child has its own memory, to be the OOM killer's victim, but shares our table of fds:
         * copied fds would keep instances and sockets of other sessions open, and closing them
         * would mark every trace_pipe_raw as closed. It has no exit signal, so that no other code
         * reaps it. */
        pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, NULL);
        if (pid < 0)
                return -errno;
        if (pid == 0)
                write_and_exit(fd, text, strlen(text), n_times);
        return wait_for_child(pid);
}

int instance_set_buffer_kb(const Instance *instance, uint64_t kb) {
        char text[32];

        snprintf(text, sizeof(text), "%" PRIu64, kb);
        return write_in_child(instance, "buffer_size_kb", text, 1);
}

int instance_allocate_snapshot(const Instance *instance) {
        int r = write_in_child(instance, "snapshot", "1", 1);

        return r == -ENOENT ? -EOPNOTSUPP : r;
}

/* The first swap resizes the second buffer, the second swap puts both buffers back. */
int instance_resize_snapshot(const Instance *instance) {
        int r = write_in_child(instance, "snapshot", "1", 2);

        return r ?: instance_clear_snapshot(instance);
}

int instance_swap(const Instance *instance) {
        return tracefs_write(instance->fd, "snapshot", "1");
}

int instance_clear_snapshot(const Instance *instance) {
        return tracefs_write(instance->fd, "snapshot", "2");
}

int instance_set_subbuf_kb(const Instance *instance, uint64_t kb) {
        char text[32];

        snprintf(text, sizeof(text), "%" PRIu64, kb);
        int r = tracefs_write(instance->fd, "buffer_subbuf_size_kb", text);
        return r == -ENOENT ? -EOPNOTSUPP : r;
}

int instance_get_subbuf_size(const Instance *instance, size_t *ret) {
        uint64_t kb;

        int r = tracefs_read_u64(instance->fd, "buffer_subbuf_size_kb", &kb);
        if (r == 0)
                *ret = kb * 1024;
        else if (r == -ENOENT) {
                *ret = (size_t)sysconf(_SC_PAGESIZE); /* before 6.8 it is always a page */
                r = 0;
        }
        return r;
}

int instance_n_cpus(const Instance *instance, unsigned *ret) {
        _cleanup_(fd_close_directory_cleanup) DIR *dir = NULL;
        unsigned n = 0;

        int r = fd_open_directory(instance->fd, "per_cpu", &dir);
        if (r < 0)
                return r;
        for (struct dirent *entry; (entry = readdir(dir));) {
                unsigned cpu;
                if (sscanf(entry->d_name, "cpu%u", &cpu) == 1)
                        n = MAX_OF(n, cpu + 1);
        }
        if (n == 0)
                return -ENXIO;
        *ret = n;
        return 0;
}

int instance_clear(const Instance *instance) {
        _cleanup_close_ int fd = openat(instance->fd, "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);
        return fd < 0 ? -errno : 0;
}

/* All records ever offered to the ring. Reading moves records between two counters, so a consumer
 * does not change the sum. */
static int buffer_count_offered(const Instance *instance, unsigned n_cpus, uint64_t *ret) {
        CpuStatistics total;

        int r = statistics_total_read(instance, n_cpus, &total);
        if (r < 0)
                return r;
        *ret = total.entries + total.overrun + total.dropped + total.read;
        return 0;
}

int buffer_wait_quiet(const Instance *instance) {
        unsigned n_cpus, n_same = 0;
        uint64_t before = 0;

        int r = instance_n_cpus(instance, &n_cpus);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < QUIET_STEPS_MAX; i++) {
                uint64_t now;
                r = buffer_count_offered(instance, n_cpus, &now);
                if (r < 0)
                        return r;
                n_same = i > 0 && now == before ? n_same + 1 : 0;
                if (n_same == QUIET_LOOKS)
                        return 0;
                before = now;
                (void)nanosleep(&(struct timespec){ .tv_nsec = QUIET_STEP_NSEC }, NULL);
        }
        return -ETIMEDOUT;
}
