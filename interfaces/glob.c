/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Shell-style patterns over event names: `*`, `?`, `[abc]`, `[a-z]`, `[!a]` (or `[^a]`). Policy
 * rules and session specs both use it, so a glob means the same in a rule and in a request.
 * fnmatch(3) is not used: untrusted patterns can make it exponentially slow, and it depends on
 * the locale. There is no escape character, because no event name contains a special character.
 * A `[` without its `]` matches itself. */

#include <string.h>

#include "interfaces/glob.h"

bool glob_is_pattern(const char *pattern) {
        return strpbrk(pattern, "*?[") != NULL;
}

/* Returns the text after the set that starts at `set` ('['), or NULL if the set has no end. */
static const char *set_match(const char *set, const char *end, unsigned char c, bool *ret_match) {
        const char *p = set + 1;
        bool negated = false, found = false;

        if (p < end && (*p == '!' || *p == '^')) {
                negated = true;
                p++;
        }
        for (const char *first = p; p < end; p++) {
                unsigned char low = (unsigned char)*p, high = low;

                if (low == ']' && p != first) {
                        *ret_match = found != negated;
                        return p + 1;
                }
                if (end - p > 2 && p[1] == '-' && p[2] != ']') {
                        high = (unsigned char)p[2];
                        p += 2;
                }
                if (c >= low && c <= high)
                        found = true;
        }
        return NULL;
}

/* Returns the text after the one-character pattern at `p` if it matches `c`, else NULL. No set
 * ends at or after `sets_end`. The search stops there, which keeps patterns with many unclosed
 * `[` cheap. */
static const char *one_match(const char *p, const char *sets_end, unsigned char c) {
        const char *next;
        bool match;

        if (*p == '?')
                return p + 1;
        if (*p == '[') {
                next = set_match(p, sets_end, c, &match);
                if (next)
                        return match ? next : NULL;
        }
        return (unsigned char)*p == c ? p + 1 : NULL;
}

/* Only the last star is retried. An earlier star need not match more text, because the last one
 * can match the rest. So the cost is at most pattern times text. */
static bool range_match(const char *p, const char *end, const char *text) {
        const char *last = memrchr(p, ']', (size_t)(end - p));
        const char *sets_end = last ? last + 1 : p;
        const char *star = NULL, *retry = NULL;

        while (*text) {
                const char *next;

                if (p < end && *p == '*') {
                        star = ++p;
                        retry = text;
                        continue;
                }
                next = p < end ? one_match(p, sets_end, (unsigned char)*text) : NULL;
                if (next) {
                        p = next;
                        text++;
                        continue;
                }
                if (!star)
                        return false;
                p = star;
                text = ++retry;
        }
        while (p < end && *p == '*')
                p++;
        return p == end;
}

bool glob_match(const char *pattern, const char *text) {
        return range_match(pattern, pattern + strlen(pattern), text);
}

bool glob_match_event(const char *pattern, const char *system, const char *event) {
        const char *colon = strchr(pattern, ':');

        if (!colon)
                return glob_match(pattern, event);
        return range_match(pattern, colon, system) && glob_match(colon + 1, event);
}
