/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "interfaces/error.h"

#define USER_FUNCTION_MAX 6 /* arguments that are in registers where a function begins */

/* "/PATH:0xOFFSET", "/PATH:PROVIDER:NAME" taken apart. */
typedef struct UserSpot {
        char *path;
        char *marker; /* "PROVIDER:NAME"; NULL: none */
        uint64_t offset;
} UserSpot;

/* KT_E_INVALID_SPEC with the reason. */
int user_spot_parse(const char *on, UserSpot *ret, Reason *reason);
void user_spot_clear(UserSpot *spot);

/* The kernel's name of what people call "rdi", "di", "x0"; NULL: there is none. */
const char *user_register_find(const char *name, size_t size);
/* Which one has the nth argument of a function, from 0 to USER_FUNCTION_MAX - 1. */
const char *user_register_of_argument(unsigned index);
