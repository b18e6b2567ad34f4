/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "interfaces/control.h"

/* The next message of the daemon's, which must be of that type with so many fds; waits for it.
 * -ECANCELED: the daemon has gone. -EBADMSG: something else came. */
int order_take(int control_fd, ControlType type, ControlMessage *ret, int *ret_fds, size_t n_fds);
/* Waits until the daemon takes it. -errno where it has gone. */
int order_answer(int control_fd, ControlMessage *message);
/* One of those with a status. A daemon that has gone is told nothing. */
void order_report(int control_fd, ControlType type, int error, const char *text);
