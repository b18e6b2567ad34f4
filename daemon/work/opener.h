/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

/* Starts a child that opens the regular file at that path, as the daemon resolves it. The child
 * sends the file over the socket as a client of OpenProbeFile would. If the open fails, it sends
 * one byte without a descriptor: the errno. Never blocks. The caller keeps sock. */
int opener_start(sd_event *event, const char *path, int sock);
