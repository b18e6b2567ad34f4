/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "auth/place.h"
#include "policy/policy.h"

/* Reads the reply of GetConnectionCredentials. The groups come from the user database if the reply
 * contains none. */
int credentials_read_message(sd_bus_message *m, Subject *subject, pid_t *pid);

/* The process that connected a socket. */
typedef struct PeerProcess {
        pid_t pid;
        uint64_t start; /* see facts.h; 0: it cannot be identified */
        Place place;
} PeerProcess;

int credentials_read_socket(int fd, Subject *subject, PeerProcess *ret);
/* Reads the groups of subject->uid from the user database. An unknown uid has no groups. */
int credentials_find_groups(Subject *subject);
