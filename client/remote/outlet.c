/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes bytes to a descriptor at the speed of its reader, for carrier.c, near.c and far.c. A stuck
 * reader blocks nothing: the bytes wait here, and the owner asks outlet_get_size() and stops its
 * source of bytes. So the memory is limited to OUTLET_FULL and one packet or read.
 *
 * A shared descriptor must not become non-blocking for others. A pipe that reports POLLOUT accepts
 * PIPE_BUF bytes without blocking (pipe(7)). A terminal makes no such promise (n_tty_write), so it
 * is opened again, which another user's terminal may refuse: then a stuck one blocks. Regular files
 * are never pollable (epoll: EPERM). Owns the bytes, and the descriptor if it is not shared. */

#include "remote/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OUTLET_WRITES_PER_TURN 64 /* then other event sources run */

struct Outlet {
        int fd;
        bool is_own, is_pollable;
        bool is_ending, is_closed;
        uint8_t *data;
        size_t start, end, allocated;
        sd_event_source *source;
        OutletHandlers handlers;
        void *userdata;
};

static void outlet_close(Outlet *outlet, int error) {
        outlet->is_closed = true;
        outlet->start = outlet->end = 0;
        outlet->source = sd_event_source_disable_unref(outlet->source);
        if (outlet->is_own && outlet->fd >= 0)
                close(TAKE_FD(outlet->fd));
        outlet->handlers.on_empty(outlet, error, outlet->userdata);
}

/* Returns how many bytes may be written now, 0 when the reader must be awaited. */
static size_t outlet_get_portion(const Outlet *outlet) {
        struct pollfd pollfd = { .fd = outlet->fd, .events = POLLOUT };
        size_t left = outlet->end - outlet->start;

        if (outlet->is_own || !outlet->is_pollable)
                return left;
        return poll(&pollfd, 1, 0) != 0 ? MIN_OF(left, (size_t)PIPE_BUF) : 0;
}

static void outlet_write(Outlet *outlet) {
        size_t written = 0;
        int error = 0;

        for (int turn = 0; turn < OUTLET_WRITES_PER_TURN && outlet->start < outlet->end; turn++) {
                size_t portion = outlet_get_portion(outlet);
                ssize_t n;

                if (portion == 0)
                        break;
                n = write(outlet->fd, outlet->data + outlet->start, portion);
                if (n < 0) {
                        error = errno == EAGAIN || errno == EINTR ? 0 : errno;
                        break;
                }
                outlet->start += (size_t)n;
                written += (size_t)n;
        }
        bool is_empty = outlet->start == outlet->end;
        if (is_empty)
                outlet->start = outlet->end = 0;
        if (outlet->source)
                (void)sd_event_source_set_enabled(
                                outlet->source, is_empty ? SD_EVENT_OFF : SD_EVENT_ON);
        if (written > 0 && outlet->handlers.on_written)
                outlet->handlers.on_written(outlet, written, outlet->userdata);
        if (error != 0)
                outlet_close(outlet, error);
        else if (is_empty && outlet->is_ending)
                outlet_close(outlet, 0);
        else if (is_empty)
                outlet->handlers.on_empty(outlet, 0, outlet->userdata);
}

static int outlet_on_writable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        outlet_write(userdata);
        return 0;
}

/* For a file that is not pollable: a deferred call. */
static int outlet_on_turn(sd_event_source *source, void *userdata) {
        outlet_write(userdata);
        return 0;
}

/* Returns a non-blocking descriptor of the same terminal, or -1. */
static int outlet_reopen_terminal(int fd) {
        char path[32];

        if (!isatty(fd))
                return -1;
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int outlet_new(sd_event *event,
                int fd,
                bool is_own,
                const OutletHandlers *handlers,
                void *userdata,
                Outlet **ret) {
        _cleanup_(outlet_free_cleanup) Outlet *outlet = calloc(1, sizeof(*outlet));
        _cleanup_close_ int terminal_fd = is_own ? -1 : outlet_reopen_terminal(fd);
        int r;

        if (!outlet)
                return -ENOMEM;
        *outlet = (Outlet){ .fd = -1, .handlers = *handlers, .userdata = userdata };
        if (terminal_fd >= 0) {
                fd = terminal_fd;
                is_own = true;
        }
        r = sd_event_add_io(event, &outlet->source, fd, EPOLLOUT, outlet_on_writable, outlet);
        outlet->is_pollable = r != -EPERM;
        if (r == -EPERM)
                r = sd_event_add_defer(event, &outlet->source, outlet_on_turn, outlet);
        if (r >= 0)
                r = sd_event_source_set_enabled(outlet->source, SD_EVENT_OFF);
        if (r >= 0 && is_own && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
                r = -errno;
        if (r < 0)
                return r;
        terminal_fd = -1; /* the outlet owns it */
        outlet->fd = fd;
        outlet->is_own = is_own;
        *ret = TAKE_PTR(outlet);
        return 0;
}

Outlet *outlet_free(Outlet *outlet) {
        if (!outlet)
                return NULL;
        sd_event_source_disable_unref(outlet->source);
        if (outlet->is_own && outlet->fd >= 0)
                close(outlet->fd);
        free(outlet->data);
        free(outlet);
        return NULL;
}

uint8_t *outlet_reserve(Outlet *outlet, size_t size) {
        if (outlet->start > 0 && outlet->end + size > outlet->allocated) {
                memmove(outlet->data, outlet->data + outlet->start, outlet->end - outlet->start);
                outlet->end -= outlet->start;
                outlet->start = 0;
        }
        if (outlet->end + size > outlet->allocated) {
                size_t wanted = (outlet->end + size) * 2;
                uint8_t *grown = realloc(outlet->data, wanted);

                if (!grown)
                        return NULL;
                outlet->data = grown;
                outlet->allocated = wanted;
        }
        return outlet->data + outlet->end;
}

void outlet_commit(Outlet *outlet, size_t size) {
        if (outlet->is_closed || size == 0)
                return;
        int r = sd_event_source_set_enabled(outlet->source, SD_EVENT_ON);
        if (r < 0) /* nothing would ever write it */
                outlet_close(outlet, -r);
        else
                outlet->end += size;
}

int outlet_put(Outlet *outlet, const void *data, size_t size) {
        if (outlet->is_closed)
                return 0;
        uint8_t *room = outlet_reserve(outlet, size);
        if (!room)
                return -ENOMEM;
        memcpy(room, data, size);
        outlet_commit(outlet, size);
        return 0;
}

void outlet_end(Outlet *outlet) {
        if (outlet->is_closed || outlet->is_ending)
                return;
        outlet->is_ending = true;
        if (outlet->start == outlet->end)
                outlet_close(outlet, 0);
}

size_t outlet_get_size(const Outlet *outlet) {
        return outlet->end - outlet->start;
}

bool outlet_is_open(const Outlet *outlet) {
        return !outlet->is_closed && !outlet->is_ending;
}
