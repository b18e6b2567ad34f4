/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Finds the user who owns the other end of a TCP connection to this port of 127.0.0.1. Returns 0,
 * -errno, or -ENOENT if the kernel lists no such socket. */
int peer_find_uid(const struct sockaddr_in *peer, uint16_t port, uid_t *ret);
/* The same in a list as /proc/net/tcp has it. */
int peer_find_uid_in(FILE *list, const struct sockaddr_in *peer, uint16_t port, uid_t *ret);
