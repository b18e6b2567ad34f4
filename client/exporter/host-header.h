/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/* Whether a request may have this header Host; NULL: none. own: the address of the connection at
 * this end. */
bool host_header_is_allowed(const char *host, const struct sockaddr *own);
