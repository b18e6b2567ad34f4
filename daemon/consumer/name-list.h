/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "interfaces/cleanup.h"

/* The kernel's command names, "PID NAME" lines: of a moment, or to be read anew. */
typedef struct NameList {
        int fd;             /* -1: none */
        char *text;         /* as read last */
        uint64_t next_nsec; /* not before */
} NameList;

#define NAME_LIST_NONE ((NameList){ .fd = -1 })

void name_list_done(NameList *list);
/* fd: a memfd with the lines of a moment, or the kernel's saved_cmdlines itself; consumed. */
void name_list_set(NameList *list, int fd);
/* As they are now, or were when they were read last: reading takes one fiftieth of the time at
 * most. NULL: there are none. Valid until the next call. */
const char *name_list_read(NameList *list);
