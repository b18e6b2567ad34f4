/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One message of one byte with the descriptor, as a confined process wants a client's file. -errno.
 */
int descriptor_send(int socket_fd, int fd);
