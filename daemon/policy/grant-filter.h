/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/decision.h"

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
