/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The globs of event filters, with the meaning that the kernel gives them (lib/glob.c): *, ?, sets
 * such as [a-z] and [!a-z], and a backslash before a character that stands for itself. A [ without
 * its ] is an ordinary character. Other globs differ in small things: in a set, ^ is an ordinary
 * character here. condition.c uses it.
 *
 * Only the last star is retried, because it can match whatever an earlier one left. So the cost is
 * at most glob times text. */

#include "consumer/records/condition-glob.h"

/* A set that begins after its [. Returns the glob after its ], or NULL if it has none. */
static const char *match_set(const char *set, unsigned char c, bool *ret_match) {
        bool is_inverted = *set == '!', is_found = false;
        const char *p = set + is_inverted;

        do { /* a ] in front is a member */
                unsigned char first = (unsigned char)*p++, last = first;

                if (first == '\0')
                        return NULL;
                if (p[0] == '-' && p[1] != ']') {
                        last = (unsigned char)p[1];
                        if (last == '\0')
                                return NULL;
                        p += 2;
                }
                is_found = is_found || (first <= c && c <= last);
        } while (*p != ']');
        *ret_match = is_found != is_inverted;
        return p + 1;
}

/* Returns the glob after its first character, which is no star, or NULL if that does not match. */
static const char *match_one(const char *glob, unsigned char c) {
        bool is_match;

        if (*glob == '?')
                return glob + 1;
        if (*glob == '[') {
                const char *next = match_set(glob + 1, c, &is_match);

                if (next)
                        return is_match ? next : NULL;
        }
        if (*glob == '\\')
                glob++;
        return *glob != '\0' && (unsigned char)*glob == c ? glob + 1 : NULL;
}

bool condition_glob_match(const char *glob, const char *text, size_t size) {
        const char *end = text + size, *star = NULL, *retry = NULL;

        while (text < end) {
                if (*glob == '*') {
                        star = ++glob;
                        retry = text;
                        continue;
                }
                const char *next = match_one(glob, (unsigned char)*text);

                if (!next && !star)
                        return false;
                glob = next ?: star;
                text = next ? text + 1 : ++retry;
        }
        while (*glob == '*')
                glob++;
        /* A backslash before nothing stands for nothing. */
        return *glob == '\0' || (*glob == '\\' && glob[1] == '\0');
}
