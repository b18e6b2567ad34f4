/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "error.h"
#include "format.h"

#define FILTER_TEXT_MAX 2048 /* bytes a caller may write */

/* What a filter may speak of. */
typedef struct FilterContext {
        const char *event;    /* "sched:sched_switch", for messages */
        const Format *format; /* its fields */
        /* NULL: all. False for a field that is cut for this caller: a filter would tell its value.
         */
        bool (*may_read)(const FormatField *field, void *userdata);
        void *userdata;
} FilterContext;

/* Parses and types one filter and gives the text for the kernel: canonical, comforts compiled away.
 * KT_E_INVALID_SPEC with "EVENT: filter column N: what is wrong", the place marked,
 * KT_E_ACCESS_DENIED for a field that is cut. Time is linear in the text. */
int filter_compile(const FilterContext *context, const char *text, char **ret, Reason *reason);
