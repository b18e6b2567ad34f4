/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <traceevent/event-parse.h>

#include "interfaces/error.h"

typedef enum ShapeKind {
        SHAPE_NUMBER,
        SHAPE_POINTER,
        SHAPE_STRING,
        SHAPE_ARRAY,
} ShapeKind;

typedef struct ShapeField {
        const char *name; /* borrowed from libtraceevent */
        ShapeKind kind;
        uint32_t offset;
        uint32_t size;    /* 0: up to the record's end */
        uint32_t element; /* of arrays: bytes of an element: 1, 2, 4 or 8 */
        bool is_signed;
        bool is_swapped;  /* a number in big-endian order */
        bool is_dynamic;  /* the word at offset is length << 16 | place */
        bool is_relative; /* the place counts from the end of that word */
} ShapeField;

/* A print argument that walks an array. libtraceevent does not check the array's end. */
typedef struct ShapeLoop {
        const struct tep_print_arg *array, *count, *element; /* element NULL: bytes */
} ShapeLoop;

#define SHAPE_LOOPS_MAX 8

/* Two fields that together name a task. */
typedef struct ShapeName {
        const ShapeField *name, *pid;
} ShapeName;

#define SHAPE_NAMES_MAX 3

/* What is known about the records of one event. */
typedef struct Shape {
        struct tep_event *event; /* borrowed */
        uint32_t min_size;       /* smaller records are damaged */
        ShapeField *fields;      /* without the common ones */
        size_t n_fields;
        ShapeLoop loops[SHAPE_LOOPS_MAX];
        size_t n_loops;
        ShapeName names[SHAPE_NAMES_MAX];
        size_t n_names;
        bool is_printable; /* its print format is safe to run */
        bool is_multiline; /* newlines in its text come from the kernel's format */
} Shape;

/* Returns false for a printf format with a width that would make a line of gigabytes. */
bool shape_check_widths(const char *format);
/* Fails with KT_E_FAILED and a reason when fields are outside of any record. */
int shape_new(struct tep_event *event, Shape **ret, Reason *reason);
Shape *shape_free(Shape *shape);
DEFINE_CLEANUP(Shape, shape_free);

/* Whether all fields lie inside the record. */
bool shape_fits(const Shape *shape, const uint8_t *data, uint32_t size);
/* Whether the print format may be run on a record that fits. */
bool shape_may_print(const Shape *shape, const uint8_t *data, uint32_t size);
/* Gets the place of a field. The record must fit. */
void shape_locate(const ShapeField *field,
                const uint8_t *data,
                uint32_t size,
                uint32_t *ret_offset,
                uint32_t *ret_size);
/* Reads 1, 2, 4 or 8 bytes, with sign extension if requested. */
uint64_t shape_number(const uint8_t *data, uint32_t size, bool is_signed);
