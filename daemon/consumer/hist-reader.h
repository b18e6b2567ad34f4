/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The conversation of a process that was told TABLES (control.h), until it is over. In the sandbox,
 * which it closes. */
void hist_reader_run(int control_fd);
