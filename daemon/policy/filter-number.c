/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parses numbers of a filter: decimal, hexadecimal, octal, negative; durations (nanoseconds) and
 * sizes (bytes); and lists of CPUs. Called by filter-check.c for a value whose field is known.
 *
 * The kernel silently truncates a number to the field's width, so that 300 is 44 in a byte, and
 * compares an unsigned field with the truncated bits of a negative number: so the range is checked
 * here. For a mask only the width matters: each pattern of that many bits is valid. */

#include "policy/filter-number.h"

#include <inttypes.h>
#include <string.h>

#include "policy/filter-tree.h"
#include "policy/filter.h"

static const struct {
        const char *text;
        uint64_t factor;
} units[] = {
        { "", 1 },
        { "ns", 1 },
        { "us", 1000 },
        { "ms", 1000 * 1000 },
        { "s", 1000 * 1000 * 1000 },
        { "min", UINT64_C(60) * 1000 * 1000 * 1000 },
        { "h", UINT64_C(3600) * 1000 * 1000 * 1000 },
        { "k", 1 << 10 },
        { "K", 1 << 10 },
        { "M", 1 << 20 },
        { "G", 1 << 30 },
};

typedef struct Number {
        uint64_t magnitude;
        bool negative;
} Number;

static int digit_value(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;
        return 16;
}

static int refuse_token(const FilterTree *tree, const FilterToken *token, const char *what) {
        return filter_refuse(tree,
                        KT_E_INVALID_SPEC,
                        token->p,
                        "'%.*s' is not a number: %s",
                        (int)MIN_OF(token->size, (size_t)32),
                        token->p,
                        what);
}

static int refuse_range(const FilterTree *tree,
                const FilterNode *node,
                size_t size,
                bool is_signed) {
        uint64_t most = UINT64_MAX >> (64 - 8 * size);
        const FilterToken *token = &node->value;
        int shown = (int)MIN_OF(token->size, (size_t)32);

        if (is_signed)
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                token->p,
                                "%.*s is out of the range of %s: %" PRId64 " to %" PRId64,
                                shown,
                                token->p,
                                node->name,
                                -(int64_t)(most / 2) - 1,
                                (int64_t)(most / 2));
        return filter_refuse(tree,
                        KT_E_INVALID_SPEC,
                        token->p,
                        "%.*s is out of the range of %s: 0 to %" PRIu64,
                        shown,
                        token->p,
                        node->name,
                        most);
}

/* Reads the digits at *p and moves *p after them. Returns false for more than 64 bits. */
static bool read_digits(const char **p, const char *end, unsigned base, uint64_t *ret) {
        bool fits = true;

        *ret = 0;
        for (; *p < end && digit_value(**p) < (int)base; (*p)++)
                fits = fits && !__builtin_mul_overflow(*ret, base, ret) &&
                       !__builtin_add_overflow(*ret, (uint64_t)digit_value(**p), ret);
        return fits;
}

/* fits: the number has at most 64 bits. */
static int filter_number_read_number(const FilterTree *tree,
                const FilterToken *token,
                Number *ret,
                bool *fits) {
        const char *p = token->p, *end = token->p + token->size, *digits;
        unsigned base = 10;

        ret->negative = *p == '-';
        p += ret->negative;
        if (end - p > 1 && p[0] == '0')
                base = p[1] == 'x' || p[1] == 'X' ? 16 : p[1] >= '0' && p[1] <= '9' ? 8 : 10;
        p += base == 16 ? 2 : 0;
        digits = p;
        *fits = read_digits(&p, end, base, &ret->magnitude);
        if (p == digits)
                return refuse_token(tree, token, "digits are missing");
        if (p == end)
                return 0;
        if (base == 8 && *p >= '8' && *p <= '9')
                return refuse_token(tree, token, "a leading 0 makes it octal");
        for (size_t i = 0; base == 10 && i < ELEMENTSOF(units); i++)
                if (strlen(units[i].text) == (size_t)(end - p) &&
                                memcmp(units[i].text, p, (size_t)(end - p)) == 0) {
                        *fits = *fits &&
                                !__builtin_mul_overflow(
                                                ret->magnitude, units[i].factor, &ret->magnitude);
                        return 0;
                }
        return refuse_token(tree,
                        token,
                        *p == '.' ? "write a whole number in a smaller unit"
                                  : "units are ns, us, ms, s, min, h and k, M, G");
}

int filter_check_number(FilterTree *tree, FilterNode *node, size_t size, bool is_signed) {
        uint64_t bits = UINT64_MAX >> (64 - 8 * size), sign = bits / 2 + 1;
        bool is_mask = node->op.op == OPERATOR_MASK, fits;
        Number number;
        int r = filter_number_read_number(tree, &node->value, &number, &fits);

        if (r != 0)
                return r;
        if (number.negative)
                fits = fits && (is_signed || is_mask || number.magnitude == 0) &&
                       number.magnitude <= sign;
        else
                fits = fits && number.magnitude <= (is_signed && !is_mask ? sign - 1 : bits);
        if (!fits)
                return refuse_range(tree, node, size, is_signed && !is_mask);

        node->number = number.negative ? -number.magnitude : number.magnitude;
        if (is_mask)
                node->number &= bits;
        node->value_type = is_mask ? VALUE_MASK : is_signed ? VALUE_SIGNED : VALUE_UNSIGNED;
        /* The kernel parses the value of a signed field as a signed number, so large masks must not
         * be printed in hexadecimal. */
        if (is_mask && is_signed && size == 8 && node->number >= sign)
                node->value_type = VALUE_SIGNED;
        return 0;
}

/* Reads one CPU at *p and moves *p after it. */
static int check_cpu(const FilterTree *tree, const char **p, const char *end, uint64_t *ret) {
        const char *start = *p;

        if (!read_digits(p, end, 10, ret) || *p == start || *ret >= tree->context->n_cpus)
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                start,
                                "expected a CPU from 0 to %u, as in CPUS{0-3,7}",
                                tree->context->n_cpus - 1);
        return 0;
}

int filter_check_cpus(FilterTree *tree, const FilterNode *node) {
        const char *p = node->value.p, *end = p + node->value.size;
        uint64_t first, last;
        int r;

        if (tree->context->n_cpus == 0)
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                node->value.p,
                                "this kernel has no CPUS{…} in filters");
        for (;; p++) {
                r = check_cpu(tree, &p, end, &first);
                if (r != 0)
                        return r;
                last = first;
                if (p < end && *p == '-') {
                        p++;
                        r = check_cpu(tree, &p, end, &last);
                        if (r != 0)
                                return r;
                }
                if (last < first)
                        return filter_refuse(tree,
                                        KT_E_INVALID_SPEC,
                                        node->value.p,
                                        "expected a range of CPUs from the lower to the higher "
                                        "number");
                if (p == end)
                        return 0;
                if (*p != ',')
                        return filter_refuse(
                                        tree, KT_E_INVALID_SPEC, p, "expected ',', got '%c'", *p);
        }
}
