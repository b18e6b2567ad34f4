/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/compile.h"

/* One argument of a definition during compilation: words, a tree of them, a place in memory with
 * its type. */

#define PROBE_NODES_MAX 48
#define PROBE_DEPTH_MAX 12 /* nested parentheses and stars */
#define PROBE_STEPS_MAX 8  /* pointers followed */
#define PROBE_WORDS_MAX 4  /* after the colon */

typedef enum WordType {
        WORD_END,
        WORD_NAME,
        WORD_SPECIAL,  /* $retval */
        WORD_REGISTER, /* %di */
        WORD_NUMBER,
        WORD_SYMBOL, /* one of = : . [ ] ( ) * and, as '.', ->; + and - in programs */
} WordType;

typedef struct Word {
        WordType type;
        char symbol;
        const char *p; /* in the text */
        size_t size;
} Word;

typedef enum ProbeNodeType {
        PROBE_NODE_ARGUMENT, /* of the function, by name */
        PROBE_NODE_SPECIAL,
        PROBE_NODE_REGISTER,
        PROBE_NODE_MEMBER, /* of inner */
        PROBE_NODE_INDEX,  /* of inner */
        PROBE_NODE_CAST,   /* inner as a pointer to struct (or union) `word` */
        PROBE_NODE_STAR,   /* what inner points to */
        PROBE_NODE_OFFSET, /* the memory `number` bytes after the address in inner */
} ProbeNodeType;

typedef struct ProbeNode {
        ProbeNodeType type;
        Word word;
        uint64_t number; /* for an offset: the value to add, modulo 2^64 */
        bool is_union;
        struct ProbeNode *inner;
} ProbeNode;

typedef struct ProbeTree {
        const CompileContext *context;
        const char *list; /* "key"; NULL: args */
        size_t index;     /* of the argument */
        Reason *reason;
        const char *text, *next;
        Word word; /* the current word */
        ProbeNode nodes[PROBE_NODES_MAX];
        size_t n_nodes, depth;

        Word name; /* WORD_END: none given */
        ProbeNode *root;
        Word words[PROBE_WORDS_MAX];
        size_t n_words;
} ProbeTree;

/* The place of a value, and its type. */
typedef struct Place {
        char base[24];                  /* "$arg1" */
        int64_t steps[PROBE_STEPS_MAX]; /* in this order; each reads a pointer at that offset */
        size_t n_steps;
        bool in_memory; /* at `offset` from the result of the steps; false: the result itself */
        int64_t offset;
        bool has_type;
        Type type;
        uint32_t declared; /* the declared type's id, with typedefs */
        uint32_t bit, bitfield_size;
        bool is_text;      /* $comm */
        bool is_bytes;     /* text would begin at this place, as in an array */
        bool is_free;      /* see ProbeField */
        const char *label; /* the default name */
        size_t label_size;
} Place;

/* The requested type, after the colon. */
typedef struct TypeSuffix {
        const char *type;   /* "be16"; NULL: the type of the value */
        const char *kernel; /* "u16" */
        uint32_t size;      /* bytes; 0: text */
        FieldShow show;
        const char *at;
        bool is_user;
} TypeSuffix;

/* Returns KT_E_INVALID_SPEC with "args[N] column M: ...". */
int probe_refuse(const ProbeTree *tree, const char *at, const char *format, ...) _printf_(3, 4);
