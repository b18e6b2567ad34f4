/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Spans of time as users write them: one whole number and one unit. Sums ("1h 30min") and
 * fractions are not accepted, because a value that a person chose does not need them. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/duration.h"
#include "interfaces/error.h"

/* Smallest first: duration_format() searches from the end. */
static const struct {
        const char *name;
        uint64_t usec;
} units[] = {
        { "us", 1 },
        { "ms", 1000 },
        { "s", 1000000 },
        { "min", UINT64_C(60) * 1000000 },
        { "h", UINT64_C(3600) * 1000000 },
        { "d", UINT64_C(86400) * 1000000 },
};

int duration_parse(const char *text, uint64_t *ret_usec) {
        uint64_t value = 0, scale = 0;
        const char *p = text;

        for (; *p >= '0' && *p <= '9'; p++)
                if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
                                __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
                        return -ERANGE;
        if (p == text)
                return -EINVAL;

        for (size_t i = 0; i < ELEMENTSOF(units); i++)
                if (strcmp(*p ? p : "s", units[i].name) == 0)
                        scale = units[i].usec;
        if (scale == 0)
                return -EINVAL;
        if (__builtin_mul_overflow(value, scale, &value))
                return -ERANGE;
        *ret_usec = value;
        return 0;
}

void duration_format(uint64_t usec, char out[static DURATION_TEXT_MAX]) {
        size_t i = ELEMENTSOF(units) - 1;

        while (i > 0 && usec % units[i].usec != 0)
                i--;
        snprintf(out, DURATION_TEXT_MAX, "%" PRIu64 "%s", usec / units[i].usec, units[i].name);
}
