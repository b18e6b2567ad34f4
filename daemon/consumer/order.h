/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "interfaces/control.h"

/* Waits for the daemon's next message, which must have that type and that number of fds. Fails with
 * -ECANCELED when the daemon has gone, and with -EBADMSG when another message came. */
int order_take(int control_fd, ControlType type, ControlMessage *ret, int *ret_fds, size_t n_fds);
/* Waits until the daemon takes the message. Returns -errno when the daemon has gone. */
int order_answer(int control_fd, ControlMessage *message);
/* Sends a message with a status. A failure is ignored, because the daemon may have gone. */
void order_report(int control_fd, ControlType type, int error, const char *text);
