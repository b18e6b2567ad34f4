/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Protects libtraceevent 1.7's parser of event formats. On texts that no kernel writes, the
 * parser dereferences NULL tokens, recurses without limit and divides by zero. So it receives
 * only texts whose fields interfaces/format.c accepts and whose print format is well-formed:
 * closed strings and brackets, operands in the right places, no deep nesting. Called by decode.
 * An event with refused fields stays unknown. An event with a refused print format (which
 * contains statements, for example) is printed field by field, as libtraceevent itself would do. */

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/format.h"
#include "trace/format-guard.h"

#define TEXT_MAX    (64 * 1024)
#define NESTING_MAX 64
#define UNARY_MAX   8
#define CHOICES_MAX 1024

typedef enum Token {
        TOKEN_END,
        TOKEN_BAD,
        TOKEN_STRING,
        TOKEN_WORD, /* names and numbers */
        TOKEN_OPEN,
        TOKEN_CLOSE,
        TOKEN_COMMA,
        TOKEN_OPERATOR,
} Token;

typedef struct Scanner {
        const char *p;
        const char *start;
        char first;
        char open[NESTING_MAX];
        bool has_choice[NESTING_MAX + 1]; /* in this argument, at each depth */
        size_t depth;
        unsigned n_unary, n_choices;
} Scanner;

static Token scan_string(Scanner *scanner, char quote) {
        for (; *scanner->p; scanner->p++) {
                if (*scanner->p == '\\' && scanner->p[1])
                        scanner->p++;
                else if (*scanner->p == quote) {
                        scanner->p++;
                        return TOKEN_STRING;
                }
        }
        return TOKEN_BAD;
}

static Token scan_bracket(Scanner *scanner, char c) {
        static const char pairs[] = "()[]{}";
        const char *at = strchr(pairs, c);

        if ((at - pairs) % 2 == 0) {
                if (scanner->depth == NESTING_MAX)
                        return TOKEN_BAD;
                scanner->open[scanner->depth++] = c;
                return TOKEN_OPEN;
        }
        if (scanner->depth == 0 || scanner->open[--scanner->depth] != at[-1])
                return TOKEN_BAD;
        return TOKEN_CLOSE;
}

static Token scan(Scanner *scanner) {
        static const char *const operators[] = {
                "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"
        };
        char c;

        while (isspace((unsigned char)*scanner->p))
                scanner->p++;
        scanner->start = scanner->p;
        c = scanner->first = *scanner->p;
        if (c == '\0')
                return TOKEN_END;
        if (isalnum((unsigned char)c) || c == '_') {
                while (isalnum((unsigned char)*scanner->p) || *scanner->p == '_')
                        scanner->p++;
                return TOKEN_WORD;
        }
        for (size_t i = 0; i < ELEMENTSOF(operators); i++)
                if (strncmp(scanner->p, operators[i], 2) == 0) {
                        scanner->p += 2;
                        return TOKEN_OPERATOR;
                }
        scanner->p++;
        if (c == '"' || c == '\'')
                return scan_string(scanner, c);
        if (c == ',')
                return TOKEN_COMMA;
        if (strchr("()[]{}", c))
                return scan_bracket(scanner, c);
        return strchr("+-*/%&|^~!<>=?:.", c) ? TOKEN_OPERATOR : TOKEN_BAD;
}

static bool is_operand(Token token) {
        return token == TOKEN_STRING || token == TOKEN_WORD || token == TOKEN_CLOSE;
}

/* The parser computes constants while it reads the format, and a name among them counts as zero. */
static bool may_divide(const Scanner *scanner, Token token) {
        if (token != TOKEN_WORD)
                return false;
        return strncmp(scanner->start, "sizeof", 6) == 0 || strtoull(scanner->start, NULL, 0) != 0;
}

/* True if `token` may follow `last`. Casts allow a word after a bracket. */
static bool may_follow(Scanner *scanner, Token last, char last_first, Token token) {
        bool is_unary = token == TOKEN_OPERATOR && !is_operand(last);

        if (last == TOKEN_OPERATOR && strchr("/%", last_first) && !may_divide(scanner, token))
                return false;
        if (token == TOKEN_OPERATOR && scanner->first == '?' && ++scanner->n_choices > CHOICES_MAX)
                return false;
        scanner->n_unary = is_unary ? scanner->n_unary + 1 : 0;
        if (is_unary)
                return strchr("-+!~*&", scanner->first) && scanner->n_unary <= UNARY_MAX;
        if (token == TOKEN_COMMA || token == TOKEN_END || token == TOKEN_CLOSE)
                /* "(char *)" and "{ }" */
                return is_operand(last) || (token == TOKEN_CLOSE && strchr("*{", last_first));
        return true;
}

/* After a choice or an element, the parser follows a NULL pointer at an operator that it does not
 * order: "a ? b : c[1]", "a[1][2]". Called for each token, before the next one is read. */
static bool may_continue(Scanner *scanner, Token last, char last_first, Token token) {
        bool is_open = token == TOKEN_OPEN && scanner->first == '[';
        size_t depth = scanner->depth - (token == TOKEN_OPEN ? 1 : 0);
        bool is_unordered = is_open || (token == TOKEN_OPERATOR && strchr("=.", scanner->first) &&
                                                       scanner->p - scanner->start == 1);

        if (is_unordered &&
                        (scanner->has_choice[depth] || (last == TOKEN_CLOSE && last_first == ']')))
                return false;
        if (token == TOKEN_OPEN)
                scanner->has_choice[scanner->depth] = false;
        else if (token == TOKEN_COMMA)
                scanner->has_choice[depth] = false;
        else if (token == TOKEN_OPERATOR && scanner->first == '?')
                scanner->has_choice[depth] = true;
        return true;
}

/* The parser dereferences the field of a flags or symbol argument, also when the event has no such
 * field. It remembers such an argument beyond an error, so this concerns all arguments. */
static bool names_field(const Scanner *scanner, const Format *format) {
        size_t size = (size_t)(scanner->p - scanner->start);

        for (size_t i = 0; i < format->n_fields; i++)
                if (strlen(format->fields[i].name) == size &&
                                memcmp(format->fields[i].name, scanner->start, size) == 0)
                        return true;
        return false;
}

static bool print_format_is_sane(const Format *format) {
        Scanner scanner = { .p = format->print_format };
        Token last = TOKEN_COMMA, token;
        char last_first = '\0';
        bool is_arrow = false, is_record = false;

        /* The format string: one or more adjacent strings. */
        if (scan(&scanner) != TOKEN_STRING || scanner.first != '"')
                return false;
        while ((token = scan(&scanner)) == TOKEN_STRING && scanner.first == '"')
                ;
        if (token == TOKEN_END)
                return true;
        if (token != TOKEN_COMMA)
                return false;
        for (;;) {
                token = scan(&scanner);
                if (token == TOKEN_BAD || !may_follow(&scanner, last, last_first, token))
                        return false;
                if (!may_continue(&scanner, last, last_first, token))
                        return false;
                if (is_arrow && !names_field(&scanner, format))
                        return false;
                is_arrow = token == TOKEN_OPERATOR && strncmp(scanner.start, "->", 2) == 0;
                if (is_arrow && !is_record)
                        return false;
                is_record = token == TOKEN_WORD && scanner.p - scanner.start == 3 &&
                            strncmp(scanner.start, "REC", 3) == 0;
                if (token == TOKEN_END)
                        return scanner.depth == 0;
                last = token;
                last_first = scanner.first;
        }
}

static bool is_plain(const char *text) {
        for (; *text; text++)
                if (!isalnum((unsigned char)*text) && !strchr(" _*[]().+-,", *text))
                        return false;
        return true;
}

/* Without a print format, libtraceevent prints the event's fields. */
static int drop_print_format(const char *text, size_t size, char **ret) {
        static const char mark[] = "\nprint fmt: ";
        const char *at = memmem(text, size, mark, strlen(mark));

        if (!at)
                return -EBADMSG;
        return asprintf(ret, "%.*s%sunreadable\n", (int)(at - text), text, mark) < 0 ? -ENOMEM : 0;
}

int format_guard_make_safe(const char *text, size_t size, char **ret, int *ret_id) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        int r;

        if (size > TEXT_MAX)
                return -EBADMSG;
        r = format_parse(text, size, &format, NULL);
        if (r < 0)
                return r;
        if (format->id > UINT16_MAX || !is_plain(format->name))
                return -EBADMSG;
        for (size_t i = 0; i < format->n_fields; i++)
                if (!is_plain(format->fields[i].type) || !is_plain(format->fields[i].name))
                        return -EBADMSG;

        if (!print_format_is_sane(format))
                r = drop_print_format(text, size, ret);
        else
                r = (*ret = strndup(text, size)) ? 0 : -ENOMEM;
        if (r < 0)
                return r;
        *ret_id = (int)format->id;
        return 0;
}
