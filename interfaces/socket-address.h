/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

typedef struct SocketAddress {
        union {
                struct sockaddr any;
                struct sockaddr_in ipv4;
                struct sockaddr_in6 ipv6;
                struct sockaddr_un path;
        };

        socklen_t size;
} SocketAddress;

/* For messages: "expected " SOCKET_ADDRESS_FORM. */
#define SOCKET_ADDRESS_FORM \
        "an address such as 127.0.0.1:9466 or [::1]:9466, or an absolute path of at most 107 bytes"

bool socket_address_parse(const char *text, SocketAddress *ret);
