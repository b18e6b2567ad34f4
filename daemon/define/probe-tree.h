/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/compile.h"

/* One argument of a definition on its way through compile.c: words, a tree of them, a place in
 * memory with its type. */

#define PROBE_NODES_MAX 48
#define PROBE_DEPTH_MAX 12 /* parentheses and stars within each other */
#define PROBE_STEPS_MAX 8  /* pointers followed */
#define PROBE_WORDS_MAX 4  /* behind the colon */

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
        PROBE_NODE_OFFSET, /* what lies `number` bytes behind where inner points to */
} ProbeNodeType;

typedef struct ProbeNode {
        ProbeNodeType type;
        Word word;
        uint64_t number; /* of an offset: as it is added, modulo 2^64 */
        bool is_union;
        struct ProbeNode *inner;
} ProbeNode;

typedef struct ProbeTree {
        const CompileContext *context;
        const char *list; /* "key"; NULL: args */
        size_t index;     /* of the argument */
        Reason *reason;
        const char *text, *next;
        Word word; /* in hand */
        ProbeNode nodes[PROBE_NODES_MAX];
        size_t n_nodes, depth;

        Word name; /* WORD_END: none given */
        ProbeNode *root;
        Word words[PROBE_WORDS_MAX];
        size_t n_words;
} ProbeTree;

/* Where a value is found, and what it is. */
typedef struct Place {
        char base[24];                  /* "$arg1" */
        int64_t steps[PROBE_STEPS_MAX]; /* followed first to last: each reads a pointer there */
        size_t n_steps;
        bool in_memory; /* at `offset` behind what the steps lead to; false: it is that itself */
        int64_t offset;
        bool has_type;
        Type type;
        uint32_t declared; /* the type's id as it was declared: typedefs kept */
        uint32_t bit, bitfield_size;
        bool is_text;      /* $comm */
        bool is_bytes;     /* text would begin right there, as in an array */
        bool is_free;      /* see ProbeField */
        const char *label; /* to be called so, unless told otherwise */
        size_t label_size;
} Place;

/* The type that is written behind the colon. */
typedef struct Wish {
        const char *type;   /* "be16"; NULL: as the value has it */
        const char *kernel; /* "u16" */
        uint32_t size;      /* bytes; 0: text */
        FieldShow show;
        const char *at;
        bool is_user;
} Wish;
