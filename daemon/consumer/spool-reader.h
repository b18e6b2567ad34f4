/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The conversation of a process that was told SPOOL_READ (control.h), until it is over. In the
 * sandbox, which it closes. */
void spool_reader_run(int control_fd);
