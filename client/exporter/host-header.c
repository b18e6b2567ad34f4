/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Judges the header Host of a request, against web sites that read a port of this machine by the
 * browser of a user (DNS rebinding). Called by the HTTP server for each request.
 *
 * A site can let its own name resolve to 127.0.0.1. Its pages then have the same origin as the
 * port, and may read the answers. But the browser sends the name of the site as Host. So on a
 * loopback address, Host must be localhost or an IP address, which no site can make its own. Other
 * addresses have real names, by which monitoring systems ask. `ktracectl view` has a stricter rule
 * in page-server.c: it knows its only address and port. */

#include "exporter/host-header.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

static bool host_header_is_loopback(const struct sockaddr *own) {
        if (own->sa_family == AF_INET) {
                const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)own;

                return ntohl(ipv4->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
        }
        if (own->sa_family == AF_INET6) {
                const struct in6_addr *ipv6 = &((const struct sockaddr_in6 *)own)->sin6_addr;

                return IN6_IS_ADDR_LOOPBACK(ipv6) ||
                       (IN6_IS_ADDR_V4MAPPED(ipv6) && ipv6->s6_addr[12] == IN_LOOPBACKNET);
        }
        return false;
}

/* "127.0.0.1", "[::1]" or "localhost", with a port or without. */
static bool host_header_is_local(const char *host) {
        bool is_ipv6 = *host == '[';
        char name[INET6_ADDRSTRLEN];
        struct in6_addr address;

        host += is_ipv6;
        size_t n = strcspn(host, is_ipv6 ? "]" : ":");
        const char *port = host + n;
        if (n >= sizeof(name) || (is_ipv6 && *port++ != ']'))
                return false;
        if (*port == ':')
                port += 1 + strspn(port + 1, "0123456789");
        memcpy(name, host, n);
        name[n] = '\0';
        return *port == '\0' && (inet_pton(is_ipv6 ? AF_INET6 : AF_INET, name, &address) == 1 ||
                                                (!is_ipv6 && strcasecmp(name, "localhost") == 0));
}

bool host_header_is_allowed(const char *host, const struct sockaddr *own) {
        return !host || !host_header_is_loopback(own) || host_header_is_local(host);
}
