/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-events.h"
#include "session/registry.h"

/* Called with each refusal. true: go on, to find the next one. */
typedef bool (*RefusalHandler)(int result, const Reason *reason, void *userdata);

/* Policy's decision on a spec, in parts. */
struct Judgement {
        Registry *registry;
        const Subject *subject;
        const Spec *spec;
        RefusalHandler on_refusal; /* NULL: the first refusal ends it */
        /* Called when it begins, also anew: earlier refusals no longer count. NULL: not called */
        void (*on_begin)(void *userdata);
        void *userdata;
        Grant *grant; /* when it is over and nothing was refused */

        Spec whole; /* the spec, with the probes as events */
        ProbeEvents probes;
        EventList *list;
        PolicyEvents events;
        Decision *decision; /* NULL: not begun */
        TAILQ_ENTRY(Judgement) others;
};

/* Subject and spec are borrowed until the end. */
void judgement_init(Judgement *judgement,
                Registry *registry,
                const Subject *subject,
                const Spec *spec);
void judgement_clear(Judgement *judgement);
/* Goes on for about `work` units of decision_advance. DECISION_AGAIN: there is more to do. */
int judgement_advance(Judgement *judgement, int64_t work, Reason *reason);
/* The rules have changed: those that are under way begin anew. A decision that is over stays, with
 * its grant, which owns what it points to. */
void judgement_restart_all(Registry *registry);

/* What is done in one turn of the event loop: 2 ms. */
#define JUDGEMENT_WORK 100000

/* Policy's word about a spec, on the events that the kernel has now. The event loop is held until
 * it is made: see judgement.h. */
int registry_decide(Registry *registry,
                const Subject *subject,
                const Spec *spec,
                Grant **ret,
                Reason *reason);
