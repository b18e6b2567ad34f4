/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "Did you mean ...?" for events: finds the names most similar to a refused one. Called when an
 * event is refused: by grant-refusal.c, and by the session floor for probes and descriptions. A
 * user learns only names that policy grants without a password.
 *
 * Users of strace write the name of a system call, users of trace-cmd write the name of a whole
 * system, and every user misspells names. So a name is like another one, best first, when
 * - it is the event's name under another system, or a system's name;
 * - it is a word of the event's name: "openat" of sys_enter_openat. A system call's name means its
 *   entry before its exit;
 * - it is a part of the event's name;
 * - few letters differ, also from the name of a system call. */

#include "policy/suggestion.h"

#include <string.h>

#include "interfaces/nearest.h"
#include "policy/decision.h"

#define ENTRY_PREFIX  "sys_enter_" /* followed by the name of a system call */
#define DISTANCE_MAX  2
#define PART_SIZE_MIN 3 /* bytes; a shorter part occurs in too many names */
/* Bytes. A name of this length is not similar to any event's name, and comparing it would take too
 * long. */
#define WANTED_SIZE_MAX ((size_t)2 * EVENT_NAME_MAX)

/* Ranks: within a kind, names with fewer additional letters come first. Only names of one kind are
 * suggested. */
#define KIND_SIZE 1024U

typedef enum Kind {
        KIND_SAME,
        KIND_SYSTEM,
        KIND_WORD,
        KIND_PART,
        KIND_MISSPELT, /* 0 letters differ, and so on */
} Kind;

static bool is_word_at(const char *name, const char *at, size_t size) {
        return (at == name || at[-1] == '_') && (at[size] == '\0' || at[size] == '_');
}

/* Ranks `part` by its position in the event's name. */
static uint32_t rank_part(const char *name, const char *part) {
        size_t size = strlen(part), more = strlen(name) - size;
        const char *first = strstr(name, part);

        if (!first || size < PART_SIZE_MIN)
                return UINT32_MAX;
        if (strncmp(name, ENTRY_PREFIX, strlen(ENTRY_PREFIX)) == 0 && more == strlen(ENTRY_PREFIX))
                return KIND_WORD * KIND_SIZE;
        for (const char *at = first; at; at = strstr(at + 1, part))
                if (is_word_at(name, at, size))
                        return KIND_WORD * KIND_SIZE + (uint32_t)more;
        return KIND_PART * KIND_SIZE + (uint32_t)more;
}

static uint32_t rank_misspelt(const char *name, const char *wanted) {
        uint32_t below = (uint32_t)MIN_OF(strlen(wanted) / 3 + 1, (size_t)DISTANCE_MAX + 1);
        uint32_t distance = nearest_distance(wanted, name, below);

        return distance < below ? (KIND_MISSPELT + distance) * KIND_SIZE : UINT32_MAX;
}

static uint32_t rank_event(const char *full, const char *wanted) {
        const char *colon = strchr(wanted, ':'), *name = strchr(full, ':') + 1;
        const char *part = colon ? colon + 1 : wanted;
        size_t system_size = (size_t)(name - full - 1);
        uint32_t rank = UINT32_MAX;

        if (strcmp(name, part) == 0)
                return KIND_SAME * KIND_SIZE;
        if (strncmp(wanted, full, system_size) == 0 && !wanted[system_size])
                return KIND_SYSTEM * KIND_SIZE;
        if (!colon || strncmp(wanted, full, system_size + 1) == 0)
                rank = rank_part(name, part);
        if (rank < UINT32_MAX)
                return rank;
        rank = rank_misspelt(colon ? full : name, wanted);
        if (strncmp(name, ENTRY_PREFIX, strlen(ENTRY_PREFIX)) == 0)
                rank = MIN_OF(rank, rank_misspelt(name + strlen(ENTRY_PREFIX), part));
        return rank;
}

/* Keeps only names of the same kind as the first one. */
static void keep_one_kind(NearestNames *near) {
        size_t n = 0;

        while (n < near->n && near->ranks[n] / KIND_SIZE == near->ranks[0] / KIND_SIZE)
                n++;
        near->n = n;
}

/* Returns UINT32_MAX if the name is not similar to `wanted`, or not in the view. Checking the view
 * takes much longer than comparing, so it is done last. For events that users define it is done
 * first: the time that this takes must not reveal which names exist. */
static uint32_t rank_granted(const PolicyView *view, const char *full, const char *wanted) {
        char system[EVENT_NAME_MAX];
        const char *name;

        if (!decision_split_name(full, system, &name) ||
                        (rule_is_of_definers(system) && !policy_view_has(view, system, name)))
                return UINT32_MAX;
        uint32_t rank = rank_event(full, wanted);
        return rank < UINT32_MAX && policy_view_has(view, system, name) ? rank : UINT32_MAX;
}

Suggestion policy_suggest_event(const PolicyView *view,
                const char *const *names,
                size_t n_names,
                const char *wanted) {
        Suggestion suggestion = { "" };
        char joined[sizeof(suggestion.text) - sizeof("did you mean ?")];
        NearestNames near = {};

        if (strnlen(wanted, WANTED_SIZE_MAX) == WANTED_SIZE_MAX)
                return suggestion;
        for (size_t i = 0; i < n_names; i++) {
                uint32_t rank = rank_granted(view, names[i], wanted);

                if (rank < UINT32_MAX)
                        nearest_names_add(&near, names[i], rank);
        }
        keep_one_kind(&near);
        if (near.n == 0)
                return suggestion;
        if (near.ranks[0] / KIND_SIZE == KIND_SYSTEM)
                (void)snprintf(joined,
                                sizeof(joined),
                                "'%.*s:*'",
                                (int)strcspn(near.names[0], ":"),
                                near.names[0]);
        else
                nearest_names_join(&near, joined, sizeof(joined));
        (void)snprintf(suggestion.text, sizeof(suggestion.text), "did you mean %s?", joined);
        return suggestion;
}
