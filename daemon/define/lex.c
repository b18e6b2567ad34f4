/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Splits one argument of a definition into words: names, $retval and the like, registers, numbers
 * and a few signs. parse.c calls it for one word after the other. Each word points into the
 * caller's text.
 *
 * To add a word, change this file and parse.c. evaluate.c finds its place (in programs
 * evaluate-user.c), and fetch.c writes it (for events fetch-field.c). Add it to
 * tests/define/test-compile.c, test-user.c, test-field.c. */

#include "define/lex.h"

#include <string.h>

#include "define/compile.h"
#include "define/probe-tree.h"

static bool lex_is_name_char(char c, bool is_first) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
               (!is_first && c >= '0' && c <= '9');
}

static bool lex_is_digit(char c) {
        return c >= '0' && c <= '9';
}

static void lex_take(ProbeTree *tree, WordType type, char symbol, size_t size) {
        tree->word = (Word){ .type = type, .symbol = symbol, .p = tree->next, .size = size };
        tree->next += size;
}

static size_t name_size(const char *p) {
        size_t n = 0;

        while (lex_is_name_char(p[n], n == 0))
                n++;
        return n;
}

static int lex_sigil(ProbeTree *tree) {
        bool is_register = *tree->next == '%';
        size_t n = 1;

        while (lex_is_name_char(tree->next[n], false))
                n++;
        if (n == 1)
                return probe_refuse(tree,
                                tree->next,
                                is_register ? "expected the name of a register after %%"
                                            : "expected $retval, $comm, or $arg1 and so on");
        lex_take(tree, is_register ? WORD_REGISTER : WORD_SPECIAL, 0, n);
        return 0;
}

static int lex_symbol(ProbeTree *tree) {
        const char *p = tree->next;

        if (p[0] == '-' && p[1] == '>') {
                lex_take(tree, WORD_SYMBOL, '.', 2);
                return 0;
        }
        if (*p && strchr(tree->context->place ? "=:.[]()*+-" : "=:.[]()*", *p)) {
                lex_take(tree, WORD_SYMBOL, *p, 1);
                return 0;
        }
        if (*p == '&')
                return probe_refuse(tree,
                                p,
                                "there is no &: write the name of the member for its value");
        if (*p && strchr("+-/<>|^!?,;", *p))
                return probe_refuse(tree, p, "expressions compute nothing: use the values");
        return probe_refuse(tree, p, "no part of a definition begins like this");
}

int probe_lex(ProbeTree *tree) {
        size_t n = 0;

        tree->next += strspn(tree->next, " \t");
        if (!*tree->next) {
                lex_take(tree, WORD_END, 0, 0);
                return 0;
        }
        if (*tree->next == '$' || *tree->next == '%')
                return lex_sigil(tree);
        if (lex_is_digit(*tree->next)) {
                while (lex_is_name_char(tree->next[n], false))
                        n++;
                lex_take(tree, WORD_NUMBER, 0, n);
                return 0;
        }
        n = name_size(tree->next);
        if (n == 0)
                return lex_symbol(tree);
        lex_take(tree, WORD_NAME, 0, n);
        return 0;
}
