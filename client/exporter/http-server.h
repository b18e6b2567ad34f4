/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/board.h"

#define HTTP_CONNECTIONS_MAX      256 /* of all sockets */
#define HTTP_PEER_CONNECTIONS_MAX 64  /* of one IP address, or of one user on a UNIX socket */
#define HTTP_SOCKETS_MAX          16
#define HTTP_IDLE_SEC             10

/* Serves the newest snapshot over HTTP. */
typedef struct HttpServer HttpServer;

int http_server_new(Board *board, HttpServer **ret);
/* Serves a listening socket, in a thread of its own. Only clients of UNIX sockets see families that
 * identify users. Consumes fd, also on failure. Returns 0 or -errno; -E2BIG: there are
 * HTTP_SOCKETS_MAX already. */
int http_server_add(HttpServer *server, int fd);
/* Closes the sockets and all connections. */
HttpServer *http_server_free(HttpServer *server);
DEFINE_CLEANUP(HttpServer, http_server_free);
