/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* What tells that a traced task has changed its rights: two files of the instance. */
typedef struct Guard {
        int tracing_fd; /* tracing_on; -1: no guard */
        int hist_fd;    /* the guard event's hist; -1: this kernel has none */
} Guard;

#define GUARD_NONE ((Guard){ .tracing_fd = -1, .hist_fd = -1 })

/* -ECANCELED, with one line, when it has fired or cannot be read any more. */
int guard_check(const Guard *guard, char *text, size_t size);
