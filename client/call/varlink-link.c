/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client's connection to a Varlink service: a stream socket, JSON objects that end with NUL, and
 * descriptors that come with the first byte of their message. Used by proxy-varlink.c and
 * proxy-varlink-signal.c, which interpret the messages. Owns the socket and both buffers.
 *
 * The kernel ends a read from an AF_UNIX stream after the piece that descriptors came with. So when
 * a message is complete, its descriptors are in the queue, before those of the next message.
 * Unexpected descriptors are closed when no message is left that could own them. */

#include "call/varlink-link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#define READ_BYTES ((size_t)64 * 1024)
#define FDS_MAX    8
#define DEPTH_MAX  32

struct VarlinkLink {
        int fd;
        char *in;
        size_t in_room, in_begin, in_end;
        size_t in_seen; /* these bytes contain no NUL */
        char *out;
        size_t out_begin, out_end;
        int fds[FDS_MAX];
        size_t n_fds;
};

static int make_socket(uint64_t timeout_usec) {
        struct timeval timeout = {
                .tv_sec = (time_t)(timeout_usec / 1000000),
                .tv_usec = (suseconds_t)(timeout_usec % 1000000),
        };
        int flags = SOCK_STREAM | SOCK_CLOEXEC | (timeout_usec == 0 ? SOCK_NONBLOCK : 0);
        int fd = socket(AF_UNIX, flags, 0);

        if (fd < 0)
                return -errno;
        /* connect() waits while the service does not accept. */
        if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0) {
                close(fd);
                return -errno;
        }
        return fd;
}

int varlink_link_open(const char *path, uint64_t timeout_usec, VarlinkLink **ret) {
        _cleanup_(varlink_link_free_cleanup) VarlinkLink *link = calloc(1, sizeof(*link));
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (!link)
                return -ENOMEM;
        link->fd = -1;
        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        memcpy(address.sun_path, path, strlen(path));
        link->fd = make_socket(timeout_usec);
        if (link->fd < 0)
                return link->fd;
        while (connect(link->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                if (errno != EINTR)
                        return -errno;
        *ret = TAKE_PTR(link);
        return 0;
}

static void close_fds(VarlinkLink *link) {
        for (size_t i = 0; i < link->n_fds; i++)
                close(link->fds[i]);
        link->n_fds = 0;
}

VarlinkLink *varlink_link_free(VarlinkLink *link) {
        if (!link)
                return NULL;
        close_fds(link);
        if (link->fd >= 0)
                close(link->fd);
        free(link->in);
        free(link->out);
        free(link);
        return NULL;
}

int varlink_link_get_fd(const VarlinkLink *link) {
        return link->fd;
}

bool varlink_link_wants_write(const VarlinkLink *link) {
        return link->out_begin < link->out_end;
}

int varlink_link_send(VarlinkLink *link, json_object *message) {
        const char *text = json_object_to_json_string_ext(message, JSON_C_TO_STRING_PLAIN);
        size_t size = text ? strlen(text) + 1 : 0;

        if (!text)
                return -ENOMEM;
        if (link->out_begin > 0) {
                memmove(link->out, link->out + link->out_begin, link->out_end - link->out_begin);
                link->out_end -= link->out_begin;
                link->out_begin = 0;
        }
        if (link->out_end + size > VARLINK_LINK_MESSAGE_MAX)
                return -EMSGSIZE;
        char *out = realloc(link->out, link->out_end + size);
        if (!out)
                return -ENOMEM;
        memcpy(out + link->out_end, text, size);
        link->out = out;
        link->out_end += size;
        return 0;
}

int varlink_link_flush(VarlinkLink *link) {
        while (varlink_link_wants_write(link)) {
                ssize_t n = send(link->fd,
                                link->out + link->out_begin,
                                link->out_end - link->out_begin,
                                MSG_NOSIGNAL | MSG_DONTWAIT);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return errno == EAGAIN ? 0 : -errno;
                link->out_begin += (size_t)n;
        }
        return 0;
}

/* Makes room for one more read after the buffered data. */
static int varlink_link_make_room(VarlinkLink *link) {
        if (link->in_begin > 0) {
                memmove(link->in, link->in + link->in_begin, link->in_end - link->in_begin);
                link->in_end -= link->in_begin;
                link->in_seen -= link->in_begin;
                link->in_begin = 0;
        }
        if (link->in_end >= VARLINK_LINK_MESSAGE_MAX)
                return -EMSGSIZE;
        if (link->in_room - link->in_end >= READ_BYTES)
                return 0;
        size_t room = MAX_OF(link->in_room * 2, 2 * READ_BYTES);
        char *in = realloc(link->in, room);
        if (!in)
                return -ENOMEM;
        link->in = in;
        link->in_room = room;
        return 0;
}

static int varlink_link_take_fds(VarlinkLink *link, struct msghdr *message) {
        int r = message->msg_flags & MSG_CTRUNC ? -EMFILE : 0;

        for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
                size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                for (size_t i = 0; i < n; i++) {
                        int fd;

                        memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
                        if (link->n_fds < FDS_MAX) {
                                link->fds[link->n_fds++] = fd;
                                continue;
                        }
                        close(fd);
                        r = -EPROTO;
                }
        }
        return r;
}

int varlink_link_fill(VarlinkLink *link) {
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
        } control = {};
        struct msghdr message = {
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        int r = varlink_link_make_room(link);
        ssize_t n;

        if (r < 0)
                return r;
        if (link->in_begin == link->in_end)
                close_fds(link);
        struct iovec iov = { .iov_base = link->in + link->in_end, .iov_len = READ_BYTES };
        message.msg_iov = &iov;
        do
                n = recvmsg(link->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return errno == EAGAIN ? 0 : -errno;
        if (n == 0)
                return -ECONNRESET;
        link->in_end += (size_t)n;
        return varlink_link_take_fds(link, &message);
}

/* Parses one object from a complete text that ends with NUL. */
static int varlink_link_parse(const char *text, size_t size, json_object **ret) {
        json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);

        if (!tokener)
                return -ENOMEM;
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
        _cleanup_json_ json_object *object = json_tokener_parse_ex(tokener, text, (int)size);
        size_t end = json_tokener_get_parse_end(tokener);
        bool is_whole = json_tokener_get_error(tokener) == json_tokener_success &&
                        end + strspn(text + end, " \t\r\n") == size;
        json_tokener_free(tokener);
        if (!is_whole || !json_object_is_type(object, json_type_object))
                return -EBADMSG;
        *ret = TAKE_PTR(object);
        return 1;
}

int varlink_link_next(VarlinkLink *link, json_object **ret) {
        size_t seen = MAX_OF(link->in_seen, link->in_begin);
        char *text = link->in + link->in_begin;
        char *end = seen < link->in_end ? memchr(link->in + seen, '\0', link->in_end - seen) : NULL;

        link->in_seen = link->in_end;
        if (!end)
                return 0;
        link->in_begin = link->in_seen = (size_t)(end + 1 - link->in);
        return varlink_link_parse(text, (size_t)(end - text), ret);
}

int varlink_link_take_fd(VarlinkLink *link) {
        if (link->n_fds == 0)
                return -1;
        int fd = link->fds[0];
        link->n_fds--;
        memmove(link->fds, link->fds + 1, link->n_fds * sizeof(int));
        return fd;
}
