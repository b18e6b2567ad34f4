/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "work/plan.h"

/* The one thread that waits for the kernel. */
typedef struct Worker Worker;

int worker_new(sd_event *event, Worker **ret);
/* Ends the thread after the step it is in. Plans not over by then are undone and answered with
 * KT_E_CANCELLED before this returns. */
Worker *worker_free(Worker *worker);
DEFINE_CLEANUP(Worker, worker_free);
/* Ends the thread likewise, if its step is over within that time: worker_free follows. Else false:
 * what was submitted is the thread's for ever, and neither is to be freed. NULL: true. */
bool worker_end(Worker *worker, unsigned sec);
/* The plan stays the caller's, and must live until its `done`. From before this call until before
 * `done` its writes are announced (own-writes.h). In the event loop. */
void worker_submit(Worker *worker, Plan *plan);
