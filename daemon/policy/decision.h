/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec-trigger.h"
#include "policy/hist.h"
#include "policy/rule.h"

/* A request on its way through policy_decide(). */

#define EVENT_NAME_MAX 128

/* What has been decided about one of the kernel's events so far. */
typedef struct Choice {
        bool is_granted;
        bool is_unfiltered; /* asked for once without a filter: nothing may narrow it again */
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
        size_t step, next_entry, next_name, next_choice; /* where decision_advance goes on */
        int64_t work;       /* that may be done before others have their turn; below 0: used up */
        bool is_probe;      /* the entry under way is one of the probes that may be used */
        bool is_of_program; /* that one stands in a program */
        Grant *grant;
        Reason *reason; /* `own` */
        Reason own;
        int refusal; /* the first one, with its reason; 0: none */
        Reason first;
};
