/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs the table of a print format: a record becomes text. Called by decode for each record. Owns
 * nothing. What lies beyond the record counts as zeros, as in libtraceevent's copy of it. */

#include <string.h>

#include "trace/print-run.h"

static const char hex_digits[] = "0123456789abcdef";

static void add_hex_prefixed(TextBlock *block, uint64_t number) {
        text_block_add(block, "0x", 2);
        text_block_add_hex(block, number);
}

/* Most texts between conversions are short. */
static void run_literal(const PrintStep *step, TextBlock *block) {
        if (step->text_size > PRINT_LITERAL_ROOM ||
                        !text_block_reserve(block, PRINT_LITERAL_ROOM)) {
                text_block_add(block, step->text, step->text_size);
                return;
        }
        memcpy(block->data + block->used, step->text, PRINT_LITERAL_ROOM);
        block->used += step->text_size;
}

/* Most numbers have no width and are whole words. */
static void run_number(const PrintStep *step, uint64_t number, TextBlock *block) {
        const TextNumber *format = &step->format;
        bool is_plain = format->bytes >= 4 && format->width == 0 && format->precision < 0 &&
                        !format->is_prefixed;

        if (!is_plain || (format->base != 10 && (format->base != 16 || format->is_upper))) {
                text_block_add_number(block, format, number);
                return;
        }
        if (format->bytes == 4)
                number = format->is_signed ? (uint64_t)(int32_t)number : (uint32_t)number;
        if (format->base == 16)
                text_block_add_hex(block, number);
        else if (format->is_signed)
                text_block_add_signed(block, (int64_t)number);
        else
                text_block_add_decimal(block, number);
}

static void run_pointer(uint64_t number, TextBlock *block) {
        if (number == 0)
                text_block_add(block, "(nil)", 5);
        else
                add_hex_prefixed(block, number);
}

static void run_function(const PrintTable *table,
                const PrintStep *step,
                uint64_t address,
                TextBlock *block) {
        unsigned long long start;
        const char *name;

        if (!tep_find_function_info(table->event->tep, address, &name, &start, NULL)) {
                add_hex_prefixed(block, address);
                return;
        }
        text_block_add(block, name, strlen(name));
        if (step->kind == PRINT_FUNCTION_OFFSET) {
                text_block_add(block, "+", 1);
                add_hex_prefixed(block, address - start);
        }
}

/* limit: the length of "%.*s", or more than any record has */
static void run_string(const PrintStep *step,
                uint64_t limit,
                const uint8_t *data,
                uint32_t size,
                TextBlock *block) {
        uint32_t offset = MIN_OF(step->offset, size), rest = size - offset;

        rest = step->size > 0 ? MIN_OF(step->size, rest) : rest;
        text_block_add_string(block,
                        (const char *)data + offset,
                        (size_t)MIN_OF((uint64_t)rest, limit),
                        &step->format);
}

/* libtraceevent does not end the text at its length, but only at a NUL. */
static void run_dynamic_string(const PrintStep *step,
                uint64_t limit,
                const uint8_t *data,
                uint32_t size,
                TextBlock *block) {
        uint32_t word, offset, length;

        if (step->offset + 4 > size)
                return;
        word = (uint32_t)event_layout_number(data + step->offset, 4, false);
        offset = word & 0xffff;
        length = word >> 16;
        if (length == 0 || offset + length > size)
                return;
        if (step->is_relative)
                offset += step->offset + 4;
        offset = MIN_OF(offset, size);
        text_block_add_string(block,
                        (const char *)data + offset,
                        (size_t)MIN_OF((uint64_t)(size - offset), limit),
                        &step->format);
}

static void run_flags(const PrintStep *step, int64_t value, TextBlock *block) {
        bool is_first = true;

        for (size_t i = 0; i < step->n_names; i++) {
                const PrintName *name = &step->names[i];

                if (value == 0 && name->value < 0) {
                        text_block_add_string(block, name->text, strlen(name->text), &step->format);
                        break;
                }
                if (name->value <= 0 || (value & name->value) != name->value)
                        continue;
                if (!is_first)
                        text_block_add(block, step->text, step->text_size);
                text_block_add_string(block, name->text, strlen(name->text), &step->format);
                is_first = false;
                value &= ~name->value;
        }
        if (value == 0)
                return;
        if (!is_first)
                text_block_add(block, step->text, step->text_size);
        add_hex_prefixed(block, (uint64_t)value);
}

static void run_symbol(const PrintStep *step, int64_t value, TextBlock *block) {
        for (size_t i = 0; i < step->n_names; i++)
                if (step->names[i].value == value) {
                        const char *text = step->names[i].text;

                        text_block_add_string(block, text, strlen(text), &step->format);
                        return;
                }
        add_hex_prefixed(block, (uint64_t)value);
}

static void run_uuid(const PrintStep *step, const uint8_t *data, uint32_t size, TextBlock *block) {
        for (uint32_t i = 0; i < step->size; i++) {
                uint8_t byte = step->offset + i < size ? data[step->offset + i] : 0;

                text_block_add_char(block, hex_digits[byte >> 4]);
                text_block_add_char(block, hex_digits[byte & 15]);
                if (i == 3 || i == 5 || i == 7 || i == 9)
                        text_block_add_char(block, '-');
        }
}

static void run_hex(const PrintStep *step, const uint8_t *data, uint32_t size, TextBlock *block) {
        uint32_t start = MIN_OF(print_loop_locate(step->loop, data, size), size);
        uint64_t count = expression_evaluate(&step->loop->count, data, size);

        count = MIN_OF(count, (uint64_t)(size - start));
        for (uint64_t i = 0; i < count; i++) {
                uint8_t byte = data[start + i];

                if (i > 0 && step->text_size > 0)
                        text_block_add_char(block, ' ');
                text_block_add_char(block, hex_digits[byte >> 4]);
                text_block_add_char(block, hex_digits[byte & 15]);
        }
}

static void run_state(const PrintStep *step, uint64_t state, TextBlock *block) {
        uint32_t bits = (uint32_t)state & step->states;

        if (bits == 0)
                text_block_add_char(block, 'R');
        for (; bits != 0; bits &= bits - 1) {
                text_block_add_char(block, step->text[__builtin_ctz(bits)]);
                if ((bits & (bits - 1)) != 0)
                        text_block_add_char(block, '|');
        }
}

/* Most expressions are one field. */
static inline uint64_t print_run_evaluate(const Expression *number,
                const uint8_t *data,
                uint32_t size) {
        const ExpressionStep *step = number->steps;

        if (number->n_steps == 1 && step->kind == EXPRESSION_FIELD &&
                        step->offset + step->size <= size) {
                if (step->size == 4)
                        return event_layout_number(data + step->offset, 4, false);
                if (step->size == 8)
                        return event_layout_number(data + step->offset, 8, false);
        }
        return expression_evaluate(number, data, size);
}

/* Runs a step, and returns the number of the next one. */
static size_t run_step(const PrintTable *table,
                size_t at,
                const uint8_t *data,
                uint32_t size,
                TextBlock *block) {
        const PrintStep *step = &table->steps[at];
        uint64_t number = step->number.n_steps > 0 ? print_run_evaluate(&step->number, data, size)
                                                   : 0;

        switch (step->kind) {
        case PRINT_LITERAL:
                run_literal(step, block);
                break;
        case PRINT_NUMBER:
                run_number(step, number, block);
                break;
        case PRINT_POINTER:
                run_pointer(number, block);
                break;
        case PRINT_FUNCTION:
        case PRINT_FUNCTION_OFFSET:
                run_function(table, step, number, block);
                break;
        case PRINT_STRING:
                run_string(step,
                                step->has_length ? (uint32_t)number : UINT32_MAX,
                                data,
                                size,
                                block);
                break;
        case PRINT_DYNAMIC_STRING:
                run_dynamic_string(step,
                                step->has_length ? (uint32_t)number : UINT32_MAX,
                                data,
                                size,
                                block);
                break;
        case PRINT_FLAGS:
                run_flags(step, (int64_t)number, block);
                break;
        case PRINT_SYMBOL:
                run_symbol(step, (int64_t)number, block);
                break;
        case PRINT_UUID:
                run_uuid(step, data, size, block);
                break;
        case PRINT_HEX:
                run_hex(step, data, size, block);
                break;
        case PRINT_STATE:
                run_state(step, number, block);
                break;
        case PRINT_SKIP_IF_ZERO:
                return number == 0 ? step->target : at + 1;
        case PRINT_SKIP:
                return step->target;
        }
        return at + 1;
}

void print_run(const PrintTable *table, const uint8_t *data, uint32_t size, TextBlock *block) {
        for (size_t at = 0; at < table->n_steps;)
                at = run_step(table, at, data, size, block);
}
