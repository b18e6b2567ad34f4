/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "interfaces/format.h"
#include "interfaces/json.h"

#define FILTER_TEXT_MAX 2048 /* bytes of a caller's text */
#define FILTER_RESULT_MAX \
        3072 /* bytes of the compiled text; the kernel accepts 4095 in one write */
#define FILTER_PREDICATES_MAX 128
#define FILTER_DEPTH_MAX      32 /* nested parentheses */

/* The fields and features that a filter may use. */
typedef struct FilterContext {
        const char *event;    /* "sched:sched_switch", for messages */
        const char *key;      /* "where", for messages; NULL: "filter" */
        const Format *format; /* its fields */
        /* NULL: all fields, and also what only root may do: following kernel pointers. Returns
         * false for a field that is cut for this caller, because a filter would reveal its
         * value. The current CPU and the name of the current task are the fields common_cpu and
         * comm here. */
        bool (*may_read)(const FormatField *field, void *userdata);
        void *userdata;
        bool lists_keys; /* may_read() goes by a list of keys: for messages */
        unsigned n_cpus; /* possible CPUs, if the kernel accepts CPUS{…} (6.6 and later); else 0 */
        bool keeps_addresses; /* the caller may see kernel addresses */
        bool has_functions;   /* the kernel accepts FIELD.function (6.3 and later) */
} FilterContext;

/* Parses and type-checks one filter and returns the kernel's text: canonical, without our
 * extensions. Fails with KT_E_INVALID_SPEC and "EVENT: filter column N: what is wrong" (N counts
 * characters from 1), or with KT_E_ACCESS_DENIED for a field that is cut. Takes time linear in the
 * text. The result keeps its meaning when it is put in parentheses and joined to others by && and
 * ||. */
int filter_compile(const FilterContext *context, const char *text, char **ret, Reason *reason);
/* Returns a filter from filter_compile() as JSON, for a process that evaluates it
 * (filter-describe.c). KT_E_INVALID_SPEC: it compares data that no record contains. */
int filter_describe(const FilterContext *context,
                const char *compiled,
                json_object **ret,
                Reason *reason);
/* Checks only the grammar, for a filter whose event is not known yet. Fails with KT_E_INVALID_SPEC
 * and "filter column N: …". */
int filter_check_grammar(const char *text, Reason *reason);
