/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "interfaces/error.h"
#include "work/own-writes.h"

/* Returned by a step that has more to do: it is called again, after other users' steps had their
 * turn. */
#define PLAN_AGAIN INT_MAX

typedef struct PlanStep {
        const char *name;
        int (*apply)(void *context, Reason *reason);
        void (*undo)(void *context); /* also after a step that failed half-way; NULL: nothing to
                                        undo */
} PlanStep;

/* A list of kernel steps that happens as a whole or not at all. The owner fills the first part,
 * submits it to the Worker, and may only cancel it until `done`. */
typedef struct Plan {
        uid_t uid;         /* for whom: users take turns */
        bool urgent;       /* goes before the user's other waiting plans */
        OwnWrites *writes; /* of the instance that the steps write to; NULL: they write to none */
        const PlanStep *steps;
        size_t n_steps;
        void *context;
        void (*done)(struct Plan *plan, int result, const Reason *reason); /* in the event loop */
        void *userdata;

        size_t at;      /* the step that is next */
        size_t n_begun; /* steps called at least once */
        atomic_bool cancelled;
        int result;
        Reason reason;
        TAILQ_ENTRY(Plan) queue;
} Plan;

/* writes: of the session's instance that the steps write to. NULL only where they do not write to a
 * session's instance: what such a plan writes there is taken for another program's. */
void plan_init(Plan *plan, const PlanStep *steps, size_t n_steps, OwnWrites *writes);
/* Runs one step. True when the plan is over; then `result` is set and a failed one is undone. */
bool plan_advance(Plan *plan);
/* From any thread. The plan ends with KT_E_CANCELLED before its next step, unless that was the
 * last. */
void plan_cancel(Plan *plan);
