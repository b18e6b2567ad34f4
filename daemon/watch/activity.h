/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "trace/trace.h"

/* Whether a session records anything. The timers of a session rest while it does not. */
typedef struct Activity Activity;

/* Something that rests while the session is quiet. Its owner keeps it until activity_forget(). */
typedef struct ActivityWaiter {
        /* The session records again. Called once for each rest, in the event loop. */
        void (*handler)(void *userdata);
        void *userdata;
        uint64_t n_events; /* at the last call of activity_rest() */
        bool has_counted, is_resting;
} ActivityWaiter;

/* The longest time between two looks for a change that the session records nothing of. */
#define ACTIVITY_QUIET_USEC UINT64_C(60000000)

int activity_new(sd_event *event, const Trace *trace, Activity **ret);
/* NULL is allowed, here and below: then nothing ever rests. */
Activity *activity_free(Activity *activity);
DEFINE_CLEANUP(Activity, activity_free);
/* The trace is about to close its files. Nothing rests from now on, and no handler is called. */
void activity_close(Activity *activity);
/* Returns true if the session has recorded nothing since the last call for this waiter, or if this
 * is the first call. Then its handler is called when the session records again. */
bool activity_rest(Activity *activity, ActivityWaiter *waiter);
sd_event *activity_get_event(const Activity *activity);
void activity_forget(Activity *activity, ActivityWaiter *waiter);
/* The trace has got other files. All handlers are called. */
int activity_follow_move(Activity *activity);
/* The kernel has swapped the ring with another one. */
void activity_follow_swap(Activity *activity);
