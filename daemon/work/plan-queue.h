/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "work/plan.h"

/* Plans that wait for their next step, in the order of turns. */
typedef TAILQ_HEAD(PlanQueue, Plan) PlanQueue;

/* The plan of this user whose step is next: the one under way, else an urgent one, else the oldest.
 * NULL: the user has none. */
Plan *plan_queue_find(const PlanQueue *queue, uid_t uid);
/* After a step: all plans of this user go to the end of the queue. */
void plan_queue_rotate(PlanQueue *queue, uid_t uid);
