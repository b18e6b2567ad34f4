/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "work/plan.h"

/* Plans that are run in the event loop, one step a turn. */
typedef struct Turns Turns;

typedef struct TurnsHandlers {
        /* Has this user any time left? NULL: every user has. */
        bool (*may_run)(uid_t uid, void *userdata);
        /* A step for this user took so much CPU time. NULL: not counted. */
        void (*on_spent)(uid_t uid, uint64_t usec, void *userdata);
} TurnsHandlers;

int turns_new(sd_event *event, const TurnsHandlers *handlers, void *userdata, Turns **ret);
/* Plans that are not over are answered with KT_E_CANCELLED first. */
Turns *turns_free(Turns *turns);
DEFINE_CLEANUP(Turns, turns_free);
/* The plan stays the caller's, and must live until its `done`, which is called from a later turn of
 * the loop. */
void turns_submit(Turns *turns, Plan *plan);
bool turns_is_idle(const Turns *turns);
