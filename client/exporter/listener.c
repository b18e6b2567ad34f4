/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes the sockets of the options --listen and --report. Called by main.c where systemd passes no
 * sockets, as in tests. */

#include "exporter/listener.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "interfaces/socket-address.h"

#define LISTENER_BACKLOG 128

/* A socket that an earlier process has left refuses connections. A socket that is in use stays, and
 * so does every other file, which would refuse them too: then bind() fails. */
static void listener_remove_unused(const SocketAddress *address) {
        const char *path = address->path.sun_path;
        _cleanup_close_ int fd = -1;
        struct stat status;

        if (lstat(path, &status) < 0 || !S_ISSOCK(status.st_mode))
                return;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && connect(fd, &address->any, address->size) < 0 && errno == ECONNREFUSED)
                (void)unlink(path);
}

static int listener_bind(const SocketAddress *address, mode_t mode, int *ret) {
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
        SocketAddress parsed;

        if (!socket_address_parse(address, &parsed))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected " SOCKET_ADDRESS_FORM,
                                address);
        int r = listener_bind(&parsed, mode, ret);
        if (r < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "cannot listen on %s: %s",
                                address,
                                strerror(-r));
        return 0;
}
