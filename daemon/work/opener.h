/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

/* Starts a child that opens the regular file of that path, as the daemon sees it, and sends it over
 * the socket as a client of OpenProbeFile would; or, without it, a byte that is the errno. Never
 * blocks. sock stays the caller's. */
int opener_start(sd_event *event, const char *path, int sock);
