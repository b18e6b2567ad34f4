/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cleanup.h"
#include "spool/spool.h"

/* What `ktraced --collect` has found after a crash of the machine, on its way into the spool. */
typedef struct Crash Crash;

/* All is borrowed. */
typedef struct CrashOptions {
        sd_event *event;
        Spool *spool;
        const char *path; /* where it is handed over; made where it is not there */
        void (*on_changed)(void *userdata); /* crash_is_idle may have a new answer */
        void *userdata;
} CrashOptions;

/* Takes each batch as it appears. */
int crash_new(const CrashOptions *options, Crash **ret);
/* The daemon ends: no step follows those that are in flight. */
void crash_close(Crash *crash);
Crash *crash_free(Crash *crash);
DEFINE_CLEANUP(Crash, crash_free);
bool crash_is_idle(const Crash *crash);
