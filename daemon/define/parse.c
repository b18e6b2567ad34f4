/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parses one argument of a definition into a tree, by recursive descent. Called by compile.c.
 * The grammar:
 *
 *   argument = [ NAME "=" ] value [ ":" NAME { NAME } ]
 *   value    = "*" value | "(" ("struct"|"union") NAME "*" ")" value | one
 *            | ( "+" | "-" ) NUMBER "(" value ")"       in programs
 *   one      = ( NAME | $NAME | %NAME | "(" value ")" ) { "." NAME | "->" NAME | "[" NUMBER "]" }
 *
 * Casts and stars bind as in C: weaker than the members after them. The tree's own array provides
 * the nodes, and recursion ends at PROBE_DEPTH_MAX. evaluate.c interprets the names. */

#include "define/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "define/compile.h"
#include "define/lex.h"
#include "define/probe-tree.h"

#define INDEX_MAX  65535
#define OFFSET_MAX 0x7fffffff

static int parse_value(ProbeTree *tree, ProbeNode **ret);

static bool is_symbol(const ProbeTree *tree, char symbol) {
        return tree->word.type == WORD_SYMBOL && tree->word.symbol == symbol;
}

static bool parse_is_word(const Word *word, const char *text) {
        return word->type == WORD_NAME && word->size == strlen(text) &&
               memcmp(word->p, text, word->size) == 0;
}

static int parse_refuse_here(const ProbeTree *tree, const char *wanted) {
        if (tree->word.type == WORD_END)
                return probe_refuse(tree, tree->word.p, "expected %s, got the end", wanted);
        return probe_refuse(tree,
                        tree->word.p,
                        "expected %s, got '%.*s'",
                        wanted,
                        (int)MIN_OF(tree->word.size, (size_t)32),
                        tree->word.p);
}

static int expect(ProbeTree *tree, char symbol, const char *wanted) {
        return is_symbol(tree, symbol) ? probe_lex(tree) : parse_refuse_here(tree, wanted);
}

static int parse_add_node(ProbeTree *tree, ProbeNodeType type, ProbeNode *inner, ProbeNode **ret) {
        if (tree->n_nodes == PROBE_NODES_MAX)
                return probe_refuse(tree,
                                tree->word.p,
                                "it is longer than the maximum of %d parts",
                                PROBE_NODES_MAX);
        *ret = &tree->nodes[tree->n_nodes++];
        **ret = (ProbeNode){ .type = type, .word = tree->word, .inner = inner };
        return 0;
}

/* Reads the current word as a number. */
static int parse_read_number(ProbeTree *tree, uint64_t max, uint64_t *ret) {
        char text[24], *end;

        if (tree->word.type != WORD_NUMBER || tree->word.size >= sizeof(text))
                return parse_refuse_here(tree, "a number");
        memcpy(text, tree->word.p, tree->word.size);
        text[tree->word.size] = '\0';
        *ret = strtoull(text, &end, 0);
        if (*end || *ret > max)
                return probe_refuse(tree,
                                tree->word.p,
                                "expected a number up to %" PRIu64 ", got %s",
                                max,
                                text);
        return probe_lex(tree);
}

static int parse_postfix(ProbeTree *tree, ProbeNode **node) {
        int r = 0;

        while (r == 0 && (is_symbol(tree, '.') || is_symbol(tree, '['))) {
                bool is_index = is_symbol(tree, '[');

                r = probe_lex(tree);
                if (r == 0 && !is_index && tree->word.type != WORD_NAME)
                        r = parse_refuse_here(tree, "the name of a member");
                r = r
                                    ?: parse_add_node(tree,
                                                       is_index ? PROBE_NODE_INDEX
                                                                : PROBE_NODE_MEMBER,
                                                       *node,
                                                       node);
                if (r == 0 && is_index) {
                        r = parse_read_number(tree, INDEX_MAX, &(*node)->number);
                        r = r ?: expect(tree, ']', "]");
                } else
                        r = r ?: probe_lex(tree);
        }
        return r;
}

static int parse_one(ProbeTree *tree, ProbeNode **ret) {
        ProbeNodeType type;
        int r;

        if (is_symbol(tree, '(')) {
                r = probe_lex(tree);
                r = r ?: parse_value(tree, ret);
                r = r ?: expect(tree, ')', ")");
                return r ?: parse_postfix(tree, ret);
        }
        switch (tree->word.type) {
        case WORD_NAME:
                type = PROBE_NODE_ARGUMENT;
                break;
        case WORD_SPECIAL:
                type = PROBE_NODE_SPECIAL;
                break;
        case WORD_REGISTER:
                type = PROBE_NODE_REGISTER;
                break;
        default:
                return parse_refuse_here(tree, "the name of an argument");
        }
        r = parse_add_node(tree, type, NULL, ret);
        r = r ?: probe_lex(tree);
        return r ?: parse_postfix(tree, ret);
}

/* Parses the rest of a cast after "(struct" or "(union". The name becomes the current word. */
static int parse_cast(ProbeTree *tree, bool is_union, ProbeNode **ret) {
        ProbeNode *node;

        int r = probe_lex(tree);
        if (r == 0 && tree->word.type != WORD_NAME)
                r = parse_refuse_here(tree, "the name of a structure");
        r = r ?: parse_add_node(tree, PROBE_NODE_CAST, NULL, &node);
        r = r ?: probe_lex(tree);
        r = r ?: expect(tree, '*', "* (only pointers are cast)");
        r = r ?: expect(tree, ')', ")");
        if (r != 0)
                return r;
        node->is_union = is_union;
        *ret = node;
        return parse_value(tree, &node->inner);
}

/* Decides whether this parenthesis is a cast by looking one word ahead. */
static int parse_parenthesis(ProbeTree *tree, ProbeNode **ret) {
        const char *next = tree->next;
        Word open = tree->word;

        int r = probe_lex(tree);
        if (r != 0)
                return r;
        if (parse_is_word(&tree->word, "struct") || parse_is_word(&tree->word, "union"))
                return parse_cast(tree, parse_is_word(&tree->word, "union"), ret);
        tree->next = next;
        tree->word = open;
        return parse_one(tree, ret);
}

/* Parses "+16(%sp)". */
static int parse_offset(ProbeTree *tree, ProbeNode **ret) {
        bool is_negative = is_symbol(tree, '-');
        ProbeNode *node;

        int r = parse_add_node(tree, PROBE_NODE_OFFSET, NULL, &node);
        r = r ?: probe_lex(tree);
        r = r ?: parse_read_number(tree, OFFSET_MAX, &node->number);
        r = r ?: expect(tree, '(', "(");
        r = r ?: parse_value(tree, &node->inner);
        r = r ?: expect(tree, ')', ")");
        if (r != 0)
                return r;
        if (is_negative)
                node->number = -node->number;
        *ret = node;
        return 0;
}

static int parse_value(ProbeTree *tree, ProbeNode **ret) {
        ProbeNode *node;
        int r;

        if (++tree->depth > PROBE_DEPTH_MAX)
                return probe_refuse(tree,
                                tree->word.p,
                                "more than %d nested parentheses and stars",
                                PROBE_DEPTH_MAX);
        if (is_symbol(tree, '*')) {
                r = parse_add_node(tree, PROBE_NODE_STAR, NULL, &node);
                r = r ?: probe_lex(tree);
                r = r ?: parse_value(tree, &node->inner);
                if (r == 0)
                        *ret = node;
        } else if (is_symbol(tree, '('))
                r = parse_parenthesis(tree, ret);
        else if (is_symbol(tree, '+') || is_symbol(tree, '-'))
                r = parse_offset(tree, ret);
        else
                r = parse_one(tree, ret);
        tree->depth--;
        return r;
}

/* Parses "NAME =" if the argument begins with it. */
static int parse_name(ProbeTree *tree) {
        Word first = tree->word;
        const char *next = tree->next;

        if (first.type != WORD_NAME)
                return 0;
        int r = probe_lex(tree);
        if (r == 0 && is_symbol(tree, '=')) {
                tree->name = first;
                return probe_lex(tree);
        }
        tree->word = first;
        tree->next = next;
        return 0; /* a later call reports errors after it */
}

static int parse_words(ProbeTree *tree) {
        int r = probe_lex(tree);

        while (r == 0 && tree->word.type == WORD_NAME) {
                if (tree->n_words == PROBE_WORDS_MAX)
                        return probe_refuse(tree,
                                        tree->word.p,
                                        "a type has at most %d words",
                                        PROBE_WORDS_MAX);
                tree->words[tree->n_words++] = tree->word;
                r = probe_lex(tree);
        }
        if (r == 0 && tree->n_words == 0)
                return parse_refuse_here(tree,
                                "a type (u8 to u64, s8 to s64, x8 to x64, string, be16, user)");
        return r;
}

int probe_parse(ProbeTree *tree) {
        int r = probe_lex(tree);

        r = r ?: parse_name(tree);
        r = r ?: parse_value(tree, &tree->root);
        if (r == 0 && is_symbol(tree, ':'))
                r = parse_words(tree);
        if (r == 0 && tree->word.type != WORD_END)
                r = parse_refuse_here(tree, ".MEMBER, [NUMBER], : TYPE or the end");
        return r;
}
