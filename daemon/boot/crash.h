/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cleanup.h"
#include "spool/spool.h"

/* The texts that `ktraced --collect` found after a crash of the machine. They are moved into the
 * spool. */
typedef struct Crash Crash;

/* All pointers are borrowed. */
typedef struct CrashOptions {
        sd_event *event;
        Spool *spool;
        const char *path; /* the directory of the batches; made if it does not exist */
        void (*on_changed)(void *userdata); /* crash_is_idle may have a new answer */
        void *userdata;
} CrashOptions;

/* Takes each batch when it appears. */
int crash_new(const CrashOptions *options, Crash **ret);
/* The daemon ends: no step follows the one in flight. */
void crash_close(Crash *crash);
Crash *crash_free(Crash *crash);
DEFINE_CLEANUP(Crash, crash_free);
bool crash_is_idle(const Crash *crash);
