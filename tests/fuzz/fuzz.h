/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "interfaces/cleanup.h"

/* A target, as libFuzzer calls it. Whatever comes it returns 0, and aborts where a promise of the
 * code under test is broken. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Words that make inputs of this target interesting, ended by NULL. */
extern const char *const fuzz_words[];

/* Not assert(): a build with NDEBUG must not pass. */
#define fuzz_check(condition)                                                                   \
        do {                                                                                    \
                if (!(condition)) {                                                             \
                        fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
                        abort();                                                                \
                }                                                                               \
        } while (0)
