/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A small HTTP client for the metrics of ktrace-metrics. Called by metrics.c.
 *
 * The other side is not trusted: where the service does not run, any local process may listen on
 * its port. The whole exchange has one time limit and one size limit, only one form of an answer is
 * accepted, and its text must be printable. HTTP/1.0 has no parts and no further answers on a
 * connection, so the answer is what comes until the end. */

#include "verbs/metrics-fetch.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "interfaces/socket-address.h"
#include "interfaces/utf8.h"

#define FETCH_MSEC INT64_C(10000)
/* The service makes at most 16 MiB of text. */
#define ANSWER_MAX ((size_t)17 * 1024 * 1024)
#define READ_SIZE  ((size_t)65536)

typedef struct Fetch {
        const char *address;
        int fd;
        int64_t end_msec; /* CLOCK_MONOTONIC */
        char *data;       /* the answer, with a NUL */
        size_t size, room;
        Reason *reason;
} Fetch;

static int fetch_refuse(const Fetch *fetch, const char *why) {
        return reason_set(fetch->reason,
                        KT_E_FAILED,
                        "%s: this is not ktrace-metrics: %s",
                        fetch->address,
                        why);
}

static int64_t fetch_now(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int fetch_wait(const Fetch *fetch, short events) {
        struct pollfd polled = { .fd = fetch->fd, .events = events };

        for (;;) {
                int64_t left = fetch->end_msec - fetch_now();
                int n = left > 0 ? poll(&polled, 1, (int)left) : 0;

                if (n > 0)
                        return 0;
                if (n == 0)
                        return reason_set(fetch->reason,
                                        KT_E_FAILED,
                                        "%s: no complete answer within ten seconds; the machine may "
                                        "be busy, else 'journalctl -u ktrace-metrics' has the reason",
                                        fetch->address);
                if (errno != EINTR)
                        return -errno;
        }
}

static int fetch_connect(Fetch *fetch) {
        SocketAddress address;
        socklen_t size = sizeof(int);
        int error = 0;

        if (!socket_address_parse(fetch->address, &address))
                return reason_set(fetch->reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected " SOCKET_ADDRESS_FORM,
                                fetch->address);
        fetch->fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fetch->fd < 0)
                return -errno;
        if (connect(fetch->fd, &address.any, address.size) == 0)
                return 0;
        if (errno != EINPROGRESS)
                return -errno;
        int r = fetch_wait(fetch, POLLOUT);
        if (r != 0)
                return r;
        if (getsockopt(fetch->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
                return -errno;
        return -error;
}

/* The request is shorter than any socket's buffer. */
static int fetch_send(const Fetch *fetch, const char *type) {
        char request[256];
        int n = snprintf(request,
                        sizeof(request),
                        "GET /metrics HTTP/1.0\r\nAccept: %s\r\n\r\n",
                        type);

        if (send(fetch->fd, request, (size_t)n, MSG_NOSIGNAL) == n)
                return 0;
        return errno ? -errno : -EIO;
}

static int fetch_make_room(Fetch *fetch) {
        if (fetch->room - fetch->size > READ_SIZE)
                return 0;
        size_t room = fetch->room * 2 + 2 * READ_SIZE;
        char *data = realloc(fetch->data, room);
        if (!data)
                return -ENOMEM;
        fetch->data = data;
        fetch->room = room;
        return 0;
}

static int fetch_receive(Fetch *fetch) {
        for (;;) {
                int r = fetch_make_room(fetch);

                r = r ?: fetch_wait(fetch, POLLIN);
                if (r != 0)
                        return r;
                ssize_t n = recv(fetch->fd, fetch->data + fetch->size, READ_SIZE, 0);
                if (n < 0 && errno != EAGAIN)
                        return -errno;
                if (n == 0)
                        break;
                fetch->size += n > 0 ? (size_t)n : 0;
                if (fetch->size > ANSWER_MAX)
                        return fetch_refuse(fetch, "its answer has more than 17 MiB");
        }
        fetch->data[fetch->size] = '\0';
        return 0;
}

/* head: ends with an empty line. The value ends with its line. */
static const char *fetch_find_header(const char *head, const char *name) {
        size_t n = strlen(name);

        for (const char *line = head; (line = strstr(line, "\r\n"));) {
                line += 2;
                if (strncasecmp(line, name, n) == 0 && line[n] == ':')
                        return line + n + 1 + strspn(line + n + 1, " ");
        }
        return NULL;
}

/* Returns the status, or -1. */
static int fetch_parse_status(const char *head) {
        int status;

        return sscanf(head, "HTTP/1.%*1[01] %3d", &status) == 1 && status >= 100 ? status : -1;
}

static bool fetch_is_printable(const char *text, size_t size) {
        while (size > 0) {
                size_t n = utf8_length(text, size);
                unsigned char first = (unsigned char)*text;

                if (n == 0 || (first < 0x20 && first != '\n') || first == 0x7f ||
                                (first == 0xc2 && (unsigned char)text[1] < 0xa0))
                        return false;
                text += n;
                size -= n;
        }
        return true;
}

/* Leaves only the body. */
static int fetch_check(Fetch *fetch, const char *type) {
        char *body = strstr(fetch->data, "\r\n\r\n");
        int status = body ? fetch_parse_status(fetch->data) : -1;

        if (status < 0)
                return fetch_refuse(fetch, "it does not speak HTTP");
        body += 4;
        size_t size = fetch->size - (size_t)(body - fetch->data);
        body[-2] = '\0'; /* strings of the head end here */
        const char *got = fetch_find_header(fetch->data, "Content-Type");
        const char *length = fetch_find_header(fetch->data, "Content-Length");
        if (!fetch_is_printable(body, size))
                return fetch_refuse(fetch, "its answer is not text");
        if (status != 200)
                return reason_set(fetch->reason,
                                KT_E_FAILED,
                                "%s: HTTP status %d: %.200s",
                                fetch->address,
                                status,
                                body);
        if (!got || strncasecmp(got, type, strcspn(type, ";")) != 0)
                return fetch_refuse(fetch, "its answer has another type");
        if (!length || strtoull(length, NULL, 10) != size)
                return fetch_refuse(fetch, "its answer is cut");
        memmove(fetch->data, body, size + 1);
        fetch->size = size;
        return 0;
}

int metrics_fetch(const char *address,
                const char *type,
                char **ret,
                size_t *ret_size,
                Reason *reason) {
        Fetch fetch = {
                .address = address,
                .fd = -1,
                .end_msec = fetch_now() + FETCH_MSEC,
                .reason = reason,
        };
        int r = fetch_connect(&fetch);

        r = r ?: fetch_send(&fetch, type);
        r = r ?: fetch_receive(&fetch);
        r = r ?: fetch_check(&fetch, type);
        close_cleanup(&fetch.fd);
        if (r != 0) {
                free(fetch.data);
                return r;
        }
        *ret = fetch.data;
        *ret_size = fetch.size;
        return 0;
}
