/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the addresses of sockets that users write: an IP address with a port, or a path. Called for
 * the options of ktrace-metrics and of ktracectl metrics. Names of hosts are refused: their
 * resolution may change which interface is open to the network, and who is asked. */

#include "interfaces/socket-address.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool socket_address_parse_port(const char *text, in_port_t *ret) {
        char *end;

        if (*text < '0' || *text > '9')
                return false;
        unsigned long port = strtoul(text, &end, 10);
        if (*end || port > UINT16_MAX)
                return false;
        *ret = htons((in_port_t)port);
        return true;
}

static bool socket_address_parse_path(const char *text, SocketAddress *ret) {
        if (strlen(text) >= sizeof(ret->path.sun_path))
                return false;
        ret->path.sun_family = AF_UNIX;
        memcpy(ret->path.sun_path, text, strlen(text));
        ret->size = sizeof(ret->path);
        return true;
}

/* host: without the brackets of IPv6. */
static bool socket_address_parse_host(const char *host,
                const char *port,
                bool is_ipv6,
                SocketAddress *ret) {
        if (is_ipv6) {
                ret->ipv6.sin6_family = AF_INET6;
                ret->size = sizeof(ret->ipv6);
                return inet_pton(AF_INET6, host, &ret->ipv6.sin6_addr) == 1 &&
                       socket_address_parse_port(port, &ret->ipv6.sin6_port);
        }
        ret->ipv4.sin_family = AF_INET;
        ret->size = sizeof(ret->ipv4);
        return inet_pton(AF_INET, host, &ret->ipv4.sin_addr) == 1 &&
               socket_address_parse_port(port, &ret->ipv4.sin_port);
}

bool socket_address_parse(const char *text, SocketAddress *ret) {
        const char *colon = strrchr(text, ':');
        char host[INET6_ADDRSTRLEN + 2];
        size_t n = colon ? (size_t)(colon - text) : 0;

        *ret = (SocketAddress){};
        if (text[0] == '/')
                return socket_address_parse_path(text, ret);
        if (n == 0 || n >= sizeof(host))
                return false;
        bool is_ipv6 = text[0] == '[' && colon[-1] == ']';
        memcpy(host, text + is_ipv6, n);
        host[is_ipv6 ? n - 2 : n] = '\0';
        return socket_address_parse_host(host, colon + 1, is_ipv6, ret);
}
