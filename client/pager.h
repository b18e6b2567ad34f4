/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

typedef struct Pager {
        pid_t pid;
        int stdout_fd; /* where it pointed before */
} Pager;

#define PAGER_INIT                         \
        (Pager) {                          \
                .pid = 0, .stdout_fd = -1, \
        }

/* Puts a pager behind standard output when that is a terminal and argv does not itself say
 * otherwise (--no-pager, --help, -o FILE). Without one, or with PAGER empty or "cat": nothing. */
void pager_open(Pager *pager, int argc, char **argv);
bool pager_is_open(const Pager *pager);
/* Ends the output and waits until the reader has left the pager. */
void pager_close(Pager *pager);
