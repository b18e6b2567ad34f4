/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "interfaces/error.h"
#include "work/own-writes.h"

/* Returned by an unfinished step. The step is called again after steps of other users have run. */
#define PLAN_AGAIN INT_MAX
/* Returned by a step in turns.c that cannot continue now. The step is called again after
 * turns_resume. Later plans of the user wait, too, so that calls are handled in order. */
#define PLAN_WAIT (INT_MAX - 1)

typedef struct PlanStep {
        const char *name;
        int (*apply)(void *context, Reason *reason);
        void (*undo)(void *context); /* also called if the step itself failed; NULL: no undo */
} PlanStep;

/* A list of kernel steps that succeeds completely or is undone. The owner fills the first part and
 * submits it to the Worker. Until `done`, the owner may only cancel it. */
typedef struct Plan {
        uid_t uid;         /* users take turns */
        bool urgent;       /* runs before the user's other waiting plans */
        OwnWrites *writes; /* of the instance that the steps write to; NULL: none */
        const PlanStep *steps;
        size_t n_steps;
        void *context;
        void (*done)(struct Plan *plan, int result, const Reason *reason); /* in the event loop */
        void *userdata;

        size_t at;      /* the next step */
        size_t n_begun; /* steps called at least once */
        bool waits;     /* its step has returned PLAN_WAIT */
        atomic_bool cancelled;
        int result;
        Reason reason;
        TAILQ_ENTRY(Plan) queue;
} Plan;

/* writes: of the session's instance that the steps write to. It may be NULL only if they write to
 * no session's instance. Otherwise such a write is mistaken for a write of another program. */
void plan_init(Plan *plan, const PlanStep *steps, size_t n_steps, OwnWrites *writes);
/* Runs one step. Returns true when the plan has ended. Then `result` is set, and a failed plan is
 * undone. */
bool plan_advance(Plan *plan);
/* May be called from any thread. The plan ends with KT_E_CANCELLED before its next step, unless the
 * current step is the last. */
void plan_cancel(Plan *plan);
