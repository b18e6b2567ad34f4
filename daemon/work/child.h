/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

/* To be called in a forked child; safe there. Resets ignored and blocked signals, moves fd to 3,
 * and closes all other descriptors except standard error. Exits if that fails. */
void child_settle(int fd);
/* The event loop reaps the child when it exits. */
int child_reap_later(sd_event *event, int pidfd);
