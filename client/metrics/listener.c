/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes the sockets of the options --listen and --report. Called by main.c where systemd passes no
 * sockets, as in tests. Names of hosts are refused: their resolution may change which interface is
 * open to the network. */

#include "metrics/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define LISTENER_BACKLOG 128

typedef struct ListenerAddress {
        union {
                struct sockaddr any;
                struct sockaddr_in ipv4;
                struct sockaddr_in6 ipv6;
                struct sockaddr_un path;
        };

        socklen_t size;
} ListenerAddress;

static int listener_refuse(const char *address, Reason *reason) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: expected an address such as 127.0.0.1:9466 or [::1]:9466, or an "
                        "absolute path of at most %zu bytes",
                        address,
                        sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
}

static bool listener_parse_port(const char *text, in_port_t *ret) {
        char *end;

        if (*text < '0' || *text > '9')
                return false;
        unsigned long port = strtoul(text, &end, 10);
        if (*end || port > UINT16_MAX)
                return false;
        *ret = htons((in_port_t)port);
        return true;
}

static bool listener_parse(const char *text, ListenerAddress *ret) {
        const char *colon = strrchr(text, ':');
        char host[INET6_ADDRSTRLEN + 2];
        size_t n = colon ? (size_t)(colon - text) : 0;

        *ret = (ListenerAddress){};
        if (text[0] == '/') {
                if (strlen(text) >= sizeof(ret->path.sun_path))
                        return false;
                ret->path.sun_family = AF_UNIX;
                memcpy(ret->path.sun_path, text, strlen(text));
                ret->size = sizeof(ret->path);
                return true;
        }
        if (n == 0 || n >= sizeof(host))
                return false;
        memcpy(host, text, n);
        host[n] = '\0';
        if (host[0] == '[' && host[n - 1] == ']') {
                host[n - 1] = '\0';
                ret->ipv6.sin6_family = AF_INET6;
                ret->size = sizeof(ret->ipv6);
                return inet_pton(AF_INET6, host + 1, &ret->ipv6.sin6_addr) == 1 &&
                       listener_parse_port(colon + 1, &ret->ipv6.sin6_port);
        }
        ret->ipv4.sin_family = AF_INET;
        ret->size = sizeof(ret->ipv4);
        return inet_pton(AF_INET, host, &ret->ipv4.sin_addr) == 1 &&
               listener_parse_port(colon + 1, &ret->ipv4.sin_port);
}

/* A socket that an earlier process has left refuses connections. Another file stays, and so does a
 * socket that is in use: then bind() fails. */
static void listener_remove_unused(const ListenerAddress *address) {
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd >= 0 && connect(fd, &address->any, address->size) < 0 && errno == ECONNREFUSED)
                (void)unlink(address->path.sun_path);
}

static int listener_bind(const ListenerAddress *address, mode_t mode, int *ret) {
        _cleanup_close_ int fd = socket(
                        address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        const int on = 1;

        if (fd < 0)
                return -errno;
        if (address->any.sa_family == AF_UNIX)
                listener_remove_unused(address);
        else if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
                return -errno;
        if (address->any.sa_family == AF_INET6 &&
                        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
                return -errno;
        if (bind(fd, &address->any, address->size) < 0)
                return -errno;
        /* No client can connect before listen(). */
        if (address->any.sa_family == AF_UNIX && chmod(address->path.sun_path, mode) < 0)
                return -errno;
        if (listen(fd, LISTENER_BACKLOG) < 0)
                return -errno;
        *ret = TAKE_FD(fd);
        return 0;
}

int listener_open(const char *address, mode_t mode, int *ret, Reason *reason) {
        ListenerAddress parsed;

        if (!listener_parse(address, &parsed))
                return listener_refuse(address, reason);
        int r = listener_bind(&parsed, mode, ret);
        if (r < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "cannot listen on %s: %s",
                                address,
                                strerror(-r));
        return 0;
}
