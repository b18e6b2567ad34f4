/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "feed/feed.h"
#include "policy/limit.h"
#include "spool/spool.h"
#include "work/store.h"
#include "work/worker.h"

/* A trace that the kernel recorded before the daemon started, because of our words on its command
 * line. It is moved into an entry of the spool. */
typedef struct Boot Boot;

/* All pointers are borrowed. */
typedef struct BootOptions {
        sd_event *event;
        Worker *worker;
        Store *store;
        Spool *spool;
        Tracefs *tracefs;
        const ConsumerLauncher *launcher;
        const Limits *limits;
        void (*on_over)(void *userdata); /* the boot trace has freed itself */
        void *userdata;
} BootOptions;

/* Call it once per boot. *ret is NULL if the words are missing. */
int boot_new(const BootOptions *options, Boot **ret);
/* The daemon ends: no step follows the one in flight. */
void boot_close(Boot *boot);
/* Call it when the worker is gone. The next daemon continues with unfinished work. Returns NULL. */
Boot *boot_free(Boot *boot);
