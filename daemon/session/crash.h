/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session.h"

/* What `ktraced --collect` has found after a crash of the machine, on its way into the spool. */
typedef struct Crash Crash;

/* path: where it is handed over; made where it is not there. Takes each batch as it appears. */
int crash_new(Registry *registry, const char *path, Crash **ret);
Crash *crash_free(Crash *crash);
DEFINE_CLEANUP(Crash, crash_free);
bool crash_is_idle(const Crash *crash);
