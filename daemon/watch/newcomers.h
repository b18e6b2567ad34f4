/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/control.h"
#include "trace/trace.h"
#include "work/worker.h"

/* Who is a member of a running session: what comes to its scope other than as children of what is
 * in it, and who is there still when records were lost. */
typedef struct Newcomers Newcomers;

/* In the event loop. */
typedef struct NewcomersHandlers {
        /* These were found fit and may pass from now on (empty where nothing is judged), and the
         * session's report so far. */
        void (*on_members)(const ControlMember *members,
                        size_t n,
                        const ArmReport *report,
                        void *userdata);
        /* Each of these is still the same task at this time, and no other task is a member. */
        void (*on_proof)(const ControlMember *members,
                        size_t n,
                        uint64_t until_nsec,
                        void *userdata);
} NewcomersHandlers;

int newcomers_new(sd_event *event,
                Worker *worker,
                const Trace *trace,
                const NewcomersHandlers *handlers,
                void *userdata,
                Newcomers **ret);
/* A plan that is in flight is cancelled, no step of it follows, and nothing is told any more. The
 * trace may go when whatever plan is submitted next is over. */
Newcomers *newcomers_free(Newcomers *newcomers);
DEFINE_CLEANUP(Newcomers, newcomers_free);
/* Looks every second from now on, where the scope can have newcomers. Only while no plan of the
 * session is in flight. */
void newcomers_start(Newcomers *newcomers);
void newcomers_stop(Newcomers *newcomers);
/* Records were lost: looks who is there. Also after a stop. Told by on_proof, once for all that is
 * asked for in the meantime; who asks while a plan is in flight may have to ask again. */
void newcomers_prove(Newcomers *newcomers);
/* All that were ever told, for a stream that is opened later. */
/* A member by its number, with its start time. */
bool newcomers_find(const Newcomers *newcomers, pid_t tid, Task *ret);
size_t newcomers_get_members(const Newcomers *newcomers, const ControlMember **ret);
