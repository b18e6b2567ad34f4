/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "policy/policy.h"

/* GetConnectionCredentials' answer. Groups: the database's where the bus does not tell them. */
int credentials_read_message(sd_bus_message *m, Subject *subject, pid_t *pid);
/* Whoever connected the other end of this socket. start: of the process, see facts.h; 0: it is not
 * known which one it is. */
int credentials_read_socket(int fd, Subject *subject, pid_t *ret_pid, uint64_t *ret_start);
/* Those that the database has for subject->uid. A uid that it does not know has none. */
int credentials_find_groups(Subject *subject);
