/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A role of ktrace-consumer: it copies files of the spool, one after the other, into a pipe of the
 * daemon's. So no other program ever holds such a file, and a removed file is freed when this
 * process ends. It has one file at a time, and ends when its reader has taken nothing for two
 * minutes.
 *
 * Of a stream only whole frames are copied: a file may be written to at this moment or may have
 * been cut by a crash, and the reader must find the file that follows it. */

#include "consumer/spool-reader.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "consumer/order.h"
#include "consumer/sandbox.h"
#include "interfaces/control.h"
#include "interfaces/frame.h"

#define CHUNK_BYTES   ((size_t)256 * 1024)
#define PATIENCE_MSEC (120 * 1000)

/* Finds the end of the last whole frame; 0 when the file has no whole frame. */
static int spool_reader_find_end(int fd, uint64_t size, uint64_t *ret) {
        uint8_t head[sizeof(StreamHeader)], frame[sizeof(FrameHeader)];
        uint64_t at = sizeof(head);
        FrameHeader header;
        Reason reason = {};

        *ret = 0;
        ssize_t n = pread(fd, head, sizeof(head), 0);
        if (n != sizeof(head) || stream_header_decode(head, sizeof(head), &reason) != 0)
                return n < 0 ? -errno : 0;
        while (size - at >= sizeof(frame)) {
                n = pread(fd, frame, sizeof(frame), (off_t)at);
                if (n != sizeof(frame) || frame_header_decode(frame, &header, &reason) != 0)
                        return n < 0 ? -errno : 0;
                at += sizeof(frame);
                if (header.size > size - at)
                        break;
                at += header.size;
                *ret = at;
        }
        return 0;
}

/* Returns true when the daemon has ended, which closes its end of the socket. */
static bool has_ended(int control_fd) {
        struct pollfd look = { .fd = control_fd };

        return poll(&look, 1, 0) > 0 && (look.revents & POLLHUP);
}

/* The write end of the pipe is O_NONBLOCK. When the daemon only shuts down its sending side, the
 * recording is being removed, and this process must end. A daemon that has ended does not mean
 * that. */
static int write_all(int control_fd, int fd, const uint8_t *data, size_t size) {
        while (size > 0) {
                struct pollfd wait[] = {
                        { .fd = fd, .events = POLLOUT },
                        { .fd = control_fd, .events = POLLRDHUP },
                };
                ssize_t n = write(fd, data, size);

                if (n > 0) {
                        data += n;
                        size -= (size_t)n;
                        continue;
                }
                if (n < 0 && errno != EAGAIN && errno != EINTR)
                        return -errno;
                /* A daemon that has ended is not waited for: its socket would report that again and
                 * again. */
                nfds_t n_wait = has_ended(control_fd) ? 1 : ELEMENTSOF(wait);
                int r = poll(wait, n_wait, PATIENCE_MSEC);
                if (r == 0)
                        return -ETIMEDOUT;
                if (wait[1].revents == POLLRDHUP)
                        return -ESTALE;
        }
        return 0;
}

/* Returns the number of bytes that the file gave, or -errno. */
static int64_t spool_reader_copy(int control_fd, int from, int to, bool is_raw, uint8_t *buffer) {
        struct stat status;
        uint64_t at = 0;

        int r = fd_stat(from, &status);
        if (r < 0)
                return r;
        uint64_t end = (uint64_t)status.st_size;
        r = is_raw ? 0 : spool_reader_find_end(from, end, &end);
        if (r < 0)
                return r;
        while (at < end) {
                ssize_t n = pread(from, buffer, MIN_OF(CHUNK_BYTES, end - at), (off_t)at);

                if (n < 0)
                        return -errno;
                if (n == 0)
                        break; /* the file has become shorter */
                r = write_all(control_fd, to, buffer, (size_t)n);
                if (r < 0)
                        return r;
                at += (uint64_t)n;
        }
        return (int64_t)at;
}

/* Copies the next file. Fails with -ECANCELED when no file follows. */
static int pass_next(int control_fd, int pipe_fd, uint8_t *buffer) {
        ControlMessage message, done = { .type = CONTROL_SPOOLED };
        int fd = -1;

        int r = order_take(control_fd, CONTROL_SPOOL_FILE, &message, &fd, 1);
        _cleanup_close_ int from = fd;
        if (r < 0)
                return r;
        int64_t n = spool_reader_copy(control_fd, from, pipe_fd, message.spool_file.is_raw, buffer);
        if (n < 0)
                return (int)n;
        done.spooled.bytes = (uint64_t)n;
        (void)order_answer(control_fd, &done); /* the daemon may be gone */
        return 0;
}

void spool_reader_run(int control_fd) {
        ControlMessage message;
        int pipe_fd = -1;

        /* No stream waits for this process, so it gives up the raised priority. */
        (void)setpriority(PRIO_PROCESS, 0, 0);
        int r = order_take(control_fd, CONTROL_SPOOL_READ, &message, &pipe_fd, 1);
        _cleanup_close_ int to = pipe_fd;
        _cleanup_free_ uint8_t *buffer = malloc(CHUNK_BYTES);
        r = r ?: buffer ? 0 : -ENOMEM;
        r = r ?: sandbox_close(SANDBOX_SPOOL_READER);
        if (r == 0)
                order_report(control_fd, CONTROL_READY, 0, "");
        while (r == 0)
                r = pass_next(control_fd, to, buffer);
        if (r != -ECANCELED)
                order_report(control_fd, CONTROL_GONE, -r, strerror(-r));
}
