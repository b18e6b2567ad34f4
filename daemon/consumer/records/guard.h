/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* Two files of the instance that show that a traced task has changed its credentials. */
typedef struct Guard {
        int tracing_fd; /* tracing_on; -1: no guard */
        int hist_fd;    /* the guard event's hist; -1: this kernel has none */
} Guard;

#define GUARD_NONE ((Guard){ .tracing_fd = -1, .hist_fd = -1 })

/* Fails with -ECANCELED and one line of text when the guard has fired or cannot be read. */
int guard_check(const Guard *guard, char *text, size_t size);
