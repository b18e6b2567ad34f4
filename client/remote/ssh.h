/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "remote/host.h"

/* An ssh that runs `ktracectl serve` on a host. */
typedef struct Ssh {
        pid_t pid;
        int in_fd;             /* we write: standard input of `serve` */
        int out_fd;            /* we read: its standard output */
        int errors_fd;         /* we read: messages of ssh and of the login */
        uint64_t hung_up_usec; /* when; 0: not yet */
} Ssh;

/* mask: the signal mask that ssh gets. Returns 0, -errno or KT_E_FAILED with a reason. */
int ssh_start(const Host *host, const sigset_t *mask, Ssh *ret, Reason *reason);
/* Closes what is left of the descriptors, so that ssh ends. With many of them, close all first. */
void ssh_hang_up(Ssh *ssh);
/* Whether it has ended, or has had its time to. */
bool ssh_has_left(const Ssh *ssh);
/* Ends ssh at most a second after it was hung up. Returns its exit status, or 128+N. */
int ssh_end(Ssh *ssh);
