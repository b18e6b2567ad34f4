/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

typedef struct Pager {
        pid_t pid;
        int stdout_fd; /* the original standard output */
} Pager;

#define PAGER_INIT                         \
        (Pager) {                          \
                .pid = 0, .stdout_fd = -1, \
        }

/* Connects standard output with a pager when it is a terminal. Does nothing when argv contains
 * --no-pager, --help, -h or --version, or when SYSTEMD_PAGER or PAGER is empty or "cat". */
void pager_open(Pager *pager, int argc, char **argv);
bool pager_is_open(const Pager *pager);
/* Ends the output and waits until the user has left the pager. */
void pager_close(Pager *pager);
