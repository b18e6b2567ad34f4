/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "watch/activity.h"

/* Lost events: those that the kernel could not record for a session. */
typedef struct Losses Losses;

/* Called after each look. lost: the lost events of each CPU since the buffer was made or
 * cleared. */
typedef void (*LossesHandler)(const uint64_t *lost, void *userdata);

int losses_new(Activity *activity,
                const Trace *trace,
                LossesHandler handler,
                void *userdata,
                Losses **ret);
/* NULL is allowed, here and below. */
Losses *losses_free(Losses *losses);
DEFINE_CLEANUP(Losses, losses_free);
/* Looks now. Call it before the kernel's counters are reset. */
void losses_look(Losses *losses);
/* losses_start looks from now on. losses_stop looks one last time. */
void losses_start(Losses *losses);
void losses_stop(Losses *losses);
