/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <traceevent/event-parse.h>

#include "interfaces/cleanup.h"
#include "trace/event-layout.h"
#include "trace/expression.h"
#include "trace/print-guard.h"
#include "trace/text-block.h"

typedef enum PrintKind {
        PRINT_LITERAL,
        PRINT_NUMBER,
        PRINT_POINTER,
        PRINT_FUNCTION,        /* the kernel function at an address */
        PRINT_FUNCTION_OFFSET, /* with the distance from its start */
        PRINT_STRING,          /* size bytes at offset; size 0: to the record's end */
        PRINT_DYNAMIC_STRING,  /* where the __data_loc word at offset says, up to a NUL */
        PRINT_FLAGS,
        PRINT_SYMBOL,
        PRINT_UUID,         /* of 16 bytes at offset */
        PRINT_HEX,          /* the bytes of a loop of the guard */
        PRINT_STATE,        /* a letter of text for each bit that is set, else R */
        PRINT_SKIP_IF_ZERO, /* go to step `target` */
        PRINT_SKIP,
} PrintKind;

/* A row of __print_flags() or __print_symbolic(). */
typedef struct PrintName {
        int64_t value;
        const char *text; /* borrowed from libtraceevent */
} PrintName;

/* A literal has room for so many bytes at least, so that print_run() can copy them at once. */
#define PRINT_LITERAL_ROOM 16

typedef struct PrintStep {
        PrintKind kind;
        TextNumber format;
        Expression number;
        uint32_t offset, size;
        bool is_relative;
        bool has_length; /* of strings: the number is the length of "%.*s" */
        char *text;      /* of a literal, between flags, of states, between bytes */
        size_t text_size;
        PrintName *names;
        size_t n_names, target;
        uint32_t states;       /* the bits that have a letter */
        const PrintLoop *loop; /* borrowed from the guard */
} PrintStep;

/* The print format of an event as a list of steps. */
typedef struct PrintTable {
        struct tep_event *event; /* borrowed */
        PrintGuard guard;
        PrintStep *steps;
        size_t n_steps, n_allocated;
        bool is_compiled;  /* false: only libtraceevent can print the event */
        bool learns_names; /* libtraceevent's plugin stores the task names that it prints */
} PrintTable;

/* The table does not change afterwards, so several threads may use it. Returns 0 or -ENOMEM. */
int print_table_new(const EventLayout *layout, PrintTable **ret);
PrintTable *print_table_free(PrintTable *table);
DEFINE_CLEANUP(PrintTable, print_table_free);
/* Adds a text that is printed as it is. Returns 0 or -ENOMEM. */
int print_table_add_literal(PrintTable *table, const char *text, size_t size);
/* Adds an empty step. Returns NULL if memory is short. */
PrintStep *print_table_add(PrintTable *table, PrintKind kind);
