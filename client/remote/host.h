/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "interfaces/error.h"

/* The machine of -H. */
typedef struct Host {
        char *target;        /* [USER@]NAME, as ssh takes it; never begins with '-' */
        char *port;          /* NULL: as ssh's configuration says */
        char *container;     /* on this machine, as of -M; NULL: none */
        bool is_one_of_many; /* ssh must not ask for a password: many would ask at once */
} Host;

#define HOST_MAX 300 /* bytes: a name of DNS, a user and a port */

/* Reads HOST, USER@HOST, HOST:PORT or [ADDRESS]:PORT, each with or without /CONTAINER. Returns 0,
 * -ENOMEM, or KT_E_INVALID_SPEC with a reason that names the character. */
int host_parse(const char *text, Host *ret, Reason *reason);
void host_done(Host *host);
