/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "work/plan.h"

/* Plans that run in the event loop, one step in each turn. */
typedef struct Turns Turns;

typedef struct TurnsHandlers {
        /* Returns whether this user has time left. NULL: every user has. */
        bool (*may_run)(uid_t uid, void *userdata);
        /* Called after a step for this user, with its CPU time. NULL: not counted. */
        void (*on_spent)(uid_t uid, uint64_t usec, void *userdata);
} TurnsHandlers;

int turns_new(sd_event *event, const TurnsHandlers *handlers, void *userdata, Turns **ret);
/* First answers unfinished plans with KT_E_CANCELLED. */
Turns *turns_free(Turns *turns);
DEFINE_CLEANUP(Turns, turns_free);
/* The caller keeps the plan. It must exist until its `done`, which is called from a later turn of
 * the loop. */
void turns_submit(Turns *turns, Plan *plan);
/* Has the steps called again that wait (PLAN_WAIT). */
void turns_resume(Turns *turns);
bool turns_is_idle(const Turns *turns);
