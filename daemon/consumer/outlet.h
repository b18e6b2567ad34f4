/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

typedef enum OutletKind {
        OUTLET_OWN_PIPE, /* made by the daemon with O_NONBLOCK */
        OUTLET_FILE,
        OUTLET_FOREIGN_PIPE, /* O_NONBLOCK belongs to the client: never relied on, never set */
        OUTLET_SOCKET,
} OutletKind;

/* Finds the kind of the client's fd. It may hang on a file server that does not answer. Returns 0,
 * or -errno with one line in text of CONTROL_TEXT_MAX bytes. */
int outlet_examine(int fd, OutletKind *ret, char *text, size_t size);
/* Returns the bytes taken, -EAGAIN, or -errno. */
ssize_t outlet_write(int fd, OutletKind kind, const struct iovec *iov, int n_iov);
