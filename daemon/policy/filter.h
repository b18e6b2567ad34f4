/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "interfaces/format.h"
#include "interfaces/json.h"

typedef struct FilterTree FilterTree;

#define FILTER_TEXT_MAX 2048 /* bytes a caller may write */
#define FILTER_RESULT_MAX \
        3072 /* bytes of what it compiles to; the kernel takes 4095 in one write */
#define FILTER_PREDICATES_MAX 128
#define FILTER_DEPTH_MAX      32 /* parentheses within each other */

/* What a filter may speak of. */
typedef struct FilterContext {
        const char *event;    /* "sched:sched_switch", for messages */
        const char *key;      /* "where", for messages; NULL: "filter" */
        const Format *format; /* its fields */
        /* NULL: all, and what only root may: following kernel pointers. False for a field that is
         * cut for this caller: a filter would tell its value. */
        bool (*may_read)(const FormatField *field, void *userdata);
        void *userdata;
        unsigned n_cpus; /* possible CPUs, where the kernel takes CPUS{…} (6.6 and later); else 0 */
        bool keeps_addresses; /* the caller may see addresses of the kernel */
        bool has_functions;   /* the kernel takes FIELD.function (6.3 and later) */
} FilterContext;

/* Parses and types one filter and gives the text for the kernel: canonical, comforts compiled away.
 * KT_E_INVALID_SPEC with "EVENT: filter column N: what is wrong" (N counts characters from 1),
 * KT_E_ACCESS_DENIED for a field that is cut. Time is linear in the text. The result stays what it
 * is when it is put in parentheses and joined to others by && and ||. */
int filter_compile(const FilterContext *context, const char *text, char **ret, Reason *reason);
/* The same filter, as filter_compile() has given it, as JSON for a process that evaluates it
 * (filter-describe.c). KT_E_INVALID_SPEC when it compares what no record holds. */
int filter_describe(const FilterContext *context,
                const char *compiled,
                json_object **ret,
                Reason *reason);
/* Only the grammar, of a filter whose event is not known yet. KT_E_INVALID_SPEC with "filter column
 * N: …". */
int filter_check_grammar(const char *text, Reason *reason);

/* Fills the reason with the place `at` in the text and returns code. */
int filter_refuse(const FilterTree *tree, int code, const char *at, const char *format, ...)
                _printf_(4, 5);
