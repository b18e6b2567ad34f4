/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Splits a filter into tokens. Called by filter-parse.c for one token at a time; each character is
 * read once, and tokens point into the caller's text.
 *
 * Strings are enclosed in two equal quotes and have no escapes, as in the kernel. Operators of
 * other languages (=, =~, !~, and, or) are refused with a hint to the right one.
 *
 * To add a token: read it here and check its type in filter-check.c; add tests to
 * tests/policy/test-filter.c, and to test-filter-native.c for the kernel's behaviour. */

#include "policy/filter-lex.h"

#include <string.h>

#include "interfaces/quote.h"
#include "interfaces/utf8.h"
#include "policy/filter-tree.h"
#include "policy/filter.h"

/* ctype.h is not used because it depends on the locale. */
static bool filter_lex_is_digit(char c) {
        return c >= '0' && c <= '9';
}

static bool filter_lex_is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool starts_with(const char *text, const char *start) {
        while (*start && *text == *start)
                text++, start++;
        return !*start;
}

static const struct {
        const char *text;
        FilterTokenType type;
        FilterOperator op;
} symbols[] = {
        /* Longer tokens must come first. */
        { "&&", TOKEN_AND, 0 },
        { "||", TOKEN_OR, 0 },
        { "==", TOKEN_OPERATOR, OPERATOR_EQUAL },
        { "!=", TOKEN_OPERATOR, OPERATOR_NOT_EQUAL },
        { "<=", TOKEN_OPERATOR, OPERATOR_LESS_EQUAL },
        { ">=", TOKEN_OPERATOR, OPERATOR_GREATER_EQUAL },
        { "<", TOKEN_OPERATOR, OPERATOR_LESS },
        { ">", TOKEN_OPERATOR, OPERATOR_GREATER },
        { "&", TOKEN_OPERATOR, OPERATOR_MASK },
        { "~", TOKEN_OPERATOR, OPERATOR_GLOB },
        { "!", TOKEN_NOT, 0 },
        { "(", TOKEN_OPEN, 0 },
        { ")", TOKEN_CLOSE, 0 },
};

/* Invalid operators, and the intended ones. */
static const struct {
        const char *text, *meant;
} foreign[] = {
        { "=~", "write ~ for globs" },
        { "!~", "write !(FIELD ~ \"GLOB\")" },
        { "===", "write ==" },
        { "<<", "write the number itself" },
        { ">>", "write the number itself" },
};

const char *filter_operator_to_string(FilterOperator op) {
        for (size_t i = 0; i < ELEMENTSOF(symbols); i++)
                if (symbols[i].type == TOKEN_OPERATOR && symbols[i].op == op)
                        return symbols[i].text;
        return "?";
}

static void filter_lex_take(FilterTree *tree, FilterTokenType type, size_t size) {
        tree->token = (FilterToken){ .type = type, .p = tree->next, .size = size };
        tree->next += size;
}

static int lex_string(FilterTree *tree) {
        const char *open = tree->next, *p = open + 1;

        for (size_t n; *p && *p != *open; p += n) {
                n = utf8_length(p, strnlen(p, 4));
                if (n == 0 || (unsigned char)*p < 0x20 || *p == 0x7f)
                        return filter_refuse(tree,
                                        KT_E_INVALID_SPEC,
                                        p,
                                        "a byte that is not printable text");
        }
        if (!*p)
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                open,
                                "the string that starts here has no %s at its end",
                                *open == '"' ? "\"" : "'");
        tree->next++;
        filter_lex_take(tree, TOKEN_STRING, (size_t)(p - open - 1));
        tree->next++;
        return 0;
}

/* "CPUS{0-3,7}" */
static int lex_cpus(FilterTree *tree) {
        const char *start = tree->next, *open = start + strlen("CPUS{");
        size_t size = strspn(open, "0123456789-,");

        if (open[size] != '}')
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                open + size,
                                "expected numbers and ranges of CPUs up to the next }, as in "
                                "CPUS{0-3,7}");
        tree->next = open;
        filter_lex_take(tree, TOKEN_CPUS, size);
        tree->next++;
        return 0;
}

static void lex_word(FilterTree *tree) {
        size_t size = 1;

        while (filter_lex_is_letter(tree->next[size]) || filter_lex_is_digit(tree->next[size]) ||
                        tree->next[size] == '.')
                size++;
        filter_lex_take(tree, filter_lex_is_letter(*tree->next) ? TOKEN_WORD : TOKEN_NUMBER, size);
}

static int filter_lex_symbol(FilterTree *tree) {
        for (size_t i = 0; i < ELEMENTSOF(foreign); i++)
                if (starts_with(tree->next, foreign[i].text))
                        return filter_refuse(tree,
                                        KT_E_INVALID_SPEC,
                                        tree->next,
                                        "filters have no %s: %s",
                                        foreign[i].text,
                                        foreign[i].meant);
        for (size_t i = 0; i < ELEMENTSOF(symbols); i++) {
                if (!starts_with(tree->next, symbols[i].text))
                        continue;
                filter_lex_take(tree, symbols[i].type, strlen(symbols[i].text));
                tree->token.op = symbols[i].op;
                return 0;
        }
        if (*tree->next == '=' || *tree->next == '|')
                return filter_refuse(tree,
                                KT_E_INVALID_SPEC,
                                tree->next,
                                "filters have no single %c: write %c%c",
                                *tree->next,
                                *tree->next,
                                *tree->next);
        return filter_refuse(tree,
                        KT_E_INVALID_SPEC,
                        tree->next,
                        "no part of a filter starts with %s",
                        quote((char[2]){ *tree->next, '\0' }).text);
}

int filter_lex(FilterTree *tree) {
        tree->next += strspn(tree->next, " \t");
        if (!*tree->next) {
                filter_lex_take(tree, TOKEN_END, 0);
                return 0;
        }
        if (*tree->next == '"' || *tree->next == '\'')
                return lex_string(tree);
        if (starts_with(tree->next, "CPUS{"))
                return lex_cpus(tree);
        if (!filter_lex_is_letter(*tree->next) && !filter_lex_is_digit(*tree->next) &&
                        *tree->next != '-')
                return filter_lex_symbol(tree);
        lex_word(tree);
        return 0;
}
