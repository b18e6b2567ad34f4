/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed.h"
#include "policy/limit.h"
#include "spool/spool.h"
#include "work/store.h"
#include "work/worker.h"

/* What the kernel has recorded before there was a daemon, by our words on its command line, on its
 * way into an entry of the spool. */
typedef struct Boot Boot;

/* All is borrowed. */
typedef struct BootOptions {
        sd_event *event;
        Worker *worker;
        Store *store;
        Spool *spool;
        Tracefs *tracefs;
        const ConsumerLauncher *launcher;
        const Limits *limits;
        void (*on_over)(void *userdata); /* it has freed itself */
        void *userdata;
} BootOptions;

/* Once a boot. *ret: NULL without the words. */
int boot_new(const BootOptions *options, Boot **ret);
/* The daemon ends: no step follows those that are in flight. */
void boot_close(Boot *boot);
/* What is under way is the next daemon's. The worker is gone. NULL. */
Boot *boot_free(Boot *boot);
