/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec-trigger.h"
#include "policy/hist.h"
#include "policy/rule.h"

/* A request during policy_decide(). */

#define EVENT_NAME_MAX 128

/* The decision so far about one of the kernel's events. */
typedef struct Choice {
        bool is_granted;
        bool is_unfiltered; /* requested at least once without a filter: no later entry may add one
                             */
        GrantEvent event;
} Choice;

struct Decision {
        const Policy *policy;
        const Subject *subject;
        const Spec *spec;
        const Rule *rule; /* NULL: root */
        const PolicyEvents *events;
        Choice *choices; /* one per entry of events */
        size_t n_choices, n_glob_bytes, n_pairs;
        size_t n_filter_bytes; /* that the reader of a shared instance evaluates */
        size_t step, next_entry, next_name, next_choice, next_shared; /* where decision_advance
                                                                         continues */
        int64_t work;      /* work left before other requests get their turn; below 0: used up */
        bool is_probe;     /* the current entry is a probe that the subject may use */
        PolicyProbe probe; /* that probe */
        Grant *grant;
        Reason *reason; /* `own` */
        Reason own;
        int refusal; /* the first refusal, with its reason; 0: none */
        Reason first;
};

/* Splits "system:name"; returns false if it is too long or has no colon. */
bool decision_split_name(const char *full, char system[static EVENT_NAME_MAX], const char **name);
bool decision_has_event(const Decision *d, const char *full);
/* Returns the format of the event, borrowed until the next call. */
int decision_get_format(Decision *d, const GrantEvent *event, const Format **ret);
