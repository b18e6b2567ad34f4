/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "base/fd-store.h"
#include "varlink/varlink-door.h"

/* Sockets of containers, until we listen on them. */
typedef struct ContainerSockets {
        int fds[CONTAINERS_MAX];
        const char *names[CONTAINERS_MAX]; /* of the containers; borrowed from the store */
        size_t n;
} ContainerSockets;

void container_sockets_clear(ContainerSockets *sockets);
/* Takes them from the descriptors that the service manager passed. */
void container_sockets_take(ContainerSockets *sockets, FdStore *store);
/* Listens on them. A socket that cannot be used is logged and closed: the host's clients do not
 * depend on it. */
void container_sockets_open(ContainerSockets *sockets,
                Auth *auth,
                const char *config_dir,
                VarlinkDoor *door);
