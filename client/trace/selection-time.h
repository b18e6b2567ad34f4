/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/decode.h"

typedef enum SelectionTimeKind {
        SELECTION_TIME_NONE,
        SELECTION_TIME_RELATIVE, /* nanoseconds from the first record */
        SELECTION_TIME_TRACE,    /* of the trace's clock */
        SELECTION_TIME_DAY,      /* nanoseconds of the day of the first record, UTC */
        SELECTION_TIME_DATE,     /* CLOCK_REALTIME */
} SelectionTimeKind;

typedef struct SelectionTime {
        SelectionTimeKind kind;
        uint64_t ns;
} SelectionTime;

/* Parses an option's value. option: for messages. KT_E_INVALID_SPEC with a reason that has the
 * position of what is wrong. */
int selection_time_parse(const char *option, const char *text, SelectionTime *ret, Reason *reason);
int selection_time_parse_duration(const char *option,
                const char *text,
                uint64_t *ret,
                Reason *reason);
/* Converts to a time of the trace's clock, which counts nanoseconds. first: the first record's
 * time. Does not change *ret if the kind is SELECTION_TIME_NONE. */
int selection_time_resolve(const SelectionTime *time,
                const Decode *decode,
                uint64_t first,
                uint64_t *ret,
                Reason *reason);
