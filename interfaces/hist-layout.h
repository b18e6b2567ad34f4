/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#define HIST_KEYS_MAX   3
#define HIST_VALUES_MAX 2 /* in addition to hitcount */
#define HIST_NAME_MAX   64
#define HIST_STRING_MAX 512 /* bytes of a key; the kernel keeps 256 and a stack */

/* How the kernel writes a column. */
typedef enum HistKind {
        HIST_NUMBER,     /* decimal; negative numbers as unsigned 64 bits */
        HIST_HEX,        /* also addresses of symbols, without the symbol */
        HIST_SYM,        /* also .sym-offset */
        HIST_EXECNAME,   /* the command name of a pid */
        HIST_SYSCALL,    /* a system call's name and number */
        HIST_LOG2,       /* the power of two that a number does not exceed */
        HIST_BUCKETS,    /* from, to */
        HIST_STRING,     /* any bytes but NUL */
        HIST_STACKTRACE, /* functions of the kernel */
        _HIST_KIND_N,
} HistKind;

typedef struct HistColumn {
        char name[HIST_NAME_MAX]; /* as the kernel writes it */
        uint32_t kind;            /* HistKind; of a value HIST_NUMBER or HIST_HEX */
        uint32_t size;            /* maximum of a HIST_STRING, with its NUL; 0: unknown */
        uint32_t is_signed;       /* HIST_NUMBER only */
} HistColumn;

/* The columns of a histogram's table. */
typedef struct HistLayout {
        uint32_t n_keys, n_values;
        HistColumn keys[HIST_KEYS_MAX];
        HistColumn values[HIST_VALUES_MAX];
} HistLayout;
