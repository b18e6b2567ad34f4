/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lists that belong to a granted event, as a rule gives them and as a grant contains them.
 * Called by rule.c, by the steps of a decision, and by those who take events out of a grant. Owns
 * nothing. */

#include "policy/grant-event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void list_clear(char **list, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(list[i]);
        free(list);
}

void grant_event_clear(GrantEvent *event) {
        list_clear(event->keep, event->n_keep);
        list_clear(event->cut, event->n_cut);
        list_clear(event->keys, event->n_keys);
        for (size_t i = 0; i < event->n_members; i++) {
                list_clear(event->members[i].fields, event->members[i].n_fields);
                free(event->members[i].pid_field);
        }
        free(event->members);
        free(event->also_of);
        free(event->system);
        free(event->name);
        free(event->filter);
        free(event->policy_filter);
        *event = (GrantEvent){};
}

static int list_copy(char *const *list, size_t n, char ***ret, size_t *ret_n) {
        if (n == 0)
                return 0;
        *ret = calloc(n, sizeof(char *));
        if (!*ret)
                return -ENOMEM;
        for (; *ret_n < n; (*ret_n)++) {
                (*ret)[*ret_n] = strdup(list[*ret_n]);
                if (!(*ret)[*ret_n])
                        return -ENOMEM;
        }
        return 0;
}

static int grant_event_copy_members(GrantEvent *to, const GrantEvent *from) {
        if (from->n_members == 0)
                return 0;
        to->members = calloc(from->n_members, sizeof(GrantMember));
        if (!to->members)
                return -ENOMEM;
        for (; to->n_members < from->n_members; to->n_members++) {
                const GrantMember *source = &from->members[to->n_members];
                GrantMember *member = &to->members[to->n_members];

                member->pid_field = strdup(source->pid_field);
                int r = list_copy(source->fields,
                                source->n_fields,
                                &member->fields,
                                &member->n_fields);
                if (r < 0 || !member->pid_field) {
                        to->n_members++; /* count it even if incomplete, so that it is freed */
                        return -ENOMEM;
                }
        }
        return 0;
}

int grant_event_copy(GrantEvent *to, const GrantEvent *from) {
        int r;

        to->speaks_of_others = from->speaks_of_others;
        r = list_copy(from->keep, from->n_keep, &to->keep, &to->n_keep);
        r = r ?: list_copy(from->cut, from->n_cut, &to->cut, &to->n_cut);
        r = r ?: list_copy(from->keys, from->n_keys, &to->keys, &to->n_keys);
        r = r ?: grant_event_copy_members(to, from);
        if (r < 0 || !from->also_of)
                return r;
        to->also_of = strdup(from->also_of);
        return to->also_of ? 0 : -ENOMEM;
}
