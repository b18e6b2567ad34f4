/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/decision.h"

/* Adds the caller's filter of one entry, joined by || to those of earlier entries. NULL: no
 * filter. */
int decision_add_filter(Decision *d, Choice *choice, const char *text);
/* Adds the caller's filter of all events, joined by && to the event's own. */
int decision_add_where(Decision *d, Choice *choice, const char *where);
/* Compiles a filter to the kernel's text. key: "where", "triggers[0].when"; NULL: "filter". */
int decision_compile(Decision *d,
                const Choice *choice,
                const char *key,
                const char *text,
                char **ret);
/* Compiles a histogram of the event. It may not count by fields that are cut. *filter: the
 * trigger's compiled filter, or NULL; it is replaced if records with a kernel address must not be
 * counted. place: "triggers[3]". */
int decision_compile_hist(Decision *d,
                const Choice *choice,
                const char *place,
                const SpecHist *hist,
                HistText *ret,
                char **filter);
/* Adds the rule's filter. */
int decision_add_policy_filter(Decision *d, Choice *choice, const char *text);
/* A step of the decision, after all filters are known: finds the events whose filters only the
 * kernel can evaluate. */
int decision_find_kernel_filters(Decision *d);
