/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/control.h"
#include "trace/trace.h"
#include "work/worker.h"

/* The members of a running session: processes that enter its scope other than as children of
 * members, and the members that still exist after records were lost. */
typedef struct Newcomers Newcomers;

/* Called in the event loop. */
typedef struct NewcomersHandlers {
        /* These tasks were admitted: their records may pass from now on. The list is empty where no
         * task is judged. `report` is the session's report so far. */
        void (*on_members)(const ControlMember *members,
                        size_t n,
                        const ArmReport *report,
                        void *userdata);
        /* Each of these is still the same task at until_nsec. No other task is a member. */
        void (*on_proof)(const ControlMember *members,
                        size_t n,
                        uint64_t until_nsec,
                        void *userdata);
        /* Tasks that have joined since the start have these pids in their container. None: a look
         * has failed, so some are unknown. */
        void (*on_inner_pids)(const ControlInnerPid *pids, size_t n, void *userdata);
} NewcomersHandlers;

int newcomers_new(sd_event *event,
                Worker *worker,
                const Trace *trace,
                const NewcomersHandlers *handlers,
                void *userdata,
                Newcomers **ret);
/* Cancels a plan that is in flight: none of its later steps runs. No handler is called after this.
 * The trace may be freed when the plan that is submitted next is over. */
Newcomers *newcomers_free(Newcomers *newcomers);
DEFINE_CLEANUP(Newcomers, newcomers_free);
/* newcomers_start looks every second from now on, if the scope can have newcomers. Call it only
 * while no plan of the session is in flight. */
void newcomers_start(Newcomers *newcomers);
void newcomers_stop(Newcomers *newcomers);
/* Records were lost: checks which members still exist. Allowed after a stop too. on_proof gets the
 * result, once for all requests during one check. A request while another plan is in flight may
 * have to be repeated. */
void newcomers_prove(Newcomers *newcomers);
/* Finds a member and its start time by its number. */
bool newcomers_find(const Newcomers *newcomers, pid_t tid, Task *ret);
size_t newcomers_get_members(const Newcomers *newcomers, const ControlMember **ret);
