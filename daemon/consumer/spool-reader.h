/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Runs the conversation of a process that got SPOOL_READ (control.h) to its end. Must be called in
 * the sandbox, which it closes. */
void spool_reader_run(int control_fd);
