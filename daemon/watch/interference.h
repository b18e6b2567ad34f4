/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "watch/activity.h"
#include "work/worker.h"

/* Changes by other programs to the instance of a fenced session. */
typedef struct Interference Interference;

/* Called in the event loop, at most once. The recorded data can no longer be trusted. code: "guard"
 * or "interference". */
typedef void (*InterferenceHandler)(const char *code, const char *text, void *userdata);

/* The trace was started, so its watch exists. Looks from now on. */
int interference_new(Activity *activity,
                Worker *worker,
                Trace *trace,
                InterferenceHandler handler,
                void *userdata,
                Interference **ret);
/* No handler is called after this. The trace may be freed when the plan that is submitted next is
 * over. NULL is allowed, here and below. */
Interference *interference_free(Interference *interference);
DEFINE_CLEANUP(Interference, interference_free);
/* Our plans that write to the instance (own-writes.h) begin and end. Between the two calls, writes
 * of other programs look like ours, so the end requests a read-back of the whole fence. A second
 * begin has no effect. */
void interference_begin(Interference *interference);
void interference_end(Interference *interference);
