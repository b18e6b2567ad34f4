/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Times with which a user chooses a part of a recording: from its start, of its clock, or of the
 * day. Called by selection.c and by the verbs. Numbers are integers of nanoseconds throughout. */

#include "trace/selection-time.h"

#include <string.h>
#include <time.h>

#include "interfaces/quote.h"

#define NSEC_PER_SEC UINT64_C(1000000000)
#define NSEC_PER_DAY (86400 * NSEC_PER_SEC)

/* Parses "1.5" to units of `unit` nanoseconds. Returns where it ended; NULL: no number, or too
 * large. */
static const char *selection_time_read_number(const char *text,
                uint64_t *ret_whole,
                uint64_t *ret_nano) {
        uint64_t whole = 0, nano = 0, digit = NSEC_PER_SEC;
        const char *p = text;

        for (; *p >= '0' && *p <= '9'; p++) {
                if (whole > UINT32_MAX)
                        return NULL;
                whole = whole * 10 + (uint64_t)(*p - '0');
        }
        if (p == text)
                return NULL;
        if (*p == '.' && p[1] >= '0' && p[1] <= '9')
                for (p++; *p >= '0' && *p <= '9'; p++) {
                        digit /= 10;
                        nano += digit * (uint64_t)(*p - '0');
                }
        *ret_whole = whole;
        *ret_nano = nano;
        return p;
}

static uint64_t selection_time_find_unit(const char *text) {
        static const struct {
                const char *name;
                uint64_t ns;
        } units[] = { { "", NSEC_PER_SEC },
                { "s", NSEC_PER_SEC },
                { "ms", 1000000 },
                { "us", 1000 },
                { "ns", 1 },
                { "min", 60 * NSEC_PER_SEC },
                { "h", 3600 * NSEC_PER_SEC } };

        for (size_t i = 0; i < ELEMENTSOF(units); i++)
                if (strcmp(text, units[i].name) == 0)
                        return units[i].ns;
        return 0;
}

/* Returns 0, or the position from 1 of what is wrong. */
static size_t selection_time_read_duration(const char *text, uint64_t *ret) {
        uint64_t whole, nano, unit;
        const char *end = selection_time_read_number(text, &whole, &nano);
        unsigned __int128 ns;

        if (!end)
                return 1;
        unit = selection_time_find_unit(end);
        if (unit == 0)
                return (size_t)(end - text) + 1;
        ns = (unsigned __int128)whole * unit + (unsigned __int128)nano * unit / NSEC_PER_SEC;
        if (ns > INT64_MAX)
                return 1;
        *ret = (uint64_t)ns;
        return 0;
}

int selection_time_parse_duration(const char *option,
                const char *text,
                uint64_t *ret,
                Reason *reason) {
        uint64_t ns = 0;
        size_t position = selection_time_read_duration(text, &ns);

        if (position == 0 && ns > 0) {
                *ret = ns;
                return 0;
        }
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s %s, position %zu: expected a duration such as 2s, 10ms or 1.5",
                        option,
                        quote(text).text,
                        MAX_OF(position, (size_t)1));
}

/* "12:34:56.5", or with "2026-11-23T" before it, and possibly "Z" at the end, as --wall prints. */
static bool selection_time_read_wall(const char *text, SelectionTime *ret) {
        struct tm tm = { .tm_mday = 1, .tm_year = 70 };
        const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
        SelectionTimeKind kind = end ? SELECTION_TIME_DATE : SELECTION_TIME_DAY;
        uint64_t whole, nano = 0;
        char fraction[32];

        if (!end) {
                tm = (struct tm){ .tm_mday = 1, .tm_year = 70 };
                end = strptime(text, "%H:%M:%S", &tm);
        }
        if (!end || tm.tm_sec > 59)
                return false;
        if (*end == '.') {
                (void)snprintf(fraction, sizeof(fraction), "0%s", end);
                const char *rest = selection_time_read_number(fraction, &whole, &nano);

                end += rest - fraction - 1;
        }
        time_t seconds = timegm(&tm);
        /* 2262 is the last year whose nanoseconds have 63 bits. */
        if (seconds < 0 || (uint64_t)seconds >= INT64_MAX / NSEC_PER_SEC ||
                        (*end && strcmp(end, "Z") != 0))
                return false;
        *ret = (SelectionTime){ kind, (uint64_t)seconds * NSEC_PER_SEC + nano };
        return true;
}

int selection_time_parse(const char *option, const char *text, SelectionTime *ret, Reason *reason) {
        bool is_absolute = text[0] == '@';
        SelectionTime time = { is_absolute ? SELECTION_TIME_TRACE : SELECTION_TIME_RELATIVE };
        size_t position = 0;

        if (strchr(text, ':') && !is_absolute) {
                if (selection_time_read_wall(text, ret))
                        return 0;
                position = 1;
        } else
                position = selection_time_read_duration(text + is_absolute, &time.ns);
        if (position == 0) {
                *ret = time;
                return 0;
        }
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s %s, position %zu: expected a time from the start such as 0.5 or 10ms, a time of "
                        "the trace's clock such as @100.25, or a time of day (UTC) such as 12:34:56.5",
                        option,
                        quote(text).text,
                        position + is_absolute);
}

/* Times of the day refer to the day on which the recording began, or to the next one. */
static uint64_t selection_time_find_day(uint64_t ns, uint64_t first, int64_t wall_offset) {
        uint64_t wall_first = first + (uint64_t)wall_offset;
        uint64_t wall = wall_first - wall_first % NSEC_PER_DAY + ns;

        /* More than half a day before the start is the day after. */
        if (wall + NSEC_PER_DAY / 2 < wall_first)
                wall += NSEC_PER_DAY;
        return wall;
}

int selection_time_resolve(const SelectionTime *time,
                const Decode *decode,
                uint64_t first,
                uint64_t *ret,
                Reason *reason) {
        uint64_t ns = time->ns;

        switch (time->kind) {
        case SELECTION_TIME_NONE:
                return 0;
        case SELECTION_TIME_TRACE:
                *ret = ns;
                return 0;
        case SELECTION_TIME_RELATIVE:
                *ret = first > UINT64_MAX - ns ? UINT64_MAX : first + ns;
                return 0;
        default:
                break;
        }
        if (!decode->has_wall)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "a time of day cannot be used: the recording does not relate its clock "
                                "to the time of day; use a time from the start, such as 0.5");
        if (time->kind == SELECTION_TIME_DAY)
                ns = selection_time_find_day(ns, first, decode->wall_offset_ns);
        int64_t of_trace = (int64_t)(ns - (uint64_t)decode->wall_offset_ns);
        *ret = of_trace > 0 ? (uint64_t)of_trace : 0;
        return 0;
}
