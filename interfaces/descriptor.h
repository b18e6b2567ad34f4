/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* Sends one message of one byte with the descriptor, as a confined process expects a client's
 * file. -errno. */
int descriptor_send(int socket_fd, int fd);
/* Writes all of the data to a file or a blocking pipe. -errno. */
int descriptor_write_all(int fd, const void *data, size_t size);
/* Copies what can be read, up to the end. -errno. */
int descriptor_copy(int from, int to);
