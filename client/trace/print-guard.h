/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <traceevent/event-parse.h>

#include "trace/expression.h"

/* A print argument that walks an array. libtraceevent does not check the array's end. */
typedef struct PrintLoop {
        const struct tep_print_arg *arg;
        uint32_t offset;
        bool is_dynamic, is_relative; /* the word at offset says where the array is */
        Expression count, element;    /* element without steps: bytes */
} PrintLoop;

#define PRINT_LOOPS_MAX 8

/* "%.*s" takes the length from the record. libtraceevent reads any memory if it is negative. */
#define PRINT_LENGTHS_MAX 8

/* Which records may be printed by the print format of their event. */
typedef struct PrintGuard {
        PrintLoop loops[PRINT_LOOPS_MAX];
        size_t n_loops;
        Expression lengths[PRINT_LENGTHS_MAX];
        size_t n_lengths;
        bool is_safe; /* false: no record */
} PrintGuard;

/* Returns false for a printf format with a width that would make a line of gigabytes. */
bool print_guard_check_widths(const char *format);
/* Returns 0 or -ENOMEM. */
int print_guard_init(PrintGuard *guard, struct tep_event *event);
void print_guard_clear(PrintGuard *guard);
/* The record must fit its layout. */
bool print_guard_admits(const PrintGuard *guard, const uint8_t *data, uint32_t size);
/* The place of the loop's array; it may lie beyond the record. */
uint32_t print_loop_locate(const PrintLoop *loop, const uint8_t *data, uint32_t size);
