/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Decides which step runs next. Users take turns step by step, and only one plan of each user is
 * running at a time: a user with thirty plans delays another user by one step. Used by the worker
 * for plans that wait for the kernel, and by turns.c for plans that take time in the event loop. */

#include "work/plan-queue.h"

Plan *plan_queue_find(const PlanQueue *queue, uid_t uid) {
        Plan *oldest = NULL, *urgent = NULL, *plan;

        TAILQ_FOREACH(plan, queue, queue) {
                if (plan->uid != uid)
                        continue;
                if (plan->n_begun > 0)
                        return plan;
                if (plan->urgent && !urgent)
                        urgent = plan;
                if (!oldest)
                        oldest = plan;
        }
        return urgent ?: oldest;
}

void plan_queue_rotate(PlanQueue *queue, uid_t uid) {
        PlanQueue theirs = TAILQ_HEAD_INITIALIZER(theirs);
        Plan *plan, *next;

        for (plan = TAILQ_FIRST(queue); plan; plan = next) {
                next = TAILQ_NEXT(plan, queue);
                if (plan->uid != uid)
                        continue;
                TAILQ_REMOVE(queue, plan, queue);
                TAILQ_INSERT_TAIL(&theirs, plan, queue);
        }
        TAILQ_CONCAT(queue, &theirs, queue);
}
