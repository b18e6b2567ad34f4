/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "interfaces/cleanup.h"

/* Text that grows at its end. A text that would become too long is cut. */
typedef struct TextBlock {
        char *data;
        size_t used, size;
        bool is_short_of_memory;
        bool is_cut; /* text is missing because it became too long */
} TextBlock;

/* How printf() would print a number: "%-08.3lx" and the like. */
typedef struct TextNumber {
        uint8_t base;  /* 8, 10 or 16 */
        uint8_t bytes; /* of the value that count: 1, 2, 4 or 8 */
        bool is_signed, is_upper;
        bool is_left, is_zero, is_prefixed; /* the flags - 0 # */
        int16_t width, precision;           /* precision -1: none */
} TextNumber;

void text_block_clear(TextBlock *block);
/* Returns false, and keeps the text, if the text would become too long or memory is short. */
bool text_block_grow(TextBlock *block, size_t size);
/* Writes the text and empties the block. Returns 0 or -errno; -ENOMEM: text is missing. */
int text_block_write(TextBlock *block, FILE *out);
void text_block_add_decimal(TextBlock *block, uint64_t number);
/* With spaces before it up to a width of at most 32. */
void text_block_add_right(TextBlock *block, const char *text, size_t size, size_t width);
void text_block_add_signed(TextBlock *block, int64_t number);
/* Decimal with at least `digits` digits, at most 20. */
void text_block_add_digits(TextBlock *block, uint64_t number, unsigned digits);
/* Without prefix, in lower case. */
void text_block_add_hex(TextBlock *block, uint64_t number);
void text_block_add_number(TextBlock *block, const TextNumber *format, uint64_t number);
/* Like printf("%.*s"): up to a NUL. precision -1: none. */
void text_block_add_string(TextBlock *block,
                const char *text,
                size_t size,
                const TextNumber *format);
void text_block_add_format(TextBlock *block, const char *format, ...) _printf_(2, 3);

static inline bool text_block_reserve(TextBlock *block, size_t size) {
        return size <= block->size - block->used || text_block_grow(block, size);
}

static inline void text_block_add(TextBlock *block, const char *text, size_t size) {
        if (size == 0 || !text_block_reserve(block, size)) /* memcpy() refuses NULL */
                return;
        memcpy(block->data + block->used, text, size);
        block->used += size;
}

static inline void text_block_add_char(TextBlock *block, char c) {
        if (text_block_reserve(block, 1))
                block->data[block->used++] = c;
}

static inline void text_block_add_repeated(TextBlock *block, char c, size_t n) {
        if (n == 0 || !text_block_reserve(block, n))
                return;
        memset(block->data + block->used, c, n);
        block->used += n;
}
