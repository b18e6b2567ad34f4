/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USER_PLACES_MAX 64 /* of one marker in one file */
#define USER_ARGS_MAX   12 /* of one marker; what sys/sdt.h can write */

typedef enum UserArgKind {
        USER_ARG_OTHER = 0, /* nothing that a probe can fetch: a float, a symbol, an index */
        USER_ARG_CONSTANT,
        USER_ARG_REGISTER,
        USER_ARG_MEMORY, /* at the register's value + `value` */
        _USER_ARG_KIND_N,
} UserArgKind;

/* Where a marker's argument is when the marker is reached. */
typedef struct UserArg {
        int64_t value; /* the constant; of memory: the displacement */
        uint8_t kind;  /* UserArgKind */
        uint8_t reg;   /* for user_register_name() */
        int8_t size;   /* 1, 2, 4, 8 bytes; negative: a signed number */
        uint8_t reserved[5];
} UserArg;

/* A place of a program's file where a probe may stand: an instruction begins there. */
typedef struct UserPlace {
        uint64_t offset;
        uint64_t function;  /* offset where the function around begins */
        uint64_t semaphore; /* offset of the marker's counter; 0: it has none */
        uint32_t n_args;    /* of the marker */
        uint32_t is_32bit;  /* 0, 1: the program */
        UserArg args[USER_ARGS_MAX];
} UserPlace;
