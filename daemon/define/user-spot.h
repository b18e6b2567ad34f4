/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "interfaces/error.h"

#define USER_FUNCTION_MAX 6 /* arguments in registers at the start of a function */

/* The parts of "/PATH:0xOFFSET" or "/PATH:PROVIDER:NAME". */
typedef struct UserSpot {
        char *path;
        char *marker; /* "PROVIDER:NAME"; NULL: none */
        uint64_t offset;
} UserSpot;

/* Fails with KT_E_INVALID_SPEC and the reason. */
int user_spot_parse(const char *on, UserSpot *ret, Reason *reason);
void user_spot_clear(UserSpot *spot);

/* Returns the kernel's name for "rdi", "di", "x0"; NULL if the kernel has no such register. */
const char *user_register_find(const char *name, size_t size);
/* Returns the register of the nth argument of a function, from 0 to USER_FUNCTION_MAX - 1. */
const char *user_register_of_argument(unsigned index);
