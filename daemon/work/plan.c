/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A plan: steps that run in order, and are undone in reverse if one fails or the plan is cancelled.
 * Run by the worker thread (or by a test, step by step). It does not know sessions or the kernel. A
 * step's undo cannot fail: the step itself logs the state that it could not undo, and `ktracectl
 * verify` finds that state later. */

#include "work/plan.h"

void plan_init(Plan *plan, const PlanStep *steps, size_t n_steps, OwnWrites *writes) {
        plan->writes = writes;
        plan->steps = steps;
        plan->n_steps = n_steps;
        plan->at = plan->n_begun = 0;
        plan->result = 0;
        plan->waits = false;
        plan->reason.text[0] = '\0';
        atomic_store(&plan->cancelled, false);
}

static void plan_undo(Plan *plan) {
        for (size_t i = plan->n_begun; i > 0; i--)
                if (plan->steps[i - 1].undo)
                        plan->steps[i - 1].undo(plan->context);
}

bool plan_advance(Plan *plan) {
        if (plan->at >= plan->n_steps)
                return true;

        if (atomic_load(&plan->cancelled)) {
                plan->result = reason_set(
                                &plan->reason, KT_E_CANCELLED, "cancelled before it was done");
                plan_undo(plan);
                return true;
        }

        plan->n_begun = plan->at + 1;
        int r = plan->steps[plan->at].apply(plan->context, &plan->reason);
        plan->waits = r == PLAN_WAIT;
        if (r == PLAN_AGAIN || r == PLAN_WAIT)
                return false;
        if (r != 0) {
                plan->result = r;
                plan_undo(plan);
                return true;
        }
        return ++plan->at == plan->n_steps;
}

void plan_cancel(Plan *plan) {
        atomic_store(&plan->cancelled, true);
}
