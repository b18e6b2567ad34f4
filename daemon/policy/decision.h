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

/* The format of the event, borrowed until the next call. */
int decision_get_format(Decision *d, const GrantEvent *event, const Format **ret);

/* The caller's filter of one entry: either this or those of entries before. NULL: none. */
int decision_add_filter(Decision *d, Choice *choice, const char *text);
/* The caller's filter of all events: both this and its own. */
int decision_add_where(Decision *d, Choice *choice, const char *where);
/* key: "where", "triggers[0].when"; NULL: "filter". As the kernel gets it. */
int decision_compile(Decision *d,
                const Choice *choice,
                const char *key,
                const char *text,
                char **ret);
/* All of the spec's triggers, when its events are decided. */
int decision_add_triggers(Decision *d);
/* Before the choices become the grant's events. */
void decision_end_triggers(Decision *d);
/* choice: NULL when there is no such event. */
int decision_grant_unrecorded(Decision *d, const char *full, Choice *choice);
/* A histogram of the event: what it counts by, and nothing that is cut. *filter: the trigger's own,
 * compiled, or NULL; it is replaced where records that hold an address of the kernel's must not be
 * counted. place: "triggers[3]". */
int decision_compile_hist(Decision *d,
                const Choice *choice,
                const char *place,
                const SpecHist *hist,
                HistText *ret,
                char **filter);
/* The rule's own. */
int decision_add_policy_filter(Decision *d, Choice *choice, const char *text);

/* The keys that are not about events. */
int decision_check_kernel(const Decision *d);

/* "system:name" in two; false: it is neither short enough nor has a colon. */
bool decision_split_name(const char *full, char system[static EVENT_NAME_MAX], const char **name);
bool decision_has_event(const Decision *d, const char *full);
