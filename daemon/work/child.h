/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

/* In a forked child, and safe there: no signal of the daemon's is ignored or blocked, fd becomes 3,
 * and nothing else of the daemon's is open but standard error. Exits where that fails. */
void child_settle(int fd);
/* Its end is taken by the loop, whenever it comes. */
int child_reap_later(sd_event *event, int pidfd);
