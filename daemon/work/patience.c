/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Time limits for processes that may wait for a CPU. A worker that hangs in a client's file sleeps
 * in the kernel. A worker on a loaded machine is runnable and waits for its turn, which can take
 * seconds; this time does not count. Used by feed.c and inspection.c, in the event loop: the owner
 * checks every PATIENCE_LOOK_USEC.
 *
 * It relies on /proc/PID/schedstat: time on a CPU, and time spent runnable without one
 * (Documentation/scheduler/sched-stats.rst). The kernel adds a wait when the wait ends, so for a
 * runnable process only its time on a CPU may be counted. A stopped process counts as a sleeping
 * one. If the kernel has no schedstat, or the process has ended, all time counts.
 *
 * In a virtual machine whose CPUs are taken away, processes compute slowly. So the examination of a
 * sink, which needs almost no CPU time, counts only sleep.
 *
 * The process is identified by its number, which may belong to another process after it has ended.
 * Then the wrong process is measured, until the daemon notices that the worker's socket is
 * closed. */

#include "work/patience.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"

#define NSEC_PER_USEC UINT64_C(1000)
#define NSEC_PER_SEC  UINT64_C(1000000000)
#define FILE_MAX      4096

static uint64_t patience_get_now(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
        return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

int task_times_parse(const char *stat, const char *schedstat, TaskTimes *ret) {
        const char *name_end = strrchr(stat, ')'); /* the name may contain any character */
        TaskTimes times = {};
        char state;

        if (!name_end || sscanf(name_end + 1, " %c", &state) != 1 ||
                        sscanf(schedstat,
                                        "%" SCNu64 " %" SCNu64,
                                        &times.cpu_nsec,
                                        &times.delay_nsec) != 2)
                return -EBADMSG;
        times.is_runnable = state == 'R';
        *ret = times;
        return 0;
}

static int patience_read_text(pid_t pid, const char *name, char **ret) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
        return fd_read_file_at(AT_FDCWD, path, FILE_MAX, ret, NULL);
}

/* If the times are unknown, it returns times that all count. */
static TaskTimes patience_look(const Patience *patience) {
        _cleanup_free_ char *stat = NULL, *schedstat = NULL;
        TaskTimes times;

        int r = patience->pid > 0 ? patience_read_text(patience->pid, "stat", &stat) : -ESRCH;
        r = r ?: patience_read_text(patience->pid, "schedstat", &schedstat);
        r = r ?: task_times_parse(stat, schedstat, &times);
        if (r < 0)
                times = patience->last;
        if (r < 0)
                times.is_runnable = false;
        times.now_nsec = patience_get_now();
        return times;
}

void patience_begin(Patience *patience, PatienceKind kind, pid_t pid, uint64_t limit_usec) {
        *patience = (Patience){
                .kind = kind, .pid = pid, .limit_nsec = limit_usec * NSEC_PER_USEC
        };
        patience->last = patience_look(patience);
        patience->begin_nsec = patience->last.now_nsec;
}

static uint64_t get_rise(uint64_t from, uint64_t to) {
        return to > from ? to - from : 0;
}

void patience_add(Patience *patience, const TaskTimes *now) {
        const TaskTimes *last = &patience->last;
        uint64_t wall = get_rise(last->now_nsec, now->now_nsec),
                 cpu = get_rise(last->cpu_nsec, now->cpu_nsec),
                 delay = get_rise(last->delay_nsec, now->delay_nsec);

        uint64_t work = MIN_OF(wall, cpu), sleep = wall - MIN_OF(wall, cpu + delay);

        if (patience->kind == PATIENCE_WITH_WORK)
                patience->used_nsec += work;
        if (!now->is_runnable)
                patience->used_nsec += sleep;
        patience->last = *now;
}

bool patience_is_over(Patience *patience) {
        const TaskTimes now = patience_look(patience);

        patience_add(patience, &now);
        return patience->used_nsec >= patience->limit_nsec ||
               now.now_nsec - patience->begin_nsec >= PATIENCE_AT_MOST_NSEC;
}
