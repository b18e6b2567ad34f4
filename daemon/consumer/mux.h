/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reads one instance for several sessions until the daemon closes the socket. */
void mux_run(int control_fd);
