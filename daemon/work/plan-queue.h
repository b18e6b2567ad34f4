/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "work/plan.h"

/* Plans that wait for their next step, in the order of turns. */
typedef TAILQ_HEAD(PlanQueue, Plan) PlanQueue;

/* Returns the plan of this user whose step is next: the running one, otherwise an urgent one,
 * otherwise the oldest. NULL: the user has no plan. */
Plan *plan_queue_find(const PlanQueue *queue, uid_t uid);
/* To be called after a step: moves all plans of this user to the end of the queue. */
void plan_queue_rotate(PlanQueue *queue, uid_t uid);
