/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"

#include <systemd/sd-event.h>

/* What the kernel could not record for a session. */
typedef struct Losses Losses;

/* lost: events of each CPU, from the instance's creation; whenever that is looked at. */
typedef void (*LossesHandler)(const uint64_t *lost, void *userdata);

int losses_new(sd_event *event,
                const Trace *trace,
                LossesHandler handler,
                void *userdata,
                Losses **ret);
/* NULL is fine, here and below. */
Losses *losses_free(Losses *losses);
DEFINE_CLEANUP(Losses, losses_free);
/* From now on, or once more and then no longer. */
void losses_start(Losses *losses);
void losses_stop(Losses *losses);
