/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Assembles text in memory: records become lines here before they are written. Called by the
 * printers and by the tables of print formats. Numbers are printed without printf(), which would
 * take most of the time. text_block_add_number() prints what printf() of glibc prints. */

#include "trace/text-block.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The content of records is not trusted. */
#define TEXT_MAX   ((size_t)16 * 1024 * 1024)
#define DIGITS_MAX 24

static const char pairs[] =
                "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                "8081828384858687888990919293949596979899";

void text_block_clear(TextBlock *block) {
        free(block->data);
        *block = (TextBlock){ 0 };
}

bool text_block_grow(TextBlock *block, size_t size) {
        size_t wanted = block->used + size;
        char *data;

        if (size > TEXT_MAX || wanted > TEXT_MAX) {
                block->is_cut = true;
                return false;
        }
        wanted = MAX_OF(wanted * 2, (size_t)4096);
        data = realloc(block->data, wanted);
        if (!data) {
                block->is_short_of_memory = true;
                return false;
        }
        block->data = data;
        block->size = wanted;
        return true;
}

int text_block_write(TextBlock *block, FILE *out) {
        size_t size = block->used;

        block->used = 0;
        if (block->is_short_of_memory)
                return -ENOMEM;
        if (size > 0 && fwrite_unlocked(block->data, 1, size, out) != size)
                return errno > 0 ? -errno : -EIO;
        return 0;
}

/* Writes digits that end at `end`, and returns their start. */
static char *put_decimal(char *end, uint64_t number) {
        while (number >= 100) {
                end -= 2;
                memcpy(end, pairs + 2 * (number % 100), 2);
                number /= 100;
        }
        if (number >= 10) {
                end -= 2;
                memcpy(end, pairs + 2 * number, 2);
                return end;
        }
        *--end = (char)('0' + number);
        return end;
}

static char *put_power(char *end, uint64_t number, unsigned shift, bool is_upper) {
        const char *digits = is_upper ? "0123456789ABCDEF" : "0123456789abcdef";

        do
                *--end = digits[number & ((1u << shift) - 1)];
        while ((number >>= shift) > 0);
        return end;
}

/* 1233 / 4096 is the logarithm of 2 to the base 10, exact enough for 64 bits. */
static unsigned count_digits(uint64_t number) {
        static const uint64_t powers[] = {
                UINT64_C(0),
                UINT64_C(10),
                UINT64_C(100),
                UINT64_C(1000),
                UINT64_C(10000),
                UINT64_C(100000),
                UINT64_C(1000000),
                UINT64_C(10000000),
                UINT64_C(100000000),
                UINT64_C(1000000000),
                UINT64_C(10000000000),
                UINT64_C(100000000000),
                UINT64_C(1000000000000),
                UINT64_C(10000000000000),
                UINT64_C(100000000000000),
                UINT64_C(1000000000000000),
                UINT64_C(10000000000000000),
                UINT64_C(100000000000000000),
                UINT64_C(1000000000000000000),
                UINT64_C(10000000000000000000),
        };
        unsigned bits = 64 - (unsigned)__builtin_clzll(number | 1), n = bits * 1233 >> 12;

        return n + (number >= powers[n]);
}

/* The eight lower-case digits of a word, all at once: each digit gets a byte, and those above 9 get
 * the distance to the letters. */
static void put_hex_word(char *out, uint32_t word) {
        uint64_t digits = word, letters;

        digits = (digits | digits << 16) & UINT64_C(0x0000ffff0000ffff);
        digits = (digits | digits << 8) & UINT64_C(0x00ff00ff00ff00ff);
        digits = (digits | digits << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
        letters = (digits + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
        digits = htobe64(digits + UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10));
        memcpy(out, &digits, 8);
}

void text_block_add_decimal(TextBlock *block, uint64_t number) {
        if (number < 10)
                text_block_add_char(block, (char)('0' + number));
        else
                text_block_add_digits(block, number, 1);
}

void text_block_add_signed(TextBlock *block, int64_t number) {
        if (number < 0)
                text_block_add_char(block, '-');
        text_block_add_decimal(block, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

void text_block_add_digits(TextBlock *block, uint64_t number, unsigned digits) {
        unsigned n = count_digits(number);
        char *start;

        n = MAX_OF(n, digits);
        if (!text_block_reserve(block, n))
                return;
        start = block->data + block->used;
        for (char *p = put_decimal(start + n, number); p > start;)
                *--p = '0';
        block->used += n;
}

void text_block_add_hex(TextBlock *block, uint64_t number) {
        unsigned n = (67 - (unsigned)__builtin_clzll(number | 1)) / 4;

        char *out;

        if (!text_block_reserve(block, 16))
                return;
        out = block->data + block->used;
        if (n <= 8)
                put_hex_word(out, (uint32_t)(number << (32 - 4 * n)));
        else {
                number <<= 64 - 4 * n;
                put_hex_word(out, (uint32_t)(number >> 32));
                put_hex_word(out + 8, (uint32_t)number);
        }
        block->used += n;
}

void text_block_add_right(TextBlock *block, const char *text, size_t size, size_t width) {
        size_t pad = size < width ? width - size : 0;

        if (!text_block_reserve(block, 32 + size))
                return;
        memset(block->data + block->used, ' ', 32);
        memcpy(block->data + block->used + pad, text, size);
        block->used += pad + size;
}

static size_t missing(int wanted, size_t size) {
        return wanted > 0 && (size_t)wanted > size ? (size_t)wanted - size : 0;
}

void text_block_add_number(TextBlock *block, const TextNumber *format, uint64_t number) {
        char digits[DIGITS_MAX], *end = digits + sizeof(digits), *p = end;
        unsigned shift = 64 - 8 * format->bytes;
        char sign[2];
        size_t n_sign = 0, zeros, pad;

        number <<= shift;
        if (format->is_signed) {
                int64_t value = (int64_t)number >> shift;

                if (value < 0)
                        sign[n_sign++] = '-';
                number = value < 0 ? -(uint64_t)value : (uint64_t)value;
        } else
                number >>= shift;
        if (number > 0 || format->precision != 0)
                p = format->base == 10 ? put_decimal(end, number)
                                       : put_power(end,
                                                         number,
                                                         format->base == 16 ? 4 : 3,
                                                         format->is_upper);
        if (format->is_prefixed && format->base == 16 && number > 0) {
                sign[n_sign++] = '0';
                sign[n_sign++] = format->is_upper ? 'X' : 'x';
        }

        zeros = missing(format->precision, (size_t)(end - p));
        pad = missing(format->width, n_sign + zeros + (size_t)(end - p));
        if (format->is_zero && !format->is_left && format->precision < 0) {
                zeros = pad;
                pad = 0;
        }
        if (!format->is_left)
                text_block_add_repeated(block, ' ', pad);
        text_block_add(block, sign, n_sign);
        text_block_add_repeated(block, '0', zeros);
        text_block_add(block, p, (size_t)(end - p));
        if (format->is_left)
                text_block_add_repeated(block, ' ', pad);
}

void text_block_add_string(TextBlock *block,
                const char *text,
                size_t size,
                const TextNumber *format) {
        size_t length, pad;

        if (format->precision >= 0)
                size = MIN_OF(size, (size_t)format->precision);
        length = strnlen(text, size);
        pad = missing(format->width, length);
        if (!format->is_left)
                text_block_add_repeated(block, ' ', pad);
        text_block_add(block, text, length);
        if (format->is_left)
                text_block_add_repeated(block, ' ', pad);
}

void text_block_add_format(TextBlock *block, const char *format, ...) {
        va_list arguments;
        int n;

        if (!text_block_reserve(block, 512))
                return;
        va_start(arguments, format);
        n = vsnprintf(block->data + block->used, 512, format, arguments);
        va_end(arguments);
        if (n > 0)
                block->used += MIN_OF((size_t)n, (size_t)511);
}
