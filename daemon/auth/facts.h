/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/policy.h"

/* What may change while a peer is on the bus: read anew for each request, never kept. */

/* When the process started, in the kernel's ticks; 0: nobody knows. */
uint64_t facts_read_start(pid_t pid, uid_t uid);
/* Fills in is_active, unit and command. start: the process as it was when the peer was first seen;
 * 0: its unit and command are not known. */
void facts_read(Subject *subject, pid_t pid, uint64_t start);
