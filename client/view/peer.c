/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds out which user a connection over the loopback device comes from. Called by page-server.c
 * for each connection. A socket of another user must not read the recording, and a secret in the
 * address would be visible to every user in the browser's command line.
 *
 * The kernel lists all TCP sockets in /proc/net/tcp and tcp6, with the user who made each
 * (Documentation/networking/proc_net_tcp.rst). The client's socket is the one whose local address
 * is the peer of our connection, and whose remote address is ours. A socket that its owner has
 * closed has no inode, and the kernel lists it as root's. Such a client is not known. */

#include "view/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "interfaces/cleanup.h"

/* tcp6 lists connections over IPv4 as ::ffff:127.0.0.1. */
#define MAPPED_PREFIX "0000000000000000FFFF0000"

/* text: an address of the list. The kernel prints the bytes of an address, which are in the order
 * of the network, as a number of this machine. */
static bool is_address(const char *text, in_addr_t address) {
        char expected[9];

        (void)snprintf(expected, sizeof(expected), "%08X", address);
        if (strncmp(text, MAPPED_PREFIX, strlen(MAPPED_PREFIX)) == 0)
                text += strlen(MAPPED_PREFIX);
        return strcmp(text, expected) == 0;
}

int peer_find_uid_in(FILE *list, const struct sockaddr_in *peer, uint16_t port, uid_t *ret) {
        char line[512];

        while (fgets(line, sizeof(line), list)) {
                char local[33], remote[33];
                unsigned local_port, remote_port, uid;
                unsigned long inode;

                /* sl local remote state queues timer retransmits uid timeout inode */
                if (sscanf(line,
                                    " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %u "
                                    "%*u %lu",
                                    local,
                                    &local_port,
                                    remote,
                                    &remote_port,
                                    &uid,
                                    &inode) != 6)
                        continue;
                if (!is_address(local, peer->sin_addr.s_addr) ||
                                local_port != ntohs(peer->sin_port) ||
                                !is_address(remote, htonl(INADDR_LOOPBACK)) || remote_port != port)
                        continue;
                if (inode == 0)
                        continue;
                *ret = uid;
                return 0;
        }
        return ferror(list) ? -EIO : -ENOENT;
}

int peer_find_uid(const struct sockaddr_in *peer, uint16_t port, uid_t *ret) {
        static const char *const paths[] = { "/proc/net/tcp", "/proc/net/tcp6" };
        int r = -ENOENT;

        for (size_t i = 0; r == -ENOENT && i < ELEMENTSOF(paths); i++) {
                _cleanup_fclose_ FILE *list = fopen(paths[i], "re");

                r = list ? peer_find_uid_in(list, peer, port, ret) : -errno;
        }
        return r;
}
