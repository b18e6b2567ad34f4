/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "interfaces/cleanup.h"

/* The kernel's command names, as "PID NAME" lines: either those of one moment, or read again when
 * needed. */
typedef struct NameList {
        int fd;             /* -1: no file */
        char *text;         /* text of the last reading */
        uint64_t next_nsec; /* no reading before this time */
} NameList;

#define NAME_LIST_NONE ((NameList){ .fd = -1 })

void name_list_done(NameList *list);
/* fd: a memfd with the lines of one moment, or the kernel's saved_cmdlines itself; consumed. */
void name_list_set(NameList *list, int fd);
/* Returns the names as they are now, or as they were at the last reading: reading takes at most one
 * fiftieth of the time. NULL: no names. Valid until the next call. */
const char *name_list_read(NameList *list);
