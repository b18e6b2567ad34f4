/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The window that one snapshot passes to the next: the records that it has read. The consumer
 * writes it into a memfd, which the trace keeps until the next snapshot. If the consumer does not
 * complete it, the trace keeps both windows, and another consumer continues. feed.c calls it in the
 * event loop. */

#include "feed/feed-window.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"

/* A window also contains whole sub-buffers and batch headers for each CPU, and the pids once. */
#define WINDOW_SLACK ((uint64_t)16 * 1024 * 1024)

int feed_window_send(FeedLink *link, Trace *trace) {
        _cleanup_close_ int none = memfd_create("ktrace-window", MFD_CLOEXEC);
        int fd = trace->partial_fd >= 0
                                 ? TAKE_FD(trace->partial_fd)
                                 : memfd_create("ktrace-window", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        int earlier = trace->window_fd;

        if (none >= 0 && fd >= 0)
                feed_link_send_type(link,
                                CONTROL_WINDOW,
                                (int[]){ earlier >= 0 ? earlier : none, fd },
                                2);
        return fd;
}

/* Another process gets this window. The window must not exceed its maximum size, and the seals
 * prevent later changes. A consumer that continues a window reads a ring that is full again. */
static int feed_window_check(const Trace *trace, int fd) {
        uint64_t most = (2 * trace->spec->buffer_kb * 1024 + WINDOW_SLACK) * trace->n_cpus +
                        WINDOW_SLACK;
        struct stat status;

        if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0 ||
                        fstat(fd, &status) < 0)
                return -errno;
        return (uint64_t)status.st_size <= most ? 0 : -EFBIG;
}

void feed_window_keep(Trace *trace, int *fd, bool is_whole) {
        trace->is_taken = false;
        trace->is_dirty = !is_whole;
        trace->n_windows++;
        if (!is_whole) {
                if (trace->partial_fd < 0)
                        trace->partial_fd = TAKE_FD(*fd);
                return;
        }
        feed_window_forget(trace);
        int r = feed_window_check(trace, *fd);
        if (r == 0)
                trace->window_fd = TAKE_FD(*fd);
        else
                log_errno(r,
                                LOG_WARNING,
                                &(LogContext){ trace->id, NULL, trace->owner->uid },
                                "the records of this snapshot cannot be kept for the next one");
}

void feed_window_forget(Trace *trace) {
        close_cleanup(&trace->window_fd);
        close_cleanup(&trace->partial_fd);
}
