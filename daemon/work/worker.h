/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "work/plan.h"

/* The only thread that waits for the kernel. */
typedef struct Worker Worker;

int worker_new(sd_event *event, Worker **ret);
/* Ends the thread after its current step. Unfinished plans are undone and answered with
 * KT_E_CANCELLED before this returns. */
Worker *worker_free(Worker *worker);
DEFINE_CLEANUP(Worker, worker_free);
/* Ends the thread in the same way if its step ends within that time; call worker_free after that.
 * Otherwise returns false: the thread then owns the submitted plans for ever, and neither the plans
 * nor the worker may be freed. NULL: returns true. */
bool worker_end(Worker *worker, unsigned sec);
/* The caller keeps the plan. It must exist until its `done`. Its writes are announced from before
 * this call until before `done` (own-writes.h). To be called in the event loop. */
void worker_submit(Worker *worker, Plan *plan);
