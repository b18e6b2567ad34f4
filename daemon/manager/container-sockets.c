/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sockets that administrators have made for single containers: units of the template
 * ktraced-container@.socket. systemd passes them with the names "container-NAME". Called by the
 * manager: the descriptors are taken when it takes its own socket, because the registry closes all
 * that it does not know; the door is there later. */
#include "manager/container-sockets.h"

#include "base/log.h"
#include "interfaces/names.h"

void container_sockets_clear(ContainerSockets *sockets) {
        while (sockets->n > 0)
                close_cleanup(&sockets->fds[--sockets->n]);
}

void container_sockets_take(ContainerSockets *sockets, FdStore *store) {
        const char *name;
        int fd;

        while ((fd = fd_store_take_next(store, KT_CONTAINER_SOCKET, &name)) >= 0) {
                if (sockets->n == CONTAINERS_MAX) {
                        log_warning("container %s: more than %d sockets of containers, this one is "
                                    "closed",
                                        name,
                                        CONTAINERS_MAX);
                        close_cleanup(&fd);
                        continue;
                }
                sockets->names[sockets->n] = name;
                sockets->fds[sockets->n++] = fd;
        }
}

/* Consumes fd. */
static int container_sockets_open_one(const char *name,
                int fd,
                Auth *auth,
                const char *config_dir,
                VarlinkDoor *door) {
        _cleanup_close_ int owned = fd;
        uid_t container = 0;

        int r = auth_add_container(auth, config_dir, name, &container);
        return r ?: varlink_door_open_container(door, TAKE_FD(owned), container);
}

void container_sockets_open(ContainerSockets *sockets,
                Auth *auth,
                const char *config_dir,
                VarlinkDoor *door) {
        for (size_t i = 0; i < sockets->n; i++) {
                int r = container_sockets_open_one(sockets->names[i],
                                TAKE_FD(sockets->fds[i]),
                                auth,
                                config_dir,
                                door);
                if (r < 0)
                        log_errno(r,
                                        LOG_WARNING,
                                        NULL,
                                        "container %s: cannot listen on its socket",
                                        sockets->names[i]);
        }
        sockets->n = 0;
}
