/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "policy/policy.h"

/* Reads the reply of GetConnectionCredentials. The groups come from the user database if the reply
 * contains none. */
int credentials_read_message(sd_bus_message *m, Subject *subject, pid_t *pid);
/* Reads the credentials of the process that connected this socket. *ret_start is its start time,
 * see facts.h; 0 if the process cannot be identified. */
int credentials_read_socket(int fd, Subject *subject, pid_t *ret_pid, uint64_t *ret_start);
/* Reads the groups of subject->uid from the user database. An unknown uid has no groups. */
int credentials_find_groups(Subject *subject);
