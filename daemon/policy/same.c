/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks whether two decisions are equal. Called by the session floor when polkit allowed a
 * request: the answer applies to the grant that was decided before the question, and the question
 * may have been open for minutes, while rules were reloaded or modules added events. Any other
 * grant needs a new question, even a narrower one, because the text that the user approved is no
 * longer correct. So all members of a Grant are compared; a new member of Grant must be added
 * here. */

#include "policy/same.h"

#include <stdlib.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "interfaces/text-same.h"
#include "policy/policy.h"

static bool list_is_same(char *const *a, size_t n_a, char *const *b, size_t n_b) {
        if (n_a != n_b)
                return false;
        for (size_t i = 0; i < n_a; i++)
                if (strcmp(a[i], b[i]) != 0)
                        return false;
        return true;
}

static bool member_is_same(const GrantMember *a, const GrantMember *b) {
        return text_is_same(a->pid_field, b->pid_field) &&
               list_is_same(a->fields, a->n_fields, b->fields, b->n_fields);
}

static bool event_is_same(const GrantEvent *a, const GrantEvent *b) {
        if (!text_is_same(a->system, b->system) || !text_is_same(a->name, b->name) ||
                        !text_is_same(a->filter, b->filter) ||
                        !text_is_same(a->policy_filter, b->policy_filter) ||
                        a->needs_kernel != b->needs_kernel ||
                        a->speaks_of_others != b->speaks_of_others ||
                        a->is_of_program != b->is_of_program || a->is_off != b->is_off ||
                        a->is_unrecorded != b->is_unrecorded ||
                        !list_is_same(a->keep, a->n_keep, b->keep, b->n_keep) ||
                        !list_is_same(a->cut, a->n_cut, b->cut, b->n_cut) ||
                        !list_is_same(a->keys, a->n_keys, b->keys, b->n_keys) ||
                        !text_is_same(a->also_of, b->also_of) || a->n_members != b->n_members)
                return false;
        for (size_t i = 0; i < a->n_members; i++)
                if (!member_is_same(&a->members[i], &b->members[i]))
                        return false;
        return true;
}

static bool request_is_same(const GrantRequest *a, const GrantRequest *b) {
        return text_is_same(a->pattern, b->pattern) && a->n_matched == b->n_matched &&
               a->n_granted == b->n_granted;
}

static bool trigger_is_same(const GrantTrigger *a, const GrantTrigger *b) {
        return a->event == b->event && a->target == b->target &&
               text_is_same(a->filter, b->filter) && text_is_same(a->hist.command, b->hist.command);
}

bool grant_is_same(const Grant *a, const Grant *b) {
        if (!text_is_same(a->rule, b->rule) || a->fenced != b->fenced ||
                        a->redacted != b->redacted || a->addresses != b->addresses ||
                        a->sinks != b->sinks || a->allow_setuid != b->allow_setuid ||
                        !text_is_same(a->polkit_action, b->polkit_action) ||
                        memcmp(&a->limits, &b->limits, sizeof(a->limits)) != 0 ||
                        a->max_linger_usec != b->max_linger_usec || a->n_events != b->n_events ||
                        a->n_sources != b->n_sources || a->n_triggers != b->n_triggers ||
                        a->n_requests != b->n_requests)
                return false;
        for (size_t i = 0; i < a->n_sources; i++)
                if (!event_is_same(&a->sources[i], &b->sources[i]))
                        return false;
        for (size_t i = 0; i < a->n_events; i++)
                if (!event_is_same(&a->events[i], &b->events[i]))
                        return false;
        for (size_t i = 0; i < a->n_triggers; i++)
                if (!trigger_is_same(&a->triggers[i], &b->triggers[i]))
                        return false;
        for (size_t i = 0; i < a->n_requests; i++)
                if (!request_is_same(&a->requests[i], &b->requests[i]))
                        return false;
        return true;
}

static bool event_records_same(const GrantEvent *a, const GrantEvent *b) {
        return strcmp(a->system, b->system) == 0 && strcmp(a->name, b->name) == 0 &&
               text_is_same(a->filter, b->filter) &&
               text_is_same(a->policy_filter, b->policy_filter) && !a->is_off && !b->is_off &&
               a->is_unrecorded == b->is_unrecorded;
}

static int compare_names(const void *a, const void *b) {
        const GrantEvent *const *x = a, *const *y = b;
        int r = strcmp((*x)->system, (*y)->system);

        return r ?: strcmp((*x)->name, (*y)->name);
}

static const GrantEvent **list_by_name(const Grant *grant) {
        const GrantEvent **list = calloc(grant->n_events + 1, sizeof(*list));

        for (size_t i = 0; list && i < grant->n_events; i++)
                list[i] = &grant->events[i];
        if (list)
                qsort(list, grant->n_events, sizeof(*list), compare_names);
        return list;
}

bool grant_records_same(const Grant *a, const Grant *b) {
        if (a->n_events != b->n_events)
                return false;
        _cleanup_free_ const GrantEvent **of_a = list_by_name(a), **of_b = list_by_name(b);
        for (size_t i = 0; of_a && of_b && i < a->n_events; i++)
                if (!event_records_same(of_a[i], of_b[i]))
                        return false;
        return of_a && of_b;
}
