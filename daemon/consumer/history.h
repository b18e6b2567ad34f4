/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Runs the process for a HISTORY message (control.h). Returns when it is done. */
void history_run(int control_fd);
