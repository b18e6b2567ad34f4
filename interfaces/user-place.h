/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USER_PLACES_MAX 64 /* places of one marker in one file */
#define USER_ARGS_MAX   12 /* of one marker; the maximum of sys/sdt.h */

typedef enum UserArgKind {
        USER_ARG_OTHER = 0, /* a probe cannot fetch it: a float, a symbol, an index */
        USER_ARG_CONSTANT,
        USER_ARG_REGISTER,
        USER_ARG_MEMORY, /* at the register's value + `value` */
        _USER_ARG_KIND_N,
} UserArgKind;

/* The place of an argument at the moment when the marker is reached. */
typedef struct UserArg {
        int64_t value; /* the constant; of memory: the displacement */
        uint8_t kind;  /* UserArgKind */
        uint8_t reg;   /* for user_register_name() */
        int8_t size;   /* 1, 2, 4, 8 bytes; negative: a signed number */
        uint8_t reserved[5];
} UserArg;

/* A place in a program's file that may hold a probe: an instruction begins there. */
typedef struct UserPlace {
        uint64_t offset;
        uint64_t function;  /* offset of the start of the enclosing function */
        uint64_t semaphore; /* offset of the marker's counter; 0: no counter */
        uint32_t n_args;    /* of the marker */
        uint32_t is_32bit;  /* 1: a 32-bit program */
        UserArg args[USER_ARGS_MAX];
} UserPlace;
