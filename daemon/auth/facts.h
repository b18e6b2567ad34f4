/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/policy.h"

/* Facts that may change while a peer is connected: read again for each request, never cached. */

/* Returns when the process started, in the kernel's ticks; 0 if this is not known. */
uint64_t facts_read_start(pid_t pid, uid_t uid);
/* Finds the process's primary group. Returns false if the process is not known. */
bool facts_read_group(pid_t pid, uid_t uid, gid_t *ret);
/* Fills in is_active, unit and command. start is that of the process when the peer was first seen;
 * if it is 0, unit and command are not known. */
void facts_read(Subject *subject, pid_t pid, uint64_t start);
