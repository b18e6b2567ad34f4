/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-events.h"
#include "session/registry.h"

/* Called for each refusal. Returns true to continue with the next one. */
typedef bool (*RefusalHandler)(int result, const Reason *reason, void *userdata);

/* Policy's decision on a spec, in parts. */
struct Judgement {
        Registry *registry;
        const Subject *subject;
        const Spec *spec;
        RefusalHandler on_refusal; /* NULL: the first refusal ends the judgement */
        /* Called when the judgement begins, and when it begins again: then earlier refusals no
         * longer count. NULL: not called. */
        void (*on_begin)(void *userdata);
        void *userdata;
        Grant *grant; /* set when it is over and nothing was refused */

        Spec whole; /* the spec, with the probes as events */
        ProbeEvents probes;
        KnownEvents *known;
        const char **names; /* of the events and the probes; NULL: no probes */
        PolicyEvents events;
        Decision *decision; /* NULL: not begun */
        TAILQ_ENTRY(Judgement) others;
};

/* Subject and spec are borrowed until the judgement ends. */
void judgement_init(Judgement *judgement,
                Registry *registry,
                const Subject *subject,
                const Spec *spec);
void judgement_clear(Judgement *judgement);
/* Continues for about `work` units of decision_advance. Returns DECISION_AGAIN if there is more to
 * do, and PROBES_ABSENT if the kernel's functions have to be read first. */
int judgement_advance(Judgement *judgement, int64_t work, Reason *reason);
/* Turns the result r of judgement_advance into that of a step of this user's plan: PLAN_AGAIN,
 * PLAN_WAIT, or r. */
int judgement_to_plan(const Judgement *judgement, uid_t uid, int r);
/* The rules have changed: judgements in progress begin again. A finished decision stays valid, with
 * its grant, which owns all its data. */
void judgement_restart_all(Registry *registry);

/* The work of one turn of the event loop: 2 ms. */
#define JUDGEMENT_WORK 100000

/* Policy's decision on a spec, with the events that the kernel has now. It holds the event loop
 * until it is done: only for sessions of the previous daemon. */
int registry_decide(Registry *registry,
                const Subject *subject,
                const Spec *spec,
                Grant **ret,
                Reason *reason);
